//! The repository of reports.

use agora_domain::Result;
use agora_domain::audit::AuditEntry;
use agora_domain::comments::CommentText;
use agora_domain::id::ReportId;
use agora_domain::idempotency::{AttemptId, Outcome as Done};
use agora_domain::notices::Notice;
use agora_domain::page::{Page, PageRequest};
use agora_domain::reports::{
    Report, ReportCategory, ReportComment, ReportDecision, ReportNote, ReportRepository, ReportStatus, ReportTarget,
    ReportTargetKind, ReportView, Reported, ReportedComment,
};
use async_trait::async_trait;

use crate::codes::codes;
use crate::error::Outcome;
use crate::rows::{PreviewRow, Slice, keyset, page_of};
use crate::schema::{AuditRecord, ReportRecord};
use crate::sql_types::{DbId, DbInstant};
use crate::{Database, call, once};

codes! { kind_code, kind("target kind of a report"): ReportTargetKind { Post = 0, Comment = 1, User = 2 } }

codes! { category_code, category("category of a report"): ReportCategory {
    Spam = 0, Abuse = 1, Illegal = 2, Other = 3,
} }

codes! { status_code, status("status of a report"): ReportStatus { Open = 0, Resolved = 1, Rejected = 2 } }

impl ReportRecord {
    pub(crate) fn of(report: &Report) -> Self {
        Self {
            id: DbId(report.id.uuid()),
            created_at: DbInstant(report.created_at),
            reporter_id: DbId(report.reporter.uuid()),
            target_kind: kind_code(report.target.kind()),
            target_id: DbId(report.target.id()),
            category: category_code(report.category),
            comment: report.comment.as_ref().map(|comment| comment.as_str().to_owned()),
            status: status_code(report.status),
            note: report.note.as_ref().map(|note| note.as_str().to_owned()),
        }
    }

    pub(crate) fn report(self) -> Outcome<Report> {
        Ok(Report {
            id: self.id.0.into(),
            created_at: self.created_at.0,
            reporter: self.reporter_id.0.into(),
            target: ReportTarget::of(kind(self.target_kind)?, self.target_id.0),
            category: category(self.category)?,
            comment: self.comment.map(ReportComment::restore),
            status: status(self.status)?,
            note: self.note.map(ReportNote::restore),
        })
    }
}

/// A report, its reporter, and the reported comment, if it is about a comment that still exists.
pub(crate) type FoundReport = (ReportRecord, PreviewRow, Option<FoundComment>);

/// The post, the author and the text of a comment, and whether the comment is hidden.
pub(crate) type FoundComment = (DbId, PreviewRow, String, bool);

fn view((record, reporter, comment): FoundReport) -> Outcome<ReportView> {
    let reported = |(post, author, content, is_hidden): FoundComment| -> Outcome<_> {
        let (post, author) = (post.0.into(), author.preview()?);
        Ok(ReportedComment { post, author, content: CommentText::restore(content), is_hidden })
    };
    let reported_comment = comment.map(reported).transpose()?;
    Ok(ReportView { report: record.report()?, reporter: reporter.preview()?, reported_comment })
}

#[async_trait]
impl ReportRepository for Database {
    async fn create(&self, report: &Report, notices: &[Notice], attempt: Option<AttemptId>) -> Result<Reported> {
        let (report, notices) = (report.clone(), notices.to_vec());
        once!(self, attempt, write reports::create(report, notices), did reported => match reported {
            Reported::Created(id) => Done::ReportCreated(id),
            Reported::AlreadyOpen(id) => Done::ReportFound(id),
        })
    }

    async fn find(&self, id: ReportId) -> Result<Option<ReportView>> {
        Ok(call!(self, read reports::find(DbId(id.uuid())))?.map(view).transpose()?)
    }

    async fn list(&self, status: Option<ReportStatus>, page: PageRequest) -> Result<Page<ReportView>> {
        let (status, slice) = (status.map(status_code), Slice::newest_first(page));
        let rows = call!(self, search reports::list(status, slice))?;
        page_of(page, rows, |row| Ok((keyset(row.0.created_at, row.0.id), view(row)?)))
    }

    async fn decide(&self, id: ReportId, decision: &ReportDecision, entry: &AuditEntry) -> Result<()> {
        let (decision, entry) = (decision.clone(), AuditRecord::of(entry));
        call!(self, write reports::decide(DbId(id.uuid()), decision, entry))
    }
}
