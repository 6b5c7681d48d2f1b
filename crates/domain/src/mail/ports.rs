//! What the use cases of mail need of adapters.

use async_trait::async_trait;

use super::{ClaimedMail, MailKind, MailStatus, MailToken, MailView, NewMail, TokenDigest};
use crate::accounts::{Confirmed, Email, LoginIdentifier, PasswordHash, Username};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::id::{MailId, UserId};

/// What there was to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// Nothing that is due.
    Nothing,
    /// A request that makes no mail, and is forgotten: no enabled account is named so, or it has asked for too many.
    Dropped,
    /// This mail.
    Mail(ClaimedMail),
}

/// Keeps mails until they are sent. Each method is one atomic change or one consistent read.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Outbox: Send + Sync {
    /// Stores that somebody asks to reset the password of the account named. Nobody is looked up before the mail is due, so that
    /// it takes the same time whether there is such an account.
    async fn request_reset(&self, id: MailId, identifier: &LoginIdentifier, at: Timestamp) -> Result<()>;

    /// Stores mails of one account, all or none. MUST fail with [`NewMail::too_many`] when one of them is of a
    /// [limited](MailKind::is_limited) kind of which the account has asked for [`MAILS_AN_HOUR`](super::MAILS_AN_HOUR) in the
    /// hour before, however many ask at once; with [`Error::NotFound`](crate::Error::NotFound) when there is no such account; with
    /// [`Conflict::Email`](crate::error::Conflict) when one is to [change](MailKind::EmailChange) to an address that is kept of a
    /// deleted account.
    async fn create(&self, mails: &[NewMail]) -> Result<()>;

    /// Does the same for somebody who knows the password of the account. MUST fail with
    /// [`wrong_password`](crate::accounts::wrong_password) when it is another one by now.
    async fn create_confirmed(&self, mails: &[NewMail], confirmed: &Confirmed) -> Result<()>;

    /// Returns whether a mail is due.
    async fn is_due(&self, now: Timestamp) -> Result<bool>;

    /// Takes the mail that has been due for longest, counts the attempt, says when the next one would be due
    /// ([`pause_millis`](super::pause_millis)), and stores the digest of the token that the mail is going to have, if it is of a
    /// kind that has one. A request to reset a password becomes a mail, or is dropped.
    async fn claim(&self, token: &TokenDigest, now: Timestamp) -> Result<Claim>;

    /// Says that a mail was sent.
    async fn set_sent(&self, id: MailId, at: Timestamp) -> Result<()>;

    /// Says why a mail could not be sent, and whether it was given up.
    async fn set_failed(&self, id: MailId, failure: &str, is_dead: bool, at: Timestamp) -> Result<()>;

    /// Returns mails with a status, so many, those that are due first before others.
    async fn list(&self, status: MailStatus, limit: usize) -> Result<Vec<MailView>>;

    /// Has a mail that was not sent tried again at once, or all of these, as if it was asked for now; returns how many.
    async fn retry(&self, id: Option<MailId>, now: Timestamp) -> Result<usize>;

    /// Deletes mails that are kept no longer, and tokens that have expired; returns how many of both.
    async fn delete_outdated(&self, now: Timestamp) -> Result<usize>;
}

/// What tokens of mails are good for. Each is good once, and until it expires.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait TokenRedemption: Send + Sync {
    /// Returns the account whose password a token resets; `None` when it is no such token, or the account is disabled.
    async fn find_reset(&self, token: &TokenDigest, now: Timestamp) -> Result<Option<UserId>>;

    /// Uses a token: sets the password of its account, revokes all sessions of that, and ends what else would reset its
    /// password. Returns whether the token was good.
    async fn reset_password(&self, token: &TokenDigest, new: &PasswordHash, now: Timestamp) -> Result<bool>;

    /// Uses a token that was sent to the address of an account, which is verified then, or to one that becomes its address, and
    /// is verified; what would reset the password by the address before ends. Returns whether the token was good: not when the
    /// account has another address meanwhile. MUST fail with [`Conflict::Email`](crate::error::Conflict) when another account
    /// has the address, and leave the token as it is then.
    async fn verify_email(&self, token: &TokenDigest, now: Timestamp) -> Result<bool>;

    /// Gives an account an address that nobody has verified; ends what would reset the password by the address before. MUST fail
    /// with [`Conflict::Email`](crate::error::Conflict) when another account has it, and with
    /// [`wrong_password`](crate::accounts::wrong_password) when the password is another one by now.
    async fn set_email(&self, account: &Confirmed, email: &Email, now: Timestamp) -> Result<()>;
}

/// Draws tokens.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait MailTokens: Send + Sync {
    /// Returns 256 random bits.
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable) when the system has none.
    fn draw(&self) -> Result<MailToken>;

    /// Returns what is stored of a token.
    fn digest(&self, token: &MailToken) -> TokenDigest;
}

/// A mail as it leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingMail {
    /// Names it, however often it is sent.
    pub id: MailId,
    /// What it is about.
    pub kind: MailKind,
    /// Where it goes.
    pub address: Email,
    /// The name of the account that it is about.
    pub username: Username,
    /// The token, in a mail of a kind that has one.
    pub token: Option<MailToken>,
}

/// Why a mail was not taken, in words for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotTaken(pub String);

/// Hands mails to a server that sends them on.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait MailTransport: Send + Sync {
    /// Hands over a mail, within a bounded time.
    async fn send(&self, mail: &OutgoingMail) -> std::result::Result<(), NotTaken>;
}
