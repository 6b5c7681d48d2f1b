//! Reading lists from a replica of the database, which shows writes with a delay.

use async_trait::async_trait;

use crate::error::Result;
use crate::id::UserId;

/// A replica of the database, beside the primary, which takes the writes.
///
/// Users see their own writes even if the replica lacks them: a write recorded on one node is known on every node.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ReadReplica: Send + Sync {
    /// Records that a user may have written something. Called after the write was stored and before the user gets the response.
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable) when the primary is unreachable. Once it is reachable again, every
    /// user counts as having written up to that moment.
    async fn record_write(&self, user: UserId) -> Result<()>;

    /// Returns whether a user's lists are to be read from the replica: it is reachable, not too far behind, and shows all
    /// that the user has written. `None` is an anonymous caller, of whom no writes are known.
    async fn serves(&self, user: Option<UserId>) -> bool;
}
