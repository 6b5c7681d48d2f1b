//! The audit log.

use agora_domain::Result;
use agora_domain::audit::{Action, Actor, AuditEntry, Target, TargetKind};
use agora_domain::audit_log::{AuditFilter, AuditRepository, AuditView};
use agora_domain::page::{Page, PageRequest};
use async_trait::async_trait;

use crate::codes::codes;
use crate::error::{Outcome, corrupt};
use crate::rows::{PreviewRow, Slice, keyset, page_of};
use crate::schema::AuditRecord;
use crate::sql_types::{DbId, DbInstant};
use crate::{Database, call};

codes! { action_code, action("action of an audit entry"): Action {
    RoleAdded = 0, RoleRemoved = 1, AccountDisabled = 2, AccountEnabled = 3, PasswordReset = 4, PostHidden = 5,
    PostShown = 6, CommentHidden = 7, CommentShown = 8, ReportResolved = 9, ReportRejected = 10, ProductCreated = 11,
    ProductUpdated = 12, ProductDeleted = 13, ProductsImported = 14, SessionsEnded = 15, BackupDownloaded = 16,
} }

codes! { kind_code, kind("target of an audit entry"): TargetKind {
    User = 0, Post = 1, Comment = 2, Report = 3, Product = 4, Catalog = 5, Service = 6,
} }

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
        let target = Target::of(kind(self.target_kind)?, self.target_id.map(|id| id.0));
        Ok(AuditEntry {
            id: self.id.0.into(),
            at: self.created_at.0,
            actor: self.actor_id.map_or(Actor::CommandLine, |id| Actor::Account(id.0.into())),
            action: action(self.action)?,
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
