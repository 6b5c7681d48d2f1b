//! Reading lists from a replica of the database, which shows what was written a moment later.

use async_trait::async_trait;

use crate::error::Result;
use crate::id::UserId;

/// A replica of the database, beside the database that takes writes.
///
/// Users see what they wrote themselves, whatever the replica lacks: what one node records, every node knows.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ReadReplica: Send + Sync {
    /// Records that a user may have written something, after it was stored and before the user is told so.
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable) when the database is out of reach. From when it is back on,
    /// everything written until then counts as written by everybody.
    async fn record_write(&self, user: UserId) -> Result<()>;

    /// Returns whether a user's lists are to be read from the replica: it is there, no older than it may be, and shows all
    /// that the user has written. Without a user, it is about somebody of whom nothing is known.
    async fn serves(&self, user: Option<UserId>) -> bool;
}
