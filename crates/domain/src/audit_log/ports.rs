//! The port of the audit log.

use async_trait::async_trait;
use uuid::Uuid;

use crate::accounts::UserPreview;
use crate::audit::{Action, Actor, AuditEntry};
use crate::error::Result;
use crate::page::{Page, PageRequest};

/// A filter of audit entries: an entry passes if it matches every field that is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AuditFilter {
    /// Who acted.
    pub actor: Option<Actor>,
    /// The id of the target, whatever its kind.
    pub target: Option<Uuid>,
    /// The kind of act.
    pub action: Option<Action>,
}

/// An audit entry together with the account that acted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditView {
    /// The entry.
    pub entry: AuditEntry,
    /// The account that acted; `None` for the command line.
    pub actor: Option<UserPreview>,
}

/// Lists audit entries. Most are stored by the other repositories, each in the transaction of its change; this one stores the
/// entries of acts that change nothing.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait AuditRepository: Send + Sync {
    /// Records an act that changes nothing that is stored.
    async fn record(&self, entry: &AuditEntry) -> Result<()>;

    /// Returns the entries that pass the filter, newest first: by [`AuditEntry::at`], then by id. The time for a page does not
    /// grow with the number of entries that do not pass.
    async fn list(&self, filter: AuditFilter, page: PageRequest) -> Result<Page<AuditView>>;
}
