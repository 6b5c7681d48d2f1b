//! What the comment use cases need of an adapter.

use async_trait::async_trait;

use super::{Comment, CommentAccess, CommentTarget, CommentText, CommentView};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::id::{CommentId, PostId, UserId};
use crate::idempotency::AttemptId;
use crate::page::{Page, PageRequest};

/// Keeps comments. Each method is one atomic change or one consistent read.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait CommentRepository: Send + Sync {
    /// Stores a new comment. MUST fail with [`Error::NotFound`](crate::Error::NotFound) when the post does not exist.
    async fn create(&self, comment: &Comment, attempt: Option<AttemptId>) -> Result<()>;

    /// Returns what decides about the comment named, by id or as the newest of `caller` on a post; `None` when there is
    /// none.
    async fn find_access(&self, target: CommentTarget, caller: UserId) -> Result<Option<CommentAccess>>;

    /// Replaces the content.
    ///
    /// This and the next one MUST fail with [`Error::NotFound`](crate::Error::NotFound) when there is no such comment.
    async fn update(&self, id: CommentId, content: &CommentText, at: Timestamp) -> Result<()>;

    /// Deletes a comment.
    async fn delete(&self, id: CommentId) -> Result<()>;

    /// Returns the comments of a post, oldest first.
    async fn list(&self, post: PostId, page: PageRequest) -> Result<Page<CommentView>>;
}
