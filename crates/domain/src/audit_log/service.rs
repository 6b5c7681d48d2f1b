//! The use cases of the audit log.

use std::sync::Arc;

use super::{AuditFilter, AuditRepository, AuditView};
use crate::accounts::Admin;
use crate::error::Result;
use crate::page::{Page, PageRequest};

/// Lists what administrators did.
pub struct AuditLog {
    /// Stores the audit log.
    pub audit: Arc<dyn AuditRepository>,
}

impl AuditLog {
    /// Returns entries, newest first.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn list(&self, _: &Admin, filter: AuditFilter, page: PageRequest) -> Result<Page<AuditView>> {
        self.audit.list(filter, page).await
    }

    /// Returns entries, newest first: for the operator, not for clients.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn list_for_operator(&self, filter: AuditFilter, page: PageRequest) -> Result<Page<AuditView>> {
        self.audit.list(filter, page).await
    }
}
