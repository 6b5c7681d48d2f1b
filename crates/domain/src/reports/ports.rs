//! What the report use cases need of an adapter.

use async_trait::async_trait;

use super::{Report, ReportDecision, ReportStatus, ReportView};
use crate::audit::AuditEntry;
use crate::error::Result;
use crate::id::ReportId;
use crate::idempotency::AttemptId;
use crate::notices::Notice;
use crate::page::{Page, PageRequest};

/// What became of an attempt to make a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    /// It was made.
    Created(ReportId),
    /// The same account has reported the same thing, and that report is open.
    AlreadyOpen(ReportId),
}

/// Keeps reports. Each method is one atomic change or one consistent read.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ReportRepository: Send + Sync {
    /// Stores a new report, with who is told of it, unless the reporter has an open one about the same thing. MUST fail with
    /// [`Report::too_many`] when the reporter has made [`REPORTS_AN_HOUR`](super::REPORTS_AN_HOUR) in the hour before, however
    /// many try at once.
    async fn create(&self, report: &Report, notices: &[Notice], attempt: Option<AttemptId>) -> Result<Reported>;

    /// Returns a report; `None` when there is none.
    async fn find(&self, id: ReportId) -> Result<Option<ReportView>>;

    /// Returns the reports with a status, or all of them, newest first: by [`Report::created_at`], then by id.
    async fn list(&self, status: Option<ReportStatus>, page: PageRequest) -> Result<Page<ReportView>>;

    /// Applies [`Report::decided`] to the stored report, and records `entry` where that changes it. MUST fail with
    /// [`Error::NotFound`](crate::Error::NotFound) when there is no such report.
    async fn decide(&self, id: ReportId, decision: &ReportDecision, entry: &AuditEntry) -> Result<()>;
}
