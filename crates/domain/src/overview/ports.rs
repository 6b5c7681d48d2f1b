//! What the overview needs of adapters.

use async_trait::async_trait;

use crate::clock::Timestamp;
use crate::error::Result;

/// How much there is of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Accounts, disabled ones too, none that was deleted.
    pub accounts: u64,
    /// Posts, hidden ones too, none that was deleted.
    pub posts: u64,
    /// Comments, hidden ones too, and those that are still to be erased with what was deleted.
    pub comments: u64,
    /// Products.
    pub products: u64,
    /// Sessions that were opened after an instant and have not ended.
    pub open_sessions: u64,
    /// Reports that nobody has decided about.
    pub open_reports: u64,
    /// Mails that are still to be sent.
    pub waiting_mails: u64,
    /// Mails that were given up.
    pub dead_mails: u64,
    /// How many bytes the database takes; nothing where it cannot tell.
    pub database_bytes: Option<u64>,
}

/// Counts what is stored.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait OverviewRepository: Send + Sync {
    /// Counts everything, one thing after the other: it takes the longer the more there is, and reads no single moment.
    async fn count(&self, sessions_opened_after: Timestamp) -> Result<Totals>;
}
