//! What the account use cases need of adapters.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::{
    Account, Credentials, LoginIdentifier, NewAccount, Password, PasswordAttempt, PasswordHash, ProfileChanges,
    RoleChange, Session, SessionState, SessionView, UserAgent,
};
use crate::audit::AuditEntry;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::id::{SessionId, TicketId, UserId};
use crate::idempotency::AttemptId;
use crate::limits::Requester;
use crate::media::ImageKey;
use crate::page::{Page, PageRequest};

/// An account as it is after a change of its profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdatedProfile {
    /// The account now.
    pub account: Account,
    /// The picture no row names any more.
    pub replaced_picture: Option<ImageKey>,
}

/// An account, and the hash of its password against which the caller's was verified: what the password is asked for is done
/// while it is the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmed {
    /// Whose.
    pub user: UserId,
    /// The hash.
    pub password: PasswordHash,
}

/// A change of an account's password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasswordChange {
    /// Whose.
    pub user: UserId,
    /// The hash against which the current password was verified.
    pub verified: PasswordHash,
    /// The hash of the new password.
    pub new: PasswordHash,
    /// The session that goes on.
    pub keep: Option<SessionId>,
    /// When.
    pub at: Timestamp,
    /// The record of it, where it is an administrative act.
    pub entry: Option<AuditEntry>,
}

/// Keeps accounts. Each method is one atomic change or one consistent read. A change that gives a profile a picture, or
/// takes one from it, is one of [`UnreferencedImages`](crate::media::UnreferencedImages) as well, as said there.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait AccountRepository: Send + Sync {
    /// Stores a new account. MUST fail with [`Conflict::Username`](crate::error::Conflict) or
    /// [`Conflict::Email`](crate::error::Conflict) when another account has the same
    /// [`Username::key`](super::Username::key) or [`Email::key`](super::Email::key), however many try at once.
    async fn create(&self, account: &NewAccount, attempt: Option<AttemptId>) -> Result<()>;

    /// Returns the account; `None` when there is none.
    async fn find(&self, id: UserId) -> Result<Option<Account>>;

    /// Returns the id of the account that the identifier names; `None` when there is none.
    async fn find_id(&self, identifier: &LoginIdentifier) -> Result<Option<UserId>>;

    /// Returns the ids of the accounts with these [keys](super::Username::key) of usernames, by their keys, those that there
    /// are; not those of people [apart](crate::relation::Standing::Apart) from `author`.
    async fn find_ids(&self, username_keys: &[String], author: UserId) -> Result<BTreeMap<String, UserId>>;

    /// Returns what a login is checked against; `None` when there is no such account.
    async fn find_credentials(&self, identifier: &LoginIdentifier) -> Result<Option<Credentials>>;

    /// Returns the password hash of an account; `None` when there is none.
    async fn find_password(&self, id: UserId) -> Result<Option<PasswordHash>>;

    /// Returns all accounts, oldest first.
    async fn list(&self, page: PageRequest) -> Result<Page<Account>>;

    /// Returns the accounts with ADMIN, disabled ones too, oldest first.
    async fn list_admins(&self) -> Result<Vec<Account>>;

    /// Returns how many sessions of the account were opened after an instant and are not revoked; none of one that is
    /// not there.
    async fn count_sessions(&self, id: UserId, opened_after: Timestamp) -> Result<u64>;

    /// Returns whether any account has ADMIN.
    async fn has_admin(&self) -> Result<bool>;

    /// Applies [`Account::with_role_change`], and records `entry` where that changes the account. Concurrent changes MUST NOT
    /// leave the service without an enabled ADMIN together.
    ///
    /// This and the next two MUST fail with [`Error::NotFound`](crate::Error::NotFound) when there is no such account.
    async fn change_role(&self, id: UserId, change: RoleChange, entry: &AuditEntry) -> Result<()>;

    /// Applies [`Account::with_enabled`], records `entry` where that changes the account and, when that disables it, revokes all
    /// of its sessions as of the entry's time. Concurrent changes MUST NOT leave the service without an enabled ADMIN.
    async fn set_enabled(&self, id: UserId, enabled: bool, entry: &AuditEntry) -> Result<()>;

    /// Applies [`Account::with_profile`].
    async fn update_profile(&self, id: UserId, changes: &ProfileChanges, at: Timestamp) -> Result<UpdatedProfile>;

    /// Stores the hash of a new password and revokes all sessions of the account but the one kept, if the account's
    /// password is still the one that was verified; returns whether it was. It is not when there is no such account.
    async fn change_password(&self, change: &PasswordChange) -> Result<bool>;

    /// Stores another hash of the same password. Sessions go on. Nothing happens when the account's password is no
    /// longer the one that was verified.
    async fn renew_password_hash(&self, user: UserId, verified: &PasswordHash, new: &PasswordHash) -> Result<()>;
}

