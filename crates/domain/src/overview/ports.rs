//! The port of the overview.

use async_trait::async_trait;

use crate::clock::Timestamp;
use crate::error::Result;

/// The totals of what is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Accounts, including disabled ones, excluding deleted ones.
    pub accounts: u64,
    /// Posts, including hidden ones, excluding deleted ones.
    pub posts: u64,
    /// Comments, including hidden ones and those of deleted posts and accounts that are not erased yet.
    pub comments: u64,
    /// Products.
    pub products: u64,
    /// Sessions that were opened after the given instant and have not ended.
    pub open_sessions: u64,
    /// Reports that are not decided yet.
    pub open_reports: u64,
    /// Mails that are still to be sent.
    pub waiting_mails: u64,
    /// Mails that were given up.
    pub dead_mails: u64,
    /// The size of the database in bytes; `None` if it cannot be determined.
    pub database_bytes: Option<u64>,
}

/// Counts what is stored.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait OverviewRepository: Send + Sync {
    /// Counts everything, one table after another: the time grows with the number of rows, and the totals are not of one moment.
    async fn count(&self, sessions_opened_after: Timestamp) -> Result<Totals>;
}
