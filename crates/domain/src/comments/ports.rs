//! What the comment use cases need of an adapter.

use async_trait::async_trait;

use super::{
    CommentAccess, CommentOrder, CommentTarget, CommentText, CommentView, Deletion, NewComment, ThreadedComment,
};
use crate::accounts::{UserPreview, Viewer};
use crate::audit::AuditEntry;
use crate::clock::Timestamp;
use crate::entities::Entities;
use crate::error::Result;
use crate::id::{CommentId, PostId, UserId};
use crate::idempotency::AttemptId;
use crate::page::{Page, PageRequest};
use crate::relation::NewRelation;

/// Keeps comments and their likes. Each method is one atomic change or one consistent read, and a read takes a number of
/// queries that does not depend on how many comments or likes there are.
///
/// Lists of comments are ordered by [`Comment::created_at`](super::Comment::created_at), then by id.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait CommentRepository: Send + Sync {
    /// Stores a new comment. MUST fail with [`Error::NotFound`](crate::Error::NotFound) naming the post when there is no such
    /// post, and naming the comment when the comment answered is in no such thread of the post.
    async fn create(&self, comment: &NewComment, attempt: Option<AttemptId>) -> Result<()>;

    /// Returns what decides about the comment named, by id or as the newest of `caller` on a post; `None` when there is
    /// none.
    async fn find_access(&self, target: CommentTarget, caller: UserId) -> Result<Option<CommentAccess>>;

    /// Returns the comment as `viewer` sees it, whether or not they may; `None` when there is none.
    async fn find(&self, id: CommentId, viewer: UserId) -> Result<Option<ThreadedComment>>;

    /// Replaces the content, and what it names, of a comment that is not hidden.
    ///
    /// This and the next four MUST fail with [`Error::NotFound`](crate::Error::NotFound) when there is no such comment.
    async fn update(&self, id: CommentId, content: &CommentText, entities: &Entities, at: Timestamp) -> Result<()>;

    /// Hides a comment, or shows it again, and records `entry`; nothing happens when it is hidden, or shown, already. What is
    /// hidden, with the thread at whose top it is, is no longer counted among the comments of the post and the replies of its
    /// thread.
    async fn set_hidden(&self, id: CommentId, hidden: bool, entry: &AuditEntry) -> Result<()>;

    /// Deletes a comment with its thread and all likes, or as much of these as others can wait for: then it is to be
    /// called again. Every count agrees with what is left, each time.
    async fn delete(&self, id: CommentId) -> Result<Deletion>;

    /// Turns the like of `user` on; one that is on stays as it is.
    async fn set_like(&self, id: CommentId, user: UserId, like: NewRelation) -> Result<()>;

    /// Turns the like of `user` off; returns whether it was on.
    async fn unset_like(&self, id: CommentId, user: UserId) -> Result<bool>;

    /// Returns those who like a comment, newest like first. People [apart](crate::relation::Standing::Apart) from the viewer
    /// are left out of this and the other lists, unless the viewer sees all; so are hidden comments of others, and what stands
    /// in threads of others that are hidden.
    async fn list_likers(&self, id: CommentId, viewer: Viewer, page: PageRequest) -> Result<Page<UserPreview>>;

    /// Returns all comments of a post, whatever their thread, oldest first.
    async fn list(&self, post: PostId, viewer: Viewer, page: PageRequest) -> Result<Page<CommentView>>;

    /// Returns the comments of a post that answer none.
    async fn list_top_level(
        &self,
        post: PostId,
        viewer: Viewer,
        order: CommentOrder,
        page: PageRequest,
    ) -> Result<Page<ThreadedComment>>;

    /// Returns the replies of the thread that a comment is at the top of, oldest first.
    async fn list_replies(&self, thread: CommentId, viewer: Viewer, page: PageRequest)
    -> Result<Page<ThreadedComment>>;
}
