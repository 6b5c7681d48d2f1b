//! The port of the comment use cases.

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

/// Stores comments and their likes.
///
/// Each method is one atomic change or one consistent read. The number of queries of a read does not depend on how many
/// comments or likes there are.
///
/// Lists of comments are ordered by [`Comment::created_at`](super::Comment::created_at), then by id. Unless the
/// viewer sees everything, all lists leave out people separated from the viewer by a [block](crate::relation::Standing::Blocked),
/// hidden comments of others, and replies in hidden threads of others.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait CommentRepository: Send + Sync {
    /// Stores a new comment. MUST fail with [`Error::NotFound`](crate::Error::NotFound) naming the post when there is no such
    /// post, and naming the comment when the comment replied to is not in the given thread of the post.
    async fn create(&self, comment: &NewComment, attempt: Option<AttemptId>) -> Result<()>;

    /// Returns the facts that decide what `caller` may do with a comment, named by id or as the newest of `caller` on a post;
    /// `None` when there is none.
    async fn find_access(&self, target: CommentTarget, caller: UserId) -> Result<Option<CommentAccess>>;

    /// Returns the comment as `viewer` sees it, without checking whether they may; `None` when there is none.
    async fn find(&self, id: CommentId, viewer: UserId) -> Result<Option<ThreadedComment>>;

    /// Replaces the content and the entities of a comment that is not hidden.
    ///
    /// This, [`set_hidden`](Self::set_hidden), [`delete`](Self::delete), [`set_like`](Self::set_like) and
    /// [`unset_like`](Self::unset_like) MUST fail with [`Error::NotFound`](crate::Error::NotFound) when there is no such comment.
    async fn update(&self, id: CommentId, content: &CommentText, entities: &Entities, at: Timestamp) -> Result<()>;

    /// Hides a comment, or shows it again, and records `entry`; has no effect if the comment is in that state already. The
    /// comment counts of the post and the reply count of the thread leave out hidden comments and the threads below them.
    async fn set_hidden(&self, id: CommentId, hidden: bool, entry: &AuditEntry) -> Result<()>;

    /// Deletes a comment with its thread and all likes, or only a batch of these, small enough not to hold up other requests: the
    /// caller then calls this again. After each call, all counts agree with what is left.
    async fn delete(&self, id: CommentId) -> Result<Deletion>;

    /// Turns the like of `user` on; has no effect if it is on already.
    async fn set_like(&self, id: CommentId, user: UserId, like: NewRelation) -> Result<()>;

    /// Turns the like of `user` off; returns whether it was on.
    async fn unset_like(&self, id: CommentId, user: UserId) -> Result<bool>;

    /// Returns the users who like a comment, newest like first.
    async fn list_likers(&self, id: CommentId, viewer: Viewer, page: PageRequest) -> Result<Page<UserPreview>>;

    /// Returns all comments of a post, whatever their thread, oldest first.
    async fn list(&self, post: PostId, viewer: Viewer, page: PageRequest) -> Result<Page<CommentView>>;

    /// Returns the comments at the top level of a post, which are not replies.
    async fn list_top_level(
        &self,
        post: PostId,
        viewer: Viewer,
        order: CommentOrder,
        page: PageRequest,
    ) -> Result<Page<ThreadedComment>>;

    /// Returns the replies in a thread, named by the comment at its top, oldest first.
    async fn list_replies(&self, thread: CommentId, viewer: Viewer, page: PageRequest)
    -> Result<Page<ThreadedComment>>;
}
