//! Adapters of the ports that guard accounts: password hashing, access tokens, the session cache, the limits' counts.
//!
//! | type | port | what it adds |
//! |---|---|---|
//! | [`BcryptHasher`] | [`PasswordHasher`] | bcrypt off the async threads, with a bounded queue, of which each requester has a share |
//! | [`JwtIssuer`] | [`TokenIssuer`] | JSON web tokens, HS256 alone |
//! | [`CachedSessions`] | [`SessionRepository`] | a short memory in front of another session repository |
//! | [`BoundedCounters`] | [`Counters`] | counts in bounded memory |
//! | [`RandomMailTokens`] | [`MailTokens`] | random tokens and their digests |
//!
//! [`PasswordHasher`]: agora_domain::accounts::PasswordHasher
//! [`TokenIssuer`]: agora_domain::accounts::TokenIssuer
//! [`SessionRepository`]: agora_domain::accounts::SessionRepository
//! [`Counters`]: agora_domain::limits::Counters
//! [`MailTokens`]: agora_domain::mail::MailTokens

#![forbid(unsafe_code)]

mod counters;
mod mail_tokens;
mod passwords;
mod session_cache;
mod tokens;

pub use counters::BoundedCounters;
pub use mail_tokens::RandomMailTokens;
pub use passwords::BcryptHasher;
pub use session_cache::CachedSessions;
pub use tokens::JwtIssuer;
