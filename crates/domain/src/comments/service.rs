//! The use cases of comments.

use std::sync::Arc;

use futures_util::future::join;

use super::{
    Comment, CommentAccess, CommentOrder, CommentRepository, CommentTarget, CommentText, CommentView, Deletion,
    NewComment, Reply, ThreadedComment,
};
use crate::accounts::{AccountRepository, Admin, Member, UserPreview};
use crate::audit::{Action, Actor, AuditEntry, Hiding, Target};
use crate::clock::Clock;
use crate::entities::entities_of_text;
use crate::error::{Error, Resource, Result};
use crate::id::{CommentId, IdGenerator, PostId, RelationId, UserId};
use crate::idempotency::{Attempt, Outcome};
use crate::notices::{Act, NotificationKind, Subject};
use crate::page::{Page, PageRequest};
use crate::posts::{PostAccess, PostRepository, PostView};
use crate::relation::NewRelation;

const NO_COMMENT: Error = Error::NotFound(Resource::Comment);
const NO_POST: Error = Error::NotFound(Resource::Post);

/// A page of the flat list of a post's comments, with the post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostComments {
    /// The post commented on.
    pub post: PostView,
    /// The comments.
    pub comments: Page<CommentView>,
}

/// The use cases of comments and their likes.
pub struct Comments {
    /// Stores comments.
    pub comments: Arc<dyn CommentRepository>,
    /// Stores posts.
    pub posts: Arc<dyn PostRepository>,
    /// Looks up the accounts that texts mention.
    pub accounts: Arc<dyn AccountRepository>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Makes the identifiers of comments and likes.
    pub ids: Arc<dyn IdGenerator>,
}

/// Proof that the caller may hide this comment or show it again: it exists, and the caller is an administrator.
#[derive(Debug, Clone, Copy)]
pub struct ManagedComment {
    id: CommentId,
    actor: Actor,
}

/// Proof that somebody may comment on a post, or the comment that they created before under the same idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commenting(CommentingState);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommentingState {
    /// An earlier attempt created the comment.
    AlreadyCreated(CommentId),
    /// The comment may be created on this post.
    Allowed(PostAccess, Attempt),
}

impl Comments {
    /// Checks that the author may comment on a post, which requires the right to view it. Callers that have
    /// the id of the post from the path do this before they read the body of the request.
    ///
    /// # Errors
    /// [`Error::NotFound`], or [`Error::Forbidden`] when the author may not view the post.
    pub async fn begin(&self, author: &Member, post: PostId, attempt: Attempt) -> Result<Commenting> {
        if let Some(Outcome::CommentCreated(id)) = attempt.outcome() {
            return Ok(Commenting(CommentingState::AlreadyCreated(id)));
        }
        let access = self.posts.find_access(post, author.id()).await?.ok_or(NO_POST)?;
        access.ensure_may_view(author)?;
        Ok(Commenting(CommentingState::Allowed(access, attempt)))
    }

    /// Comments on a post, or replies to its comment `answered`; returns the id of the new comment.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the post is gone, or does not have the comment to reply to.
    pub async fn create(
        &self,
        author: &Member,
        Commenting(state): Commenting,
        content: CommentText,
        answered: Option<CommentId>,
    ) -> Result<CommentId> {
        let (on, attempt) = match state {
            CommentingState::AlreadyCreated(id) => return Ok(id),
            CommentingState::Allowed(access, attempt) => (access, attempt),
        };
        let answered = match answered {
            Some(to) => Some(self.find_answered(author, on.id, to).await?),
            None => None,
        };
        let reply = answered.map(|answered| Reply { thread: answered.thread(), to: answered.id });
        let entities = entities_of_text(&*self.accounts, content.as_str(), author.id()).await?;
        let now = self.clock.now();
        let id = CommentId::new(self.ids.generate());
        let act = Act { actor: author.id(), subject: Subject::Comment(on.id, id), at: now };
        let notices = act.comment_notices(&*self.ids, answered.map(|answered| answered.author), &entities, on.author);
        let (author, is_hidden) = (author.id(), false);
        let comment = Comment { id, post: on.id, author, content, created_at: now, updated_at: now, is_hidden };
        let comment = NewComment { comment, reply, entities: Some(entities), notices };
        self.comments.create(&comment, attempt.id()).await?;
        Ok(id)
    }

