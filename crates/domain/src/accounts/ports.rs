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

/// The result of a change of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdatedProfile {
    /// The account after the change.
    pub account: Account,
    /// The replaced picture, which no row refers to any more.
    pub replaced_picture: Option<ImageKey>,
}

/// An account whose password the caller has confirmed. The operation that needed it is carried out only if the account's
/// hash is still the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfirmedPassword {
    /// The account.
    pub user: UserId,
    /// The hash against which the password was verified.
    pub password: PasswordHash,
}

/// A change of an account's password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasswordChange {
    /// The account.
    pub user: UserId,
    /// The hash against which the current password was verified.
    pub verified: PasswordHash,
    /// The hash of the new password.
    pub new: PasswordHash,
    /// The session that is not revoked.
    pub keep: Option<SessionId>,
    /// The time of the change.
    pub at: Timestamp,
    /// The entry for the audit log, if the change is an administrative act.
    pub entry: Option<AuditEntry>,
}

/// Stores accounts. Each method is one atomic change or one consistent read. A change that adds a picture to a profile, or
/// removes one from it, MUST update [`UnreferencedImages`](crate::media::UnreferencedImages) as documented there.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait AccountRepository: Send + Sync {
    /// Stores a new account. MUST fail with [`Conflict::Username`](crate::error::Conflict) or
    /// [`Conflict::Email`](crate::error::Conflict) when another account has the same
    /// [`Username::key`](super::Username::key) or [`Email::key`](super::Email::key), also among concurrent calls.
    async fn create(&self, account: &NewAccount, attempt: Option<AttemptId>) -> Result<()>;

    /// Returns the account; `None` when there is none.
    async fn find(&self, id: UserId) -> Result<Option<Account>>;

    /// Returns the id of the account that the identifier names; `None` when there is none.
    async fn find_id(&self, identifier: &LoginIdentifier) -> Result<Option<UserId>>;

    /// Returns the ids of those of the accounts with these username [keys](super::Username::key) that exist, by key, without
    /// people who are [separated by a block](crate::relation::Standing::Blocked) from `author`.
    async fn find_ids(&self, username_keys: &[String], author: UserId) -> Result<BTreeMap<String, UserId>>;

    /// Returns what a login is checked against; `None` when there is no such account.
    async fn find_credentials(&self, identifier: &LoginIdentifier) -> Result<Option<Credentials>>;

    /// Returns the password hash of an account; `None` when there is none.
    async fn find_password(&self, id: UserId) -> Result<Option<PasswordHash>>;

    /// Returns all accounts, oldest first.
    async fn list(&self, page: PageRequest) -> Result<Page<Account>>;

    /// Returns the accounts with ADMIN, disabled ones too, oldest first.
    async fn list_admins(&self) -> Result<Vec<Account>>;

    /// Returns how many sessions of the account were opened after an instant and are not revoked; 0 when there is no such
    /// account.
    async fn count_sessions(&self, id: UserId, opened_after: Timestamp) -> Result<u64>;

    /// Returns whether any account has ADMIN.
    async fn has_admin(&self) -> Result<bool>;

    /// Applies [`Account::with_role_change`], and records `entry` if that changes the account. Concurrent changes together
    /// MUST NOT leave the service without an enabled ADMIN.
    ///
    /// This and the next two MUST fail with [`Error::NotFound`](crate::Error::NotFound) when there is no such account.
    async fn change_role(&self, id: UserId, change: RoleChange, entry: &AuditEntry) -> Result<()>;

    /// Applies [`Account::with_enabled`], records `entry` if that changes the account and, if that disables it, revokes all
    /// of its sessions as of the entry's time. Concurrent changes MUST NOT leave the service without an enabled ADMIN.
    async fn set_enabled(&self, id: UserId, enabled: bool, entry: &AuditEntry) -> Result<()>;

    /// Applies [`Account::with_profile`].
    async fn update_profile(&self, id: UserId, changes: &ProfileChanges, at: Timestamp) -> Result<UpdatedProfile>;

    /// Stores the hash of a new password and revokes all sessions of the account but the one to keep, if the account's
    /// password is still the one that was verified; returns whether it was, `false` also when there is no such account.
    async fn change_password(&self, change: &PasswordChange) -> Result<bool>;

    /// Stores another hash of the same password, and revokes no session. Nothing happens when the account's password is no
    /// longer the one that was verified.
    async fn renew_password_hash(&self, user: UserId, verified: &PasswordHash, new: &PasswordHash) -> Result<()>;
}

