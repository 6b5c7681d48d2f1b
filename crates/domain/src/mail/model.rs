//! Mails, the tokens in them, and the rules about both.

use std::fmt;

use crate::accounts::{Email, Username};
use crate::clock::Timestamp;
use crate::error::ViolationKind::{Incorrect, Required};
use crate::error::{Error, FieldName, Result, Violation};
use crate::id::{MailId, UserId};
use crate::limits::Allowance;
pub use crate::limits::MAILS_AN_HOUR;
use crate::named::named;

const MINUTE_MILLIS: i64 = 60 * 1000;
const HOUR_MILLIS: i64 = 60 * MINUTE_MILLIS;
const DAY_MILLIS: i64 = 24 * HOUR_MILLIS;

named! {
    /// What a mail is about.
    MailKind "Kind must be one of those of the outbox" {
        /// Somebody forgot a password. Its token sets another.
        PasswordReset = "password_reset",
        /// Its token shows that the address of an account is its owner's.
        EmailVerification = "email_verification",
        /// Goes to an address that is to become that of an account, which its token makes it.
        EmailChange = "email_change",
        /// Tells the present address of an account that another one was given.
        EmailChanged = "email_changed",
    }
}

impl MailKind {
    /// Returns for how long the token in such a mail is good, from when it is sent; nothing when it has none.
    pub const fn token_millis(self) -> Option<i64> {
        match self {
            Self::PasswordReset => Some(30 * MINUTE_MILLIS),
            Self::EmailVerification | Self::EmailChange => Some(DAY_MILLIS),
            Self::EmailChanged => None,
        }
    }

    /// Returns whether an account can ask for so many alone. The others follow from one of these.
    pub const fn is_limited(self) -> bool {
        !matches!(self, Self::EmailChanged)
    }
}

named! {
    /// What became of a mail.
    MailStatus "Status must be waiting, sent or dead" {
        /// It is still to be sent.
        Waiting = "waiting",
        /// The server has taken it.
        Sent = "sent",
        /// It was given up.
        Dead = "dead",
    }
}

/// A mail about to be put into the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMail {
    /// Names it.
    pub id: MailId,
    /// Whom it is about.
    pub user: UserId,
    /// What it is about.
    pub kind: MailKind,
    /// Where it goes.
    pub address: Email,
    /// When it was asked for.
    pub created_at: Timestamp,
}

impl NewMail {
    /// Returns why an account that has asked for so many mails of a kind can have no other, given when it asked for the oldest
    /// of them.
    pub fn too_many(oldest: Timestamp, now: Timestamp) -> Error {
        Error::TooMany(Allowance::used_up(MAILS_AN_HOUR, oldest, now))
    }
}

/// A mail that is being sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedMail {
    /// Names it.
    pub id: MailId,
    /// What it is about.
    pub kind: MailKind,
    /// Where it goes.
    pub address: Email,
    /// The name of the account that it is about.
    pub username: Username,
    /// How often it was tried, this time included.
    pub attempts: u32,
    /// When it is given up.
    pub give_up_at: Timestamp,
}

/// For how long it is tried to send a mail.
pub const PATIENCE_MILLIS: i64 = 2 * DAY_MILLIS;

/// For how long a mail that was sent is kept, so that an operator can see it.
pub const SENT_KEPT_MILLIS: i64 = DAY_MILLIS;

/// For how long a mail that was given up is kept.
pub const DEAD_KEPT_MILLIS: i64 = 30 * DAY_MILLIS;

/// Returns how long it is waited after so many attempts: 5 s, twice as long each time, up to an hour.
pub fn pause_millis(attempts: u32) -> i64 {
    let doubled = 1_i64.checked_shl(attempts.saturating_sub(1)).filter(|times| *times > 0);
    doubled.and_then(|times| times.checked_mul(5_000)).map_or(HOUR_MILLIS, |pause| pause.min(HOUR_MILLIS))
}

/// A mail as the operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailView {
    /// Names it.
    pub id: MailId,
    /// What it is about.
    pub kind: MailKind,
    /// Where it goes; of a password reset that was not tried yet, how the account was named.
    pub address: String,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// How often it was tried.
    pub attempts: u32,
    /// When it is tried next, or forgotten.
    pub due_at: Timestamp,
    /// What went wrong last.
    pub failure: Option<String>,
}

/// The secret in a mail that shows that somebody reads what is sent to an address: 256 random bits as text. `Debug` does not
/// show it.
#[derive(Clone, PartialEq, Eq)]
pub struct MailToken(String);

impl MailToken {
    /// The token that these bytes are, in base64 for URLs.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Parses what a client sent: any text, since only the stored digest tells whether it is right.
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

    /// Returns the token itself, to be sent or digested.
    pub fn expose(&self) -> &str {
        &self.0
    }

    pub(super) fn refused() -> Error {
        Error::field(FieldName::Token, Violation::new(Incorrect, "Token is not valid, was used or has expired"))
    }
}

impl fmt::Debug for MailToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MailToken(..)")
    }
}

/// What is stored of a token, from which nobody can tell the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenDigest(String);

impl TokenDigest {
    /// The digest with this notation.
    pub fn new(digest: String) -> Self {
        Self(digest)
    }

    /// Returns its notation.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