    /// Returns a comment, if the viewer may see the post it is on.
    ///
    /// # Errors
    /// [`Error::NotFound`], or [`Error::Forbidden`] when the viewer may not see the post.
    pub async fn get(&self, viewer: &Member, id: CommentId) -> Result<ThreadedComment> {
        self.viewable(viewer, id).await?;
        self.comments.find(id, viewer.id()).await?.ok_or(NO_COMMENT)
    }

    /// Returns all comments on a post that the viewer may see, at every level, oldest first.
    ///
    /// # Errors
    /// [`Error::NotFound`], or [`Error::Forbidden`] when the viewer may not see the post.
    pub async fn list(&self, viewer: &Member, post: PostId, page: PageRequest) -> Result<PostComments> {
        // Both are queried at once to save time; the comments are not returned unless the viewer may view the post.
        let (found, comments) =
            join(self.posts.find(post, viewer.viewer()), self.comments.list(post, viewer.viewer(), page)).await;
        let found = found?.ok_or(NO_POST)?;
        found.access().ensure_may_view(viewer)?;
        Ok(PostComments { post: found.view, comments: comments? })
    }

    /// Returns the top-level comments on a post that the viewer may see.
    ///
    /// # Errors
    /// [`Error::NotFound`], or [`Error::Forbidden`] when the viewer may not see the post.
    pub async fn list_top_level(
        &self,
        viewer: &Member,
        post: PostId,
        order: CommentOrder,
        page: PageRequest,
    ) -> Result<Page<ThreadedComment>> {
        self.ensure_may_view(viewer, post).await?;
        self.comments.list_top_level(post, viewer.viewer(), order, page).await
    }

    /// Returns the replies of the thread that a comment is in, oldest first.
    ///
    /// # Errors
    /// [`Error::NotFound`], or [`Error::Forbidden`] when the viewer may not see the post.
    pub async fn list_replies(
        &self,
        viewer: &Member,
        id: CommentId,
        page: PageRequest,
    ) -> Result<Page<ThreadedComment>> {
        let thread = self.viewable(viewer, id).await?.thread();
        self.comments.list_replies(thread, viewer.viewer(), page).await
    }

    /// Edits a comment. Its author may do so even when they may no longer see the post.
    ///
    /// # Errors
    /// [`Error::NotFound`], or [`Error::Forbidden`] when the caller is not the author.
    pub async fn update(&self, caller: &Member, target: CommentTarget, content: &CommentText) -> Result<()> {
        let access = self.comments.find_access(target, caller.id()).await?.ok_or(NO_COMMENT)?;
        access.ensure_may_edit(caller)?;
        let entities = entities_of_text(&*self.accounts, content.as_str(), caller.id()).await?;
        self.comments.update(access.id, content, &entities, self.clock.now()).await
    }

    /// Deletes a comment with its thread. Its author may do so even when they may no longer see the post, and so may the author
    /// of the post.
    ///
    /// # Errors
    /// [`Error::NotFound`], or [`Error::Forbidden`] for anybody else.
    pub async fn delete(&self, caller: &Member, id: CommentId) -> Result<()> {
        self.access(caller, id).await?.ensure_may_delete(caller)?;
        if self.comments.delete(id).await? == Deletion::InPart {
            self.delete_completely(id).await?;
        }
        Ok(())
    }

    /// Deletes all comments of an author on a post of the caller, with their threads. That includes the comments of an author
    /// whom a block separates from the caller, although the caller does not see these (`contract`: Safety).
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is no such post, or [`Error::Forbidden`] when it is somebody else's.
    pub async fn delete_by(&self, caller: &Member, post: PostId, author: UserId) -> Result<()> {
        self.posts.find_access(post, caller.id()).await?.ok_or(NO_POST)?.ensure_author(caller)?;
        while let Some(newest) = self.comments.find_access(CommentTarget::NewestOn(post), author).await? {
            self.delete_completely(newest.id).await?;
        }
        Ok(())
    }

