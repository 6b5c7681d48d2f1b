//! The data that users export.

use agora_domain::Result;
use agora_domain::export::{ExportRepository, ExportedComment, ExportedRelation, RelationKind};
use agora_domain::id::UserId;
use agora_domain::page::{Page, PageRequest};
use agora_domain::reports::Report;
use async_trait::async_trait;

use crate::rows::{CommentRow, Slice, keyset, page_of};
use crate::schema::ReportRecord;
use crate::sql_types::DbId;
use crate::{Database, call};

#[async_trait]
impl ExportRepository for Database {
    async fn list_comments(&self, author: UserId, page: PageRequest) -> Result<Page<ExportedComment>> {
        let (author, slice) = (DbId(author.uuid()), Slice::oldest_first(page));
        let rows = call!(self, list exports::comments(author, slice))?;
        page_of(page, rows, |row: CommentRow| {
            let key = row.keyset();
            let (comment, reply, _) = row.parts();
            Ok((key, ExportedComment { comment, reply }))
        })
    }

    async fn list_relations(
        &self,
        user: UserId,
        kind: RelationKind,
        page: PageRequest,
    ) -> Result<Page<ExportedRelation>> {
        let (user, slice) = (DbId(user.uuid()), Slice::oldest_first(page));
        let rows = call!(self, list exports::relations(user, kind, slice))?;
        page_of(page, rows, |(at, id, to)| {
            let key = keyset(at, id);
            Ok((key, ExportedRelation { key, to: to.0 }))
        })
    }

    async fn list_reports(&self, reporter: UserId, page: PageRequest) -> Result<Page<Report>> {
        let (reporter, slice) = (DbId(reporter.uuid()), Slice::oldest_first(page));
        let rows = call!(self, list exports::reports(reporter, slice))?;
        page_of(page, rows, |row: ReportRecord| Ok((keyset(row.created_at, row.id), row.report()?)))
    }
}
