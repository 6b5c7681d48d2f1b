//! What reading the audit log needs of an adapter.

use async_trait::async_trait;
use uuid::Uuid;

use crate::accounts::UserPreview;
use crate::audit::{Action, Actor, AuditEntry};
use crate::error::Result;
use crate::page::{Page, PageRequest};

/// Which entries are asked for: those that have everything that is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AuditFilter {
    /// Whose acts.
    pub actor: Option<Actor>,
    /// Acts done to what has this id.
    pub target: Option<Uuid>,
    /// What was done.
    pub action: Option<Action>,
}

/// An entry as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditView {
    /// The entry.
    pub entry: AuditEntry,
    /// The account that acted; `None` for the command line.
    pub actor: Option<UserPreview>,
}

/// Reads what was recorded: by the other repositories, each in the transaction of its change, and by this one.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait AuditRepository: Send + Sync {
    /// Records an act that changes nothing that is stored.
    async fn record(&self, entry: &AuditEntry) -> Result<()>;

    /// Returns the entries that pass the filter, newest first: by [`AuditEntry::at`], then by id. A page takes no longer the
    /// more entries there are that do not pass.
    async fn list(&self, filter: AuditFilter, page: PageRequest) -> Result<Page<AuditView>>;
}