    /// Deletes a comment batch by batch until nothing is left. Somebody else may finish the deletion meanwhile.
    async fn delete_completely(&self, id: CommentId) -> Result<()> {
        loop {
            match self.comments.delete(id).await {
                Ok(Deletion::InPart) => {}
                Ok(Deletion::Done) | Err(Error::NotFound(Resource::Comment)) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Checks that a comment exists. Callers do this before they read the decision to hide it or to show it again.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none.
    pub async fn managed(&self, admin: &Admin, id: CommentId) -> Result<ManagedComment> {
        self.comments.find_access(CommentTarget::Comment(id), admin.id()).await?.ok_or(NO_COMMENT)?;
        Ok(ManagedComment { id, actor: Actor::Account(admin.id()) })
    }

    /// Hides a comment, with its thread if it is at the top of one, or shows it again; has no effect if the comment is in that
    /// state already.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the comment was deleted meanwhile.
    pub async fn set_hidden(&self, ManagedComment { id, actor }: ManagedComment, hiding: &Hiding) -> Result<()> {
        let action = if hiding.hidden { Action::CommentHidden } else { Action::CommentShown };
        let entry = AuditEntry::new(&*self.ids, self.clock.now(), actor, action, Target::Comment(id));
        self.comments.set_hidden(id, hiding.hidden, &entry.with_details(hiding.reason.as_str())).await
    }

    /// Turns the caller's like on; has no effect if it is on already.
    ///
    /// # Errors
    /// [`Error::NotFound`], or [`Error::Forbidden`] when the caller may not see the post.
    pub async fn like(&self, caller: &Member, id: CommentId) -> Result<()> {
        let access = self.viewable(caller, id).await?;
        let (like, at) = (RelationId::new(self.ids.generate()), self.clock.now());
        let act = Act { actor: caller.id(), subject: Subject::Comment(access.post.id, id), at };
        let notice = act.notice(&*self.ids, access.author, NotificationKind::CommentLike);
        self.comments.set_like(id, caller.id(), NewRelation { id: like, at, notice }).await
    }

    /// Turns the caller's like off; has no effect if it is off already.
    ///
    /// # Errors
    /// Those of [`like`](Self::like).
    pub async fn unlike(&self, caller: &Member, id: CommentId) -> Result<()> {
        let access = self.access(caller, id).await?;
        access.ensure_shown(caller)?;
        if access.ensure_not_blocked(caller).is_err() {
            // Users can take back their likes despite blocks. Without a like, the comment does not exist for them.
            return if self.comments.unset_like(id, caller.id()).await? { Ok(()) } else { Err(NO_COMMENT) };
        }
        access.ensure_may_view(caller)?;
        self.comments.unset_like(id, caller.id()).await.map(drop)
    }

    /// Returns the users who like a comment, newest like first.
    ///
    /// # Errors
    /// Those of [`like`](Self::like).
    pub async fn list_likers(&self, caller: &Member, id: CommentId, page: PageRequest) -> Result<Page<UserPreview>> {
        self.viewable(caller, id).await?;
        self.comments.list_likers(id, caller.viewer(), page).await
    }

    async fn ensure_may_view(&self, viewer: &Member, post: PostId) -> Result<()> {
        self.posts.find_access(post, viewer.id()).await?.ok_or(NO_POST)?.ensure_may_view(viewer)
    }

    async fn access(&self, caller: &Member, id: CommentId) -> Result<CommentAccess> {
        self.comments.find_access(CommentTarget::Comment(id), caller.id()).await?.ok_or(NO_COMMENT)
    }

    /// Returns the access facts of a comment, after checking that the viewer may view it.
    async fn viewable(&self, viewer: &Member, id: CommentId) -> Result<CommentAccess> {
        let access = self.access(viewer, id).await?;
        access.ensure_may_view(viewer)?;
        Ok(access)
    }

    /// Returns the comment on `post` to which `author` replies, after checking that they may.
    async fn find_answered(&self, author: &Member, post: PostId, to: CommentId) -> Result<CommentAccess> {
        let answered = self.access(author, to).await?;
        answered.ensure_may_answer(author)?;
        if answered.post.id == post { Ok(answered) } else { Err(NO_COMMENT) }
    }
}
