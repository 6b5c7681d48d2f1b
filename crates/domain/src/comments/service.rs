//! The use cases of comments.

use std::sync::Arc;

use futures_util::future::join;

use super::{Comment, CommentRepository, CommentTarget, CommentText, CommentView};
use crate::accounts::Member;
use crate::clock::Clock;
use crate::error::{Error, Resource, Result};
use crate::id::{CommentId, IdGenerator, PostId};
use crate::idempotency::{Attempt, Outcome};
use crate::page::{Page, PageRequest};
use crate::posts::{PostRepository, PostView};

const NO_COMMENT: Error = Error::NotFound(Resource::Comment);
const NO_POST: Error = Error::NotFound(Resource::Post);

/// A page of a post's comments, with the post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostComments {
    /// The post commented on.
    pub post: PostView,
    /// The comments.
    pub comments: Page<CommentView>,
}

/// Writes, shows and changes comments.
pub struct Comments {
    /// Where comments are kept.
    pub comments: Arc<dyn CommentRepository>,
    /// Where posts are kept.
    pub posts: Arc<dyn PostRepository>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Makes comment ids.
    pub ids: Arc<dyn IdGenerator>,
}

impl Comments {
    /// Comments on a post, which needs the right to view it.
    ///
    /// # Errors
    /// [`Error::NotFound`], or [`Error::Forbidden`] when the caller may not see the post.
    pub async fn create(&self, author: &Member, post: PostId, content: CommentText, attempt: Attempt) -> Result<()> {
        if attempt.outcome() == Some(Outcome::CommentCreated) {
            return Ok(());
        }
        let access = self.posts.find_access(post, author.id()).await?.ok_or(NO_POST)?;
        access.ensure_may_view(author)?;
        let now = self.clock.now();
        let id = CommentId::new(self.ids.generate());
        let comment = Comment { id, post, author: author.id(), content, created_at: now, updated_at: now };
        self.comments.create(&comment, attempt.id()).await
    }

    /// Returns the comments of a post the viewer may see, oldest first.
    ///
    /// # Errors
    /// [`Error::NotFound`], or [`Error::Forbidden`] when the viewer may not see the post.
    pub async fn list(&self, viewer: &Member, post: PostId, page: PageRequest) -> Result<PostComments> {
        // Asked for together, which is sooner; nothing of the comments leaves here without the right to view the post.
        let (found, comments) = join(self.posts.find(post, viewer.id()), self.comments.list(post, page)).await;
        let found = found?.ok_or(NO_POST)?;
        found.access().ensure_may_view(viewer)?;
        Ok(PostComments { post: found.view, comments: comments? })
    }

    /// Edits a comment. Its author may, even after losing sight of the post.
    ///
    /// # Errors
    /// [`Error::NotFound`], or [`Error::Forbidden`] when the caller is not the author.
    pub async fn update(&self, caller: &Member, target: CommentTarget, content: &CommentText) -> Result<()> {
        let access = self.comments.find_access(target, caller.id()).await?.ok_or(NO_COMMENT)?;
        access.ensure_may_edit(caller)?;
        self.comments.update(access.id, content, self.clock.now()).await
    }

    /// Deletes a comment. Its author may, even after losing sight of the post, and so may the author of the post.
    ///
    /// # Errors
    /// [`Error::NotFound`], or [`Error::Forbidden`] for anybody else.
    pub async fn delete(&self, caller: &Member, id: CommentId) -> Result<()> {
        let target = CommentTarget::Comment(id);
        let access = self.comments.find_access(target, caller.id()).await?.ok_or(NO_COMMENT)?;
        access.ensure_may_delete(caller)?;
        self.comments.delete(id).await
    }
}
