//! The comment repository.

use agora_domain::Result;
use agora_domain::accounts::{UserPreview, Viewer};
use agora_domain::audit::AuditEntry;
use agora_domain::clock::Timestamp;
use agora_domain::comments::{
    CommentAccess, CommentOrder, CommentRepository, CommentTarget, CommentText, CommentView, Deletion, NewComment,
    ThreadedComment,
};
use agora_domain::entities::Entities;
use agora_domain::id::{CommentId, PostId, UserId};
use agora_domain::idempotency::{AttemptId, Outcome};
use agora_domain::page::{Page, PageRequest};
use agora_domain::relation::NewRelation;
use async_trait::async_trait;

use crate::account_filters::DbViewer;
use crate::parts::Parts;
use crate::rows::{CommentRow, Slice, keyset, page_of};
use crate::schema::{AuditRecord, CommentLikeRecord};
use crate::sql_types::{DbId, DbInstant};
use crate::values::ThreadedRow;
use crate::{Database, call, once, part};

fn page_of_threaded(page: PageRequest, rows: Vec<ThreadedRow>) -> Result<Page<ThreadedComment>> {
    page_of(page, rows, |row| Ok((row.keyset(), row.comment()?)))
}

#[async_trait]
impl CommentRepository for Database {
    async fn create(&self, comment: &NewComment, attempt: Option<AttemptId>) -> Result<()> {
        let (id, row, notices) = (comment.comment.id, CommentRow::of(comment), comment.notices.clone());
        let post = comment.comment.post.uuid();
        if comment.reply.is_some() {
            once!(self, attempt, write comments::insert_reply(row, notices), did given => Outcome::CommentCreated(id), at post)
        } else {
            once!(self, attempt, statement comments::insert(row, notices), did given => Outcome::CommentCreated(id), at post)
        }
    }

    async fn find_access(&self, target: CommentTarget, caller: UserId) -> Result<Option<CommentAccess>> {
        call!(self, read comments::find_access(target, DbId(caller.uuid())))
    }

    async fn find(&self, id: CommentId, viewer: UserId) -> Result<Option<ThreadedComment>> {
        let found = call!(self, read comments::find(DbId(id.uuid()), DbId(viewer.uuid())))?;
        Ok(found.map(ThreadedRow::comment).transpose()?)
    }

    async fn update(&self, id: CommentId, content: &CommentText, entities: &Entities, at: Timestamp) -> Result<()> {
        let (content, entities) = (content.as_str().to_owned(), entities.as_str().to_owned());
        call!(self, write comments::update(DbId(id.uuid()), content, entities, DbInstant(at)))
    }

    async fn set_hidden(&self, id: CommentId, hidden: bool, entry: &AuditEntry) -> Result<()> {
        let entry = AuditRecord::of(entry);
        call!(self, write comments::set_hidden(DbId(id.uuid()), hidden, entry))
    }

    async fn delete(&self, id: CommentId) -> Result<Deletion> {
        call!(self, write comments::delete(DbId(id.uuid())))
    }

    async fn set_like(&self, id: CommentId, user: UserId, like: NewRelation) -> Result<()> {
        let (comment_id, user_id) = (DbId(id.uuid()), DbId(user.uuid()));
        let NewRelation { id, at, notice } = like;
        let like = CommentLikeRecord { comment_id, user_id, id: DbId(id.uuid()), created_at: DbInstant(at) };
        call!(self, write_idempotent comments::set_like(like, notice), at comment_id.0)
    }

    async fn unset_like(&self, id: CommentId, user: UserId) -> Result<bool> {
        call!(self, write comments::unset_like(DbId(id.uuid()), DbId(user.uuid())), at id.uuid())
    }

    async fn list_likers(&self, id: CommentId, viewer: Viewer, page: PageRequest) -> Result<Page<UserPreview>> {
        let (id, viewer, slice) = (DbId(id.uuid()), DbViewer::of(viewer), Slice::newest_first(page));
        let found = call!(self, list comments::list_likers(id, viewer, slice))?;
        page_of(page, found, |(at, id, row)| Ok((keyset(at, id), row.preview()?)))
    }

    async fn list(&self, post: PostId, viewer: Viewer, page: PageRequest) -> Result<Page<CommentView>> {
        let (post, viewer) = (DbId(post.uuid()), DbViewer::of(viewer));
        let mut parts = Parts::new(page, Slice::oldest_first(page));
        while let Some((slice, most)) = parts.next() {
            parts.add(part!(self, parts, comments::list(post, viewer, slice, most))?);
        }
        page_of(page, parts.found, |(row, author)| Ok((keyset(row.created_at, row.id), row.by(author))))
    }

    async fn list_top_level(
        &self,
        post: PostId,
        viewer: Viewer,
        order: CommentOrder,
        page: PageRequest,
    ) -> Result<Page<ThreadedComment>> {
        let slice = match order {
            CommentOrder::Oldest => Slice::oldest_first(page),
            CommentOrder::Newest => Slice::newest_first(page),
        };
        let (post, viewer, mut parts) = (DbId(post.uuid()), DbViewer::of(viewer), Parts::new(page, slice));
        while let Some((slice, most)) = parts.next() {
            parts.add(part!(self, parts, comments::list_top_level(post, viewer, slice, most))?);
        }
        page_of_threaded(page, parts.found)
    }

    async fn list_replies(
        &self,
        thread: CommentId,
        viewer: Viewer,
        page: PageRequest,
    ) -> Result<Page<ThreadedComment>> {
        let (thread, viewer) = (DbId(thread.uuid()), DbViewer::of(viewer));
        let mut parts = Parts::new(page, Slice::oldest_first(page));
        while let Some((slice, most)) = parts.next() {
            parts.add(part!(self, parts, comments::list_replies(thread, viewer, slice, most))?);
        }
        page_of_threaded(page, parts.found)
    }
}
