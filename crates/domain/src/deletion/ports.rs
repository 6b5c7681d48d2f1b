//! The port of account deletion.

use async_trait::async_trait;

use super::{Erased, ErasurePosition};
use crate::accounts::ConfirmedPassword;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::id::UserId;
use crate::media::ImageKey;

/// Deletes accounts. Each method is one atomic change or one consistent read.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait DeletionRepository: Send + Sync {
    /// Deletes an account, in a time that does not depend on how much belongs to it: from then on no read shows it or anything
    /// of it to anybody, it can do nothing, all of its sessions are revoked, and its username and its email address are reserved
    /// for [`NAMES_KEPT_MILLIS`](super::NAMES_KEPT_MILLIS). What belongs to it is left to [`erase`](Self::erase), and is included
    /// in counts until then. Returns the profile picture, which no row references any more.
    ///
    /// MUST apply [`Account::ensure_deletable`](crate::accounts::Account::ensure_deletable), even when other accounts gain or
    /// lose ADMIN concurrently; fail with [`Error::NotFound`](crate::Error::NotFound) when there is no such account; and fail
    /// with [`Error::Stale`](crate::Error::Stale) when the password has changed since it was confirmed.
    async fn delete(&self, account: &ConfirmedPassword, at: Timestamp) -> Result<Option<ImageKey>>;

    /// Returns a deleted account that is not erased completely yet.
    async fn next_unerased(&self) -> Result<Option<UserId>>;

    /// Erases a batch of what belonged to a deleted account, small enough that other writes need not wait long, and in the end
    /// the account itself. Its effects on others are undone: like counts go down, and notifications of its acts disappear.
    ///
    /// Erasure continues from a position, so that a batch does not take longer the more is gone already. It MUST reach the same
    /// result from any position.
    async fn erase(&self, user: UserId, from: ErasurePosition, at: Timestamp) -> Result<Erased>;

    /// Forgets reserved names whose time has passed; returns how many.
    async fn forget_names(&self, now: Timestamp) -> Result<usize>;
}