/// Stores sessions. An adapter may cache what it read for at most 5 seconds, so that a change made on another node is
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

    /// Returns those of the sessions that exist, with the present state of their accounts, which is never cached.
    async fn find_all(&self, ids: Vec<SessionId>) -> Result<Vec<SessionState>>;

    /// Marks a ticket as used; returns whether it was unused before, on every node. The mark may be deleted once the ticket
    /// has expired.
    async fn use_ticket(&self, id: TicketId, expires_at: Timestamp, now: Timestamp) -> Result<bool>;

    /// Returns the sessions of an account that were opened after an instant and are not revoked, newest first: by
    /// [`Session::opened_at`], then by id.
    async fn list(&self, user: UserId, opened_after: Timestamp, page: PageRequest) -> Result<Page<SessionView>>;

    /// Stores the hour in which each session was last used; a later hour that is stored already stays.
    async fn store_last_seen(&self, seen: Vec<(SessionId, Timestamp)>) -> Result<()>;

    /// Remembers the hour in which a session was used, to be stored later. It may be lost when the process ends.
    fn record_last_seen(&self, _id: SessionId, _hour: Timestamp) {}

    /// Ends a session; no error when it has ended already.
    async fn revoke(&self, id: SessionId, at: Timestamp) -> Result<()>;

    /// Ends a session of an account; returns whether the account had such a session that had not ended.
    async fn revoke_of(&self, user: UserId, id: SessionId, at: Timestamp) -> Result<bool>;

    /// Ends all sessions of an account but one.
    async fn revoke_others(&self, user: UserId, keep: SessionId, at: Timestamp) -> Result<()>;

    /// Ends all sessions of an account as of the entry's time, and records `entry` if there was one that had not ended. MUST
    /// fail with [`Error::NotFound`](crate::Error::NotFound) when there is no such account.
    async fn revoke_all(&self, user: UserId, entry: &AuditEntry) -> Result<()>;

    /// Deletes the sessions opened before an instant; returns how many.
    async fn delete_opened_before(&self, at: Timestamp) -> Result<usize>;

    /// Called after an account's roles, state or sessions were changed. An adapter that caches MUST invalidate them before
    /// it returns; others do nothing.
    fn invalidate_account(&self, _account: UserId) {}
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

    /// Returns whether the attempt is the hashed password. Without a hash, returns `false` after the same time.
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable), as for [`hash`](Self::hash).
    async fn verify(
        &self,
        attempt: &PasswordAttempt,
        hash: Option<PasswordHash>,
        requester: &Requester,
    ) -> Result<bool>;

    /// Returns whether a hash has a lower cost than those that are made now.
    fn needs_rehash(&self, hash: &PasswordHash) -> bool;
}

/// The claims of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenClaims {
    /// The account it was issued for.
    pub user: UserId,
    /// The session it belongs to.
    pub session: SessionId,
}

/// A token that is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifiedToken {
    /// The claims of the token.
    pub claims: TokenClaims,
    /// When the token expires.
    pub expires_at: Timestamp,
}

/// A credential that opens one stream of events in place of a token (`contract`: Live updates).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    /// The id of the ticket.
    pub id: TicketId,
    /// The token that it was issued for.
    pub token: VerifiedToken,
    /// When the ticket expires.
    pub expires_at: Timestamp,
}

/// Issues and verifies access tokens and tickets. Neither is accepted in place of the other.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait TokenIssuer: Send + Sync {
    /// Returns a signed token that is valid from `now` for the configured lifetime.
    ///
    /// # Errors
    /// [`Error::Internal`](crate::Error::Internal) when signing fails.
    fn issue(&self, claims: TokenClaims, now: Timestamp) -> Result<String>;

    /// Verifies a token and returns its claims.
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

    /// Verifies a ticket and returns its content.
    ///
    /// # Errors
    /// [`Error::InvalidToken`](crate::Error::InvalidToken) unless it was issued here, is unaltered and has not expired.
    fn verify_ticket(&self, ticket: &str, now: Timestamp) -> Result<Ticket>;
}
