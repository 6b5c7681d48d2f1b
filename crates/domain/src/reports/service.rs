//! The use cases of reports.

use std::sync::Arc;

use super::{Report, ReportDecision, ReportFields, ReportRepository, ReportStatus, ReportTarget, ReportView, Reported};
use crate::accounts::{AccountRepository, Admin, Member};
use crate::audit::{Actor, AuditEntry, Target};
use crate::clock::Clock;
use crate::comments::{CommentRepository, CommentTarget};
use crate::error::{Error, Resource, Result};
use crate::id::{IdGenerator, ReportId, UserId};
use crate::idempotency::{Attempt, Outcome};
use crate::notices::{Act, Subject};
use crate::page::{Page, PageRequest};
use crate::people::PeopleRepository;
use crate::posts::PostRepository;

/// Accepts reports, lists them for administrators and records the decisions.
pub struct Reports {
    /// Stores reports.
    pub reports: Arc<dyn ReportRepository>,
    /// Tells who may view a reported post.
    pub posts: Arc<dyn PostRepository>,
    /// Tells who may view a reported comment.
    pub comments: Arc<dyn CommentRepository>,
    /// Finds a reported user as the reporter sees them.
    pub people: Arc<dyn PeopleRepository>,
    /// Lists the administrators to be notified.
    pub accounts: Arc<dyn AccountRepository>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Generates ids.
    pub ids: Arc<dyn IdGenerator>,
}

/// Proof that a report exists and that the caller may decide on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ManagedReport {
    id: ReportId,
    actor: Actor,
}

impl Reports {
    /// Reports something that the reporter may view, blocks between users disregarded, and notifies the administrators.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is no such thing; [`Error::Forbidden`] when the reporter may not view it;
    /// [`Error::TooMany`] when the reporter has made too many reports within an hour.
    pub async fn create(&self, reporter: &Member, fields: ReportFields, attempt: Attempt) -> Result<Reported> {
        match attempt.outcome() {
            Some(Outcome::ReportCreated(id)) => return Ok(Reported::Created(id)),
            Some(Outcome::ReportFound(id)) => return Ok(Reported::AlreadyOpen(id)),
            _ => {}
        }
        let ReportFields { target, category, comment } = fields;
        let (subject, reported) = self.ensure_may_report(reporter, target).await?;
        let (id, now) = (ReportId::new(self.ids.generate()), self.clock.now());
        let admins = self.accounts.list_admins().await?;
        let admins = admins.iter().filter(|admin| admin.enabled).map(|admin| admin.id).filter(|id| *id != reported);
        let notices = Act { actor: reporter.id(), subject, at: now }.report_notices(&*self.ids, admins);
        let (status, note) = (ReportStatus::Open, None);
        let report = Report { id, created_at: now, reporter: reporter.id(), target, category, comment, status, note };
        self.reports.create(&report, &notices, attempt.id()).await
    }

    /// Checks that a user may view what they report, blocks between users disregarded. Returns the subject of the notices, and
    /// the reported user, who gets none even as an administrator.
    async fn ensure_may_report(&self, reporter: &Member, target: ReportTarget) -> Result<(Subject, UserId)> {
        match target {
            ReportTarget::Post(id) => {
                let access = self.posts.find_access(id, reporter.id()).await?;
                let access = access.ok_or(Error::NotFound(Resource::Post))?;
                access.ignoring_blocks().ensure_may_view(reporter)?;
                Ok((Subject::Post(id), access.author))
            }
            ReportTarget::Comment(id) => {
                let access = self.comments.find_access(CommentTarget::Comment(id), reporter.id()).await?;
                let access = access.ok_or(Error::NotFound(Resource::Comment))?;
                access.ignoring_blocks().ensure_may_view(reporter)?;
                Ok((Subject::Comment(access.post.id, id), access.author))
            }
            ReportTarget::User(id) => {
                let person = self.people.find(id, reporter.id()).await?;
                let is_there = person.is_some_and(|person| person.enabled || reporter.is_admin());
                if is_there { Ok((Subject::Recipient, id)) } else { Err(Error::NotFound(Resource::User)) }
            }
        }
    }

    /// Returns the reports with a status, or all of them, newest first.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn list(&self, _: &Admin, status: Option<ReportStatus>, page: PageRequest) -> Result<Page<ReportView>> {
        self.reports.list(status, page).await
    }

    /// Returns the reports with a status, or all of them, newest first: for the operator, not for clients.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn list_for_operator(&self, status: Option<ReportStatus>, page: PageRequest) -> Result<Page<ReportView>> {
        self.reports.list(status, page).await
    }

    /// Returns a report.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none.
    pub async fn get(&self, _: &Admin, id: ReportId) -> Result<ReportView> {
        self.find(id).await
    }

    /// Checks that a report exists. Callers do so before they validate the decision.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none.
    pub async fn managed(&self, admin: &Admin, id: ReportId) -> Result<ManagedReport> {
        self.find(id).await.map(|_| ManagedReport { id, actor: Actor::Account(admin.id()) })
    }

    /// Checks that a report exists: for the operator, not for clients.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none.
    pub async fn managed_by_operator(&self, id: ReportId) -> Result<ManagedReport> {
        self.find(id).await.map(|_| ManagedReport { id, actor: Actor::CommandLine })
    }

    async fn find(&self, id: ReportId) -> Result<ReportView> {
        self.reports.find(id).await?.ok_or(Error::NotFound(Resource::Report))
    }

    /// Decides on a report. A decision can be changed; deciding the same again changes nothing.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn decide(&self, ManagedReport { id, actor }: ManagedReport, decision: &ReportDecision) -> Result<()> {
        let (action, target) = (decision.verdict.action(), Target::Report(id));
        let entry = AuditEntry::new(&*self.ids, self.clock.now(), actor, action, target);
        let details = decision.note.as_ref().map(|note| note.as_str().to_owned());
        self.reports.decide(id, decision, &AuditEntry { details, ..entry }).await
    }
}