/// Keeps sessions. An adapter may cache what it read for at most 5 seconds, so that a change made on another node is
/// seen in time; a change made through it is seen at once.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait SessionRepository: Send + Sync {
    /// Stores a new session, if the account is enabled and its password is still the one that was verified; returns
    /// whether it was. A login that was in flight while the password was changed or the account disabled MUST NOT leave
    /// a live session behind.
    async fn open(&self, session: &Session, verified: &PasswordHash, user_agent: Option<UserAgent>) -> Result<bool>;

    /// Returns the session with the present state of its account; `None` when there is none.
    async fn find(&self, id: SessionId) -> Result<Option<SessionState>>;

    /// Returns those of some sessions that there are, with the present state of their accounts, which is never remembered.
    async fn find_all(&self, ids: Vec<SessionId>) -> Result<Vec<SessionState>>;

    /// Says that a ticket is used; returns whether it was not before, on any node. It may be forgotten once it has expired.
    async fn use_ticket(&self, id: TicketId, expires_at: Timestamp, now: Timestamp) -> Result<bool>;

    /// Returns the sessions of an account that were opened after an instant and are not revoked, newest first: by
    /// [`Session::opened_at`], then by id.
    async fn list(&self, user: UserId, opened_after: Timestamp, page: PageRequest) -> Result<Page<SessionView>>;

    /// Says that sessions were used, each when, by the hour; those that were used later stay as they are.
    async fn set_seen(&self, seen: Vec<(SessionId, Timestamp)>) -> Result<()>;

    /// Notes that a session was used, by the hour, to be stored later. It may be lost when the process ends.
    fn note_seen(&self, _id: SessionId, _hour: Timestamp) {}

    /// Ends a session; no error when it has ended already.
    async fn revoke(&self, id: SessionId, at: Timestamp) -> Result<()>;

    /// Ends a session of an account; returns whether there was one that had not ended.
    async fn revoke_of(&self, user: UserId, id: SessionId, at: Timestamp) -> Result<bool>;

    /// Ends all sessions of an account but one.
    async fn revoke_others(&self, user: UserId, keep: SessionId, at: Timestamp) -> Result<()>;

    /// Ends all sessions of an account as of the entry's time, and records `entry` where there was one that had not ended. MUST
    /// fail with [`Error::NotFound`](crate::Error::NotFound) when there is no such account.
    async fn revoke_all(&self, user: UserId, entry: &AuditEntry) -> Result<()>;

    /// Deletes the sessions opened before an instant; returns how many.
    async fn delete_opened_before(&self, at: Timestamp) -> Result<usize>;

    /// Tells that an account's roles, state or sessions were changed. An adapter that caches MUST forget them before
    /// it returns; the others have nothing to do.
    fn account_changed(&self, _account: UserId) {}
}

/// Hashes passwords. MUST NOT block the calling thread, and MUST bound how many hashes run at once, how many wait, and how
/// many of those are one requester's.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait PasswordHasher: Send + Sync {
    /// Hashes a password with a fresh salt.
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable), at once, when too many hashes wait, or too many of this
    /// requester.
    async fn hash(&self, password: &Password, requester: &Requester) -> Result<PasswordHash>;

    /// Returns whether the attempt is the hashed password. Without a hash the answer is no, after the same time.
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable), as for [`hash`](Self::hash).
    async fn verify(
        &self,
        attempt: &PasswordAttempt,
        hash: Option<PasswordHash>,
        requester: &Requester,
    ) -> Result<bool>;

    /// Returns whether a hash cost less than those that are made now.
    fn needs_rehash(&self, hash: &PasswordHash) -> bool;
}

/// What a token says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenClaims {
    /// Whose it is.
    pub user: UserId,
    /// The session it belongs to.
    pub session: SessionId,
}

/// A token that is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifiedToken {
    /// What it says.
    pub claims: TokenClaims,
    /// Until when it is valid.
    pub expires_at: Timestamp,
}

/// What opens one stream of events in the place of a token (contract: Live updates).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    /// Names it.
    pub id: TicketId,
    /// The token that it was issued for.
    pub token: VerifiedToken,
    /// Until when it can be used.
    pub expires_at: Timestamp,
}

/// Issues and checks access tokens, and tickets. Neither is good in the place of the other.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait TokenIssuer: Send + Sync {
    /// Returns a signed token that is valid from `now` for the configured lifetime.
    ///
    /// # Errors
    /// [`Error::Internal`](crate::Error::Internal) when signing fails.
    fn issue(&self, claims: TokenClaims, now: Timestamp) -> Result<String>;

    /// Returns what a token says.
    ///
    /// # Errors
    /// [`Error::InvalidToken`](crate::Error::InvalidToken) unless it was issued here and is unaltered;
    /// [`Error::ExpiredToken`](crate::Error::ExpiredToken) when it has expired at `now`.
    fn verify(&self, token: &str, now: Timestamp) -> Result<VerifiedToken>;

    /// Returns a signed ticket.
    ///
    /// # Errors
    /// [`Error::Internal`](crate::Error::Internal) when signing fails.
    fn issue_ticket(&self, ticket: Ticket) -> Result<String>;

    /// Returns what a ticket says.
    ///
    /// # Errors
    /// [`Error::InvalidToken`](crate::Error::InvalidToken) unless it was issued here, is unaltered and has not expired.
    fn verify_ticket(&self, ticket: &str, now: Timestamp) -> Result<Ticket>;
}
