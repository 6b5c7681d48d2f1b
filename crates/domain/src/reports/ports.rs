//! The port of reports.

use async_trait::async_trait;

use super::{Report, ReportDecision, ReportStatus, ReportView};
use crate::audit::AuditEntry;
use crate::error::Result;
use crate::id::ReportId;
use crate::idempotency::AttemptId;
use crate::notices::Notice;
use crate::page::{Page, PageRequest};

/// The outcome of making a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    /// A new report was stored.
    Created(ReportId),
    /// This earlier report by the same account about the same thing is still open.
    AlreadyOpen(ReportId),
}

/// Stores reports. Each method is one atomic change or one consistent read.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ReportRepository: Send + Sync {
    /// Stores a new report and its notices, unless the reporter has an open report about the same thing. MUST fail with
    /// [`Report::too_many`] when the reporter has made [`REPORTS_AN_HOUR`](super::REPORTS_AN_HOUR) in the last hour, even under
    /// concurrent requests.
    async fn create(&self, report: &Report, notices: &[Notice], attempt: Option<AttemptId>) -> Result<Reported>;

    /// Returns a report; `None` when there is none.
    async fn find(&self, id: ReportId) -> Result<Option<ReportView>>;

    /// Returns the reports with a status, or all of them, newest first: by [`Report::created_at`], then by id.
    async fn list(&self, status: Option<ReportStatus>, page: PageRequest) -> Result<Page<ReportView>>;

    /// Applies [`Report::decided`] to the stored report, and records `entry` if that changes it. MUST fail with
    /// [`Error::NotFound`](crate::Error::NotFound) when there is no such report.
    async fn decide(&self, id: ReportId, decision: &ReportDecision, entry: &AuditEntry) -> Result<()>;
}
