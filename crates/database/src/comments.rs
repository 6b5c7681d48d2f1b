//! The comment repository.

use agora_domain::Result;
use agora_domain::clock::Timestamp;
use agora_domain::comments::{Comment, CommentAccess, CommentRepository, CommentTarget, CommentText, CommentView};
use agora_domain::id::{CommentId, PostId, UserId};
use agora_domain::idempotency::{AttemptId, Outcome};
use agora_domain::page::{Page, PageRequest};
use async_trait::async_trait;

use crate::rows::{Slice, keyset, page_of};
use crate::schema::CommentRow;
use crate::sql_types::{DbId, DbInstant};
use crate::{Database, call, once};

#[async_trait]
impl CommentRepository for Database {
    async fn create(&self, comment: &Comment, attempt: Option<AttemptId>) -> Result<()> {
        let row = CommentRow::of(comment);
        once!(self, attempt, statement comments::insert(row), did given => Outcome::CommentCreated)
    }

    async fn find_access(&self, target: CommentTarget, caller: UserId) -> Result<Option<CommentAccess>> {
        call!(self, read comments::find_access(target, DbId(caller.uuid())))
    }

    async fn update(&self, id: CommentId, content: &CommentText, at: Timestamp) -> Result<()> {
        let content = content.as_str().to_owned();
        call!(self, write comments::update(DbId(id.uuid()), content, DbInstant(at)))
    }

    async fn delete(&self, id: CommentId) -> Result<()> {
        call!(self, write comments::delete(DbId(id.uuid())))
    }

    async fn list(&self, post: PostId, page: PageRequest) -> Result<Page<CommentView>> {
        let rows = call!(self, list comments::list(DbId(post.uuid()), Slice::oldest_first(page)))?;
        page_of(page, rows, |(row, author)| Ok((keyset(row.created_at, row.id), row.by(author))))
    }
}
