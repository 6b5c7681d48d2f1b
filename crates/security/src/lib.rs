//! Adapters of the account ports: password hashing, access tokens and the session cache.
//!
//! | type | port | what it adds |
//! |---|---|---|
//! | [`BcryptHasher`] | [`PasswordHasher`] | bcrypt off the async threads, bounded in number and in line |
//! | [`JwtIssuer`] | [`TokenIssuer`] | JSON web tokens, HS256 alone |
//! | [`CachedSessions`] | [`SessionRepository`] | a short memory in front of another session repository |
//!
//! [`PasswordHasher`]: agora_domain::accounts::PasswordHasher
//! [`TokenIssuer`]: agora_domain::accounts::TokenIssuer
//! [`SessionRepository`]: agora_domain::accounts::SessionRepository

#![forbid(unsafe_code)]

mod passwords;
mod session_cache;
mod tokens;

pub use passwords::{BcryptHasher, default_parallelism};
pub use session_cache::CachedSessions;
pub use tokens::JwtIssuer;
