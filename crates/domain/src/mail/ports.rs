//! The ports of mail.

use async_trait::async_trait;

use super::{ClaimedMail, MailKind, MailStatus, MailToken, MailView, NewMail, TokenDigest};
use crate::accounts::{ConfirmedPassword, Email, LoginIdentifier, PasswordHash, Username};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::id::{MailId, UserId};

/// The result of [`Outbox::claim`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// No mail is due.
    Nothing,
    /// A request that results in no mail, and was deleted: no enabled account has that name, or it has requested too many mails.
    Dropped,
    /// A mail to be sent.
    Mail(ClaimedMail),
}

/// Stores mails until they are sent. Each method is one atomic change or one consistent read.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Outbox: Send + Sync {
    /// Stores a request to reset the password of the named account. The account is looked up only by [`claim`](Self::claim), so
    /// that the time of this call does not reveal whether it exists.
    async fn request_reset(&self, id: MailId, identifier: &LoginIdentifier, at: Timestamp) -> Result<()>;

    /// Stores mails of one account, all or none. MUST fail
    ///
    /// - with [`NewMail::too_many`] when one of them is of a [limited](MailKind::is_limited) kind of which the account has
    ///   requested [`MAILS_AN_HOUR`](super::MAILS_AN_HOUR) in the last hour, even under concurrent requests;
    /// - with [`Error::NotFound`](crate::Error::NotFound) when there is no such account;
    /// - with [`Conflict::Email`](crate::error::Conflict) when one is a [change](MailKind::EmailChange) to an address that is
    ///   reserved after its account was deleted.
    async fn create(&self, mails: &[NewMail]) -> Result<()>;

    /// Does the same as [`create`](Self::create) for a caller who has confirmed the password. MUST fail with
    /// [`Error::Stale`](crate::Error::Stale) when the password has changed since.
    async fn create_confirmed(&self, mails: &[NewMail], confirmed: &ConfirmedPassword) -> Result<()>;

    /// Returns whether a mail is due.
    async fn is_due(&self, now: Timestamp) -> Result<bool>;

    /// Claims the mail that has been due for longest: counts the attempt, schedules the next one
    /// ([`retry_delay_millis`](super::retry_delay_millis)), and, if its kind has a token, stores the digest of the token that
    /// the mail will carry. A request to reset a password becomes a mail, or is dropped.
    async fn claim(&self, token: &TokenDigest, now: Timestamp) -> Result<Claim>;

    /// Records that a mail was sent.
    async fn set_sent(&self, id: MailId, at: Timestamp) -> Result<()>;

    /// Records why a mail could not be sent, and whether it is to be given up. Returns whether it is: not if a retry was requested
    /// during the attempt.
    async fn set_failed(&self, id: MailId, failure: &str, is_dead: bool, at: Timestamp) -> Result<bool>;

    /// Returns at most `limit` mails with a status, in the order in which they are due.
    async fn list(&self, status: MailStatus, limit: usize) -> Result<Vec<MailView>>;

    /// Makes a mail that was not sent, or every such mail if `id` is `None`, due now, as if it had just been requested; returns
    /// how many.
    async fn retry(&self, id: Option<MailId>, now: Timestamp) -> Result<usize>;

    /// Deletes mails that are past their retention and tokens that have expired; returns how many of both together.
    async fn delete_outdated(&self, now: Timestamp) -> Result<usize>;
}

/// Redeems the tokens in mails. A token is valid once, until it expires.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait TokenRedemption: Send + Sync {
    /// Returns the account whose password a token resets; `None` when the token is invalid or the account is disabled.
    async fn find_reset(&self, token: &TokenDigest, now: Timestamp) -> Result<Option<UserId>>;

    /// Redeems a token: sets the password of its account, revokes all its sessions, and deletes its other tokens and unsent
    /// mails that would reset the password or change the address. Returns whether the token was valid.
    async fn reset_password(&self, token: &TokenDigest, new: &PasswordHash, now: Timestamp) -> Result<bool>;

    /// Redeems a token that was sent to the address of an account, which marks that address as verified, or to a new address,
    /// which becomes the verified address of the account; the latter invalidates all other tokens of the account, and its unsent
    /// mails that would contain one. Returns whether the token was valid; it is not once the account has changed to another
    /// address. MUST fail with [`Conflict::Email`](crate::error::Conflict) when another account has the address, without using up
    /// the token.
    async fn verify_email(&self, token: &TokenDigest, now: Timestamp) -> Result<bool>;

    /// Changes the address of an account to an unverified one, and invalidates all tokens of the account and its unsent mails
    /// that would contain one. MUST fail with [`Conflict::Email`](crate::error::Conflict) when another account has the address,
    /// and with [`Error::Stale`](crate::Error::Stale) when the password has changed since it was confirmed.
    async fn set_email(&self, account: &ConfirmedPassword, email: &Email, now: Timestamp) -> Result<()>;
}

/// Generates and digests tokens.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait MailTokens: Send + Sync {
    /// Returns a new token of 256 random bits.
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable) when the system provides no randomness.
    fn draw(&self) -> Result<MailToken>;

    /// Returns the digest of a token.
    fn digest(&self, token: &MailToken) -> TokenDigest;
}

/// A mail as handed to the transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingMail {
    /// The id of the mail, the same for every attempt.
    pub id: MailId,
    /// The kind of mail.
    pub kind: MailKind,
    /// The recipient.
    pub address: Email,
    /// The name of the account that it is about.
    pub username: Username,
    /// The token, if mails of this kind have one.
    pub token: Option<MailToken>,
}

/// The reason that a mail was not accepted, in words for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendError(pub String);

/// Passes mails to a mail server.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait MailTransport: Send + Sync {
    /// Passes a mail to the server, within a bounded time.
    async fn send(&self, mail: &OutgoingMail) -> std::result::Result<(), SendError>;
}
