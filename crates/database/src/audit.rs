//! The audit log.

use agora_domain::Result;
use agora_domain::audit::{Action, Actor, AuditEntry, Target, TargetKind};
use agora_domain::audit_log::{AuditFilter, AuditRepository, AuditView};
use agora_domain::page::{Page, PageRequest};
use async_trait::async_trait;

use crate::error::{Outcome, corrupt};
use crate::rows::{PreviewRow, Slice, keyset, page_of};
use crate::schema::AuditRecord;
use crate::sql_types::{DbId, DbInstant};
use crate::{Database, call};

pub(crate) const fn action_code(action: Action) -> i16 {
    match action {
        Action::RoleAdded => 0,
        Action::RoleRemoved => 1,
        Action::AccountDisabled => 2,
        Action::AccountEnabled => 3,
        Action::PasswordReset => 4,
        Action::PostHidden => 5,
        Action::PostShown => 6,
        Action::CommentHidden => 7,
        Action::CommentShown => 8,
        Action::ReportResolved => 9,
        Action::ReportRejected => 10,
        Action::ProductCreated => 11,
        Action::ProductUpdated => 12,
        Action::ProductDeleted => 13,
        Action::ProductsImported => 14,
        Action::SessionsEnded => 15,
        Action::BackupDownloaded => 16,
    }
}

const fn kind_code(kind: TargetKind) -> i16 {
    match kind {
        TargetKind::User => 0,
        TargetKind::Post => 1,
        TargetKind::Comment => 2,
        TargetKind::Report => 3,
        TargetKind::Product => 4,
        TargetKind::Catalog => 5,
        TargetKind::Service => 6,
    }
}

impl AuditRecord {
    pub(crate) fn of(entry: &AuditEntry) -> Self {
        Self {
            id: DbId(entry.id.uuid()),
            created_at: DbInstant(entry.at),
            actor_id: match entry.actor {
                Actor::CommandLine => None,
                Actor::Account(id) => Some(DbId(id.uuid())),
            },
            action: action_code(entry.action),
            target_kind: kind_code(entry.target.kind()),
            target_id: entry.target.id().map(DbId),
            details: entry.details.clone(),
        }
    }

    fn entry(self) -> Outcome<AuditEntry> {
        let action = Action::ALL.into_iter().find(|action| action_code(*action) == self.action);
        let kind = TargetKind::ALL.into_iter().find(|kind| kind_code(*kind) == self.target_kind);
        let target = kind.and_then(|kind| Target::of(kind, self.target_id.map(|id| id.0)));
        Ok(AuditEntry {
            id: self.id.0.into(),
            at: self.created_at.0,
            actor: self.actor_id.map_or(Actor::CommandLine, |id| Actor::Account(id.0.into())),
            action: action.ok_or_else(|| corrupt("action of an audit entry"))?,
            target: target.ok_or_else(|| corrupt("target of an audit entry"))?,
            details: self.details,
        })
    }
}

#[async_trait]
impl AuditRepository for Database {
    async fn record(&self, entry: &AuditEntry) -> Result<()> {
        let entry = AuditRecord::of(entry);
        call!(self, write audit::record(entry))
    }

    async fn list(&self, filter: AuditFilter, page: PageRequest) -> Result<Page<AuditView>> {
        let rows = call!(self, search audit::list(filter, Slice::newest_first(page)))?;
        page_of(page, rows, |(record, actor): (AuditRecord, Option<PreviewRow>)| {
            let key = keyset(record.created_at, record.id);
            Ok((key, AuditView { entry: record.entry()?, actor: actor.map(PreviewRow::preview).transpose()? }))
        })
    }
}
