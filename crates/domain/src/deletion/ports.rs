//! What the use cases of deletion need of adapters.

use async_trait::async_trait;

use super::{Erased, ErasurePosition};
use crate::accounts::Confirmed;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::id::UserId;
use crate::media::ImageKey;

/// Deletes accounts. Each method is one atomic change or one consistent read.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait DeletionRepository: Send + Sync {
    /// Deletes an account, in a time that does not depend on how much belongs to it: from then on no read shows it or anything
    /// of it to anybody, it can do nothing, all of its sessions are revoked, and its username and its address are given to
    /// nobody for [`NAMES_KEPT_MILLIS`](super::NAMES_KEPT_MILLIS). What belongs to it is left to [`erase`](Self::erase), and
    /// counts as long as it is there. Returns the picture no row names any more.
    ///
    /// MUST apply [`Account::ensure_deletable`](crate::accounts::Account::ensure_deletable), concurrent changes of who has ADMIN
    /// included, fail with [`Error::NotFound`](crate::Error::NotFound) when there is no such account, and with
    /// [`wrong_password`](crate::accounts::wrong_password) when its password is another one by now.
    async fn delete(&self, account: &Confirmed, at: Timestamp) -> Result<Option<ImageKey>>;

    /// Returns a deleted account of which something is left.
    async fn next_unerased(&self) -> Result<Option<UserId>>;

    /// Erases some of what belonged to a deleted account, no more than others can wait for, and in the end the account. What it
    /// did to others is taken back: likes are counted down, and nobody is told of its acts any more.
    ///
    /// It goes on from where it got to, so that it takes no longer the more is gone, and MUST come to the same end from any position.
    async fn erase(&self, user: UserId, from: ErasurePosition, at: Timestamp) -> Result<Erased>;

    /// Forgets names that are given out again; returns how many.
    async fn forget_names(&self, now: Timestamp) -> Result<usize>;
}
