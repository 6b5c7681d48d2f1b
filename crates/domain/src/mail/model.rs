//! Mails, the tokens in them, and the rules for both.

use std::fmt;

use crate::accounts::{Email, Username};
use crate::clock::Timestamp;
use crate::error::ViolationKind::{Incorrect, Required};
use crate::error::{Error, FieldName, Result, Violation};
use crate::id::{MailId, UserId};
use crate::limits::Allowance;
pub use crate::limits::MAILS_AN_HOUR;
use crate::string_enum::string_enum;

const MINUTE_MILLIS: i64 = 60 * 1000;
const HOUR_MILLIS: i64 = 60 * MINUTE_MILLIS;
const DAY_MILLIS: i64 = 24 * HOUR_MILLIS;

string_enum! {
    /// The kinds of mails.
    MailKind "Kind must be one of those of the outbox" {
        /// Has a token that sets a new password, for a user who forgot theirs.
        PasswordReset = "password_reset",
        /// Has a token that verifies the address of an account.
        EmailVerification = "email_verification",
        /// Goes to a new address, with a token that verifies it and makes it the address of the account.
        EmailChange = "email_change",
        /// Notifies the present address of an account that a change to another one was requested.
        EmailChanged = "email_changed",
    }
}

impl MailKind {
    /// Returns for how long the token in such a mail is valid after it is sent; `None` if it has no token.
    pub const fn token_millis(self) -> Option<i64> {
        match self {
            Self::PasswordReset => Some(30 * MINUTE_MILLIS),
            Self::EmailVerification | Self::EmailChange => Some(DAY_MILLIS),
            Self::EmailChanged => None,
        }
    }

    /// Returns whether [`MAILS_AN_HOUR`] applies to this kind. Mails of the other kinds only accompany one of a limited kind.
    pub const fn is_limited(self) -> bool {
        !matches!(self, Self::EmailChanged)
    }
}

string_enum! {
    /// The status of a mail.
    MailStatus "Status must be waiting, sent or dead" {
        /// Not sent yet.
        Waiting = "waiting",
        /// Accepted by the mail server.
        Sent = "sent",
        /// Given up after [`RETRY_PERIOD_MILLIS`].
        Dead = "dead",
    }
}

/// A mail to be put into the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMail {
    /// The id of the mail.
    pub id: MailId,
    /// The account that it is about.
    pub user: UserId,
    /// The kind of mail.
    pub kind: MailKind,
    /// The recipient.
    pub address: Email,
    /// When it was requested.
    pub created_at: Timestamp,
}

impl NewMail {
    /// Returns the error for an account that has used up [`MAILS_AN_HOUR`], where `oldest` is when it requested the oldest mail
    /// that counts.
    pub fn too_many(oldest: Timestamp, now: Timestamp) -> Error {
        Error::TooMany(Allowance::used_up(MAILS_AN_HOUR, oldest, now))
    }
}

/// A mail that is being sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedMail {
    /// The id of the mail.
    pub id: MailId,
    /// The kind of mail.
    pub kind: MailKind,
    /// The recipient.
    pub address: Email,
    /// The name of the account that it is about.
    pub username: Username,
    /// How often it was tried, including this attempt.
    pub attempts: u32,
    /// From when on a failed attempt is the last one.
    pub give_up_at: Timestamp,
}

/// For how long sending a mail is retried before it is given up: 2 days.
pub const RETRY_PERIOD_MILLIS: i64 = 2 * DAY_MILLIS;

/// For how long a sent mail is kept, so that an operator can see it: 1 day.
pub const SENT_KEPT_MILLIS: i64 = DAY_MILLIS;

/// For how long a mail that was given up is kept: 30 days.
pub const DEAD_KEPT_MILLIS: i64 = 30 * DAY_MILLIS;

/// Returns the delay before the next attempt: 5 s after the first attempt, doubled after each further one, up to an hour.
pub fn retry_delay_millis(attempts: u32) -> i64 {
    let doubled = 1_i64.checked_shl(attempts.saturating_sub(1)).filter(|times| *times > 0);
    doubled.and_then(|times| times.checked_mul(5_000)).map_or(HOUR_MILLIS, |pause| pause.min(HOUR_MILLIS))
}

/// A mail as the operator and administrators see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailView {
    /// The id of the mail.
    pub id: MailId,
    /// The kind of mail.
    pub kind: MailKind,
    /// The recipient; for a password reset that was not tried yet, the username or address that the request named.
    pub address: String,
    /// When it was requested.
    pub created_at: Timestamp,
    /// How often it was tried.
    pub attempts: u32,
    /// When it is tried next, or deleted.
    pub due_at: Timestamp,
    /// Why the last attempt failed.
    pub failure: Option<String>,
}

/// The secret in a mail, which proves that its bearer receives mail at that address: 256 random bits as text. `Debug` does not
/// show it.
#[derive(Clone, PartialEq, Eq)]
pub struct MailToken(String);

impl MailToken {
    /// Creates a token from its text: random bytes in URL-safe base64.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Parses what a client sent: any text, since only a comparison with the stored digest can tell whether it is valid.
    ///
    /// # Errors
    /// The violation, in words for the client, for a blank one.
    pub fn parse(token: &str) -> Result<Self, Violation> {
        let token = token.trim();
        if token.is_empty() {
            return Err(Violation::new(Required, "Token is required"));
        }
        Ok(Self(token.to_owned()))
    }

    /// Returns the text of the token, to be sent or digested.
    pub fn expose(&self) -> &str {
        &self.0
    }

    pub(super) fn invalid() -> Error {
        Error::field(FieldName::Token, Violation::new(Incorrect, "Token is not valid, was used or has expired"))
    }
}

impl fmt::Debug for MailToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MailToken(..)")
    }
}

/// The stored digest of a token, from which the token cannot be derived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenDigest(String);

impl TokenDigest {
    /// Creates a digest from its text.
    pub fn new(digest: String) -> Self {
        Self(digest)
    }

    /// Returns its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
