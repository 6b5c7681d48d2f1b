//! Adapters of the ports that protect accounts: password hashing, access tokens, the session cache, rate limit counters.
//!
//! | type | port | what it adds |
//! |---|---|---|
//! | [`BcryptHasher`] | [`PasswordHasher`] | bcrypt on its own threads, with a bounded queue and a share for each requester |
//! | [`JwtIssuer`] | [`TokenIssuer`] | JSON web tokens, signed with HS256 only |
//! | [`CachedSessions`] | [`SessionRepository`] | a cache with a short lifetime in front of another session repository |
//! | [`BoundedCounters`] | [`Counters`] | rate limit counters in bounded memory |
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
