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

/// A page of all of a post's comments, with the post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostComments {
    /// The post commented on.
    pub post: PostView,
    /// The comments.
    pub comments: Page<CommentView>,
}

/// Writes, shows, changes and likes comments.
pub struct Comments {
    /// Where comments are kept.
    pub comments: Arc<dyn CommentRepository>,
    /// Where posts are kept.
    pub posts: Arc<dyn PostRepository>,
    /// The accounts that texts may mention.
    pub accounts: Arc<dyn AccountRepository>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Makes the identifiers of comments and likes.
    pub ids: Arc<dyn IdGenerator>,
}

/// A comment that an administrator is about to hide or to show again: proof that it exists and that the caller may.
#[derive(Debug, Clone, Copy)]
pub struct ManagedComment {
    id: CommentId,
    actor: Actor,
}

/// A comment that somebody is about to make: proof that they may, or what came of it under the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commenting(Step);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The comment was made before.
    Done(CommentId),
    /// It may be made on the post.
    On(PostAccess, Attempt),
}

impl Comments {
    /// Checks that the author may comment on a post, which takes the right to view it, before anything of the comment is
    /// looked at.
    ///
    /// # Errors
    /// [`Error::NotFound`], or [`Error::Forbidden`] when the author may not view the post.
    pub async fn begin(&self, author: &Member, post: PostId, attempt: Attempt) -> Result<Commenting> {
        if let Some(Outcome::CommentCreated(id)) = attempt.outcome() {
            return Ok(Commenting(Step::Done(id)));
        }
        let access = self.posts.find_access(post, author.id()).await?.ok_or(NO_POST)?;
        access.ensure_may_view(author)?;
        Ok(Commenting(Step::On(access, attempt)))
    }

    /// Comments on a post, or answers one of its comments; returns which comment it is.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the post is gone, or has no comment that is to be answered.
    pub async fn create(
        &self,
        author: &Member,
        Commenting(step): Commenting,
        content: CommentText,
        answered: Option<CommentId>,
    ) -> Result<CommentId> {
        let (on, attempt) = match step {
            Step::Done(id) => return Ok(id),
            Step::On(access, attempt) => (access, attempt),
        };
        let answered = match answered {
            Some(to) => Some(self.answered(author, on.id, to).await?),
            None => None,
        };
        let reply = answered.map(|answered| Reply { thread: answered.thread(), to: answered.id });
        let entities = entities_of_text(&*self.accounts, content.as_str(), author.id()).await?;
        let now = self.clock.now();
        let id = CommentId::new(self.ids.generate());
        let act = Act { actor: author.id(), subject: Subject::Comment(on.id, id), at: now };
        let notices = act.tell_of_comment(&*self.ids, answered.map(|answered| answered.author), &entities, on.author);
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

    /// Returns all comments of a post the viewer may see, whatever their thread, oldest first.
    ///
    /// # Errors
    /// [`Error::NotFound`], or [`Error::Forbidden`] when the viewer may not see the post.
    pub async fn list(&self, viewer: &Member, post: PostId, page: PageRequest) -> Result<PostComments> {
        // Asked for together, which is sooner; nothing of the comments leaves here without the right to view the post.
        let (found, comments) =
            join(self.posts.find(post, viewer.viewer()), self.comments.list(post, viewer.viewer(), page)).await;
        let found = found?.ok_or(NO_POST)?;
        found.access().ensure_may_view(viewer)?;
        Ok(PostComments { post: found.view, comments: comments? })
    }

    /// Returns the comments at the top level of a post the viewer may see.
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

    /// Edits a comment. Its author may, even after losing sight of the post.
    ///
    /// # Errors
    /// [`Error::NotFound`], or [`Error::Forbidden`] when the caller is not the author.
    pub async fn update(&self, caller: &Member, target: CommentTarget, content: &CommentText) -> Result<()> {
        let access = self.comments.find_access(target, caller.id()).await?.ok_or(NO_COMMENT)?;
        access.ensure_may_edit(caller)?;
        let entities = entities_of_text(&*self.accounts, content.as_str(), caller.id()).await?;
        self.comments.update(access.id, content, &entities, self.clock.now()).await
    }

    /// Deletes a comment with its thread. Its author may, even after losing sight of the post, and so may the author of the
    /// post.
    ///
    /// # Errors
    /// [`Error::NotFound`], or [`Error::Forbidden`] for anybody else.
    pub async fn delete(&self, caller: &Member, id: CommentId) -> Result<()> {
        self.access(caller, id).await?.ensure_may_delete(caller)?;
        if self.comments.delete(id).await? == Deletion::InPart {
            self.delete_rest(id).await?;
        }
        Ok(())
    }

    /// Deletes all comments of an author on a post of the caller, with their threads: also those of somebody apart from the
    /// caller, who does not see them (`contract`: Safety).
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is no such post, or [`Error::Forbidden`] when it is somebody else's.
    pub async fn delete_by(&self, caller: &Member, post: PostId, author: UserId) -> Result<()> {
        self.posts.find_access(post, caller.id()).await?.ok_or(NO_POST)?.ensure_author(caller)?;
        while let Some(newest) = self.comments.find_access(CommentTarget::NewestOn(post), author).await? {
            self.delete_rest(newest.id).await?;
        }
        Ok(())
    }

    /// Deletes what is left of a comment, which somebody else may delete as well.
    async fn delete_rest(&self, id: CommentId) -> Result<()> {
        loop {
            match self.comments.delete(id).await {
                Ok(Deletion::InPart) => {}
                Ok(Deletion::Done) | Err(Error::NotFound(Resource::Comment)) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Checks that a comment exists, before anything of the decision to hide it is looked at.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none.
    pub async fn managed(&self, admin: &Admin, id: CommentId) -> Result<ManagedComment> {
        self.comments.find_access(CommentTarget::Comment(id), admin.id()).await?.ok_or(NO_COMMENT)?;
        Ok(ManagedComment { id, actor: Actor::Account(admin.id()) })
    }

    /// Hides a comment with the thread at whose top it is, or shows it again; nothing happens when it is hidden, or shown,
    /// already.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the comment was deleted meanwhile.
    pub async fn set_hidden(&self, ManagedComment { id, actor }: ManagedComment, hiding: &Hiding) -> Result<()> {
        let action = if hiding.hidden { Action::CommentHidden } else { Action::CommentShown };
        let entry = AuditEntry::new(&*self.ids, self.clock.now(), actor, action, Target::Comment(id));
        self.comments.set_hidden(id, hiding.hidden, &entry.with_details(hiding.reason.as_str())).await
    }

    /// Turns the caller's like on; nothing happens when it is.
    ///
    /// # Errors
    /// [`Error::NotFound`], or [`Error::Forbidden`] when the caller may not see the post.
    pub async fn like(&self, caller: &Member, id: CommentId) -> Result<()> {
        let access = self.viewable(caller, id).await?;
        let (like, at) = (RelationId::new(self.ids.generate()), self.clock.now());
        let act = Act { actor: caller.id(), subject: Subject::Comment(access.post.id, id), at };
        let notice = act.tell(&*self.ids, access.author, NotificationKind::CommentLike);
        self.comments.set_like(id, caller.id(), NewRelation { id: like, at, notice }).await
    }

    /// Turns the caller's like off; nothing happens when it is.
    ///
    /// # Errors
    /// Those of [`like`](Self::like).
    pub async fn unlike(&self, caller: &Member, id: CommentId) -> Result<()> {
        let access = self.access(caller, id).await?;
        access.ensure_shown(caller)?;
        if access.ensure_not_apart(caller).is_err() {
            // Own likes can be taken back, whoever blocks whom. Where there is none, there is no comment.
            return if self.comments.unset_like(id, caller.id()).await? { Ok(()) } else { Err(NO_COMMENT) };
        }
        access.ensure_may_view(caller)?;
        self.comments.unset_like(id, caller.id()).await.map(drop)
    }

    /// Returns those who like a comment, newest like first.
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

    /// Returns what decides about a comment on a post that the viewer may see.
    async fn viewable(&self, viewer: &Member, id: CommentId) -> Result<CommentAccess> {
        let access = self.access(viewer, id).await?;
        access.ensure_may_view(viewer)?;
        Ok(access)
    }

    /// Returns the comment of the post that is answered.
    async fn answered(&self, author: &Member, post: PostId, to: CommentId) -> Result<CommentAccess> {
        let answered = self.access(author, to).await?;
        answered.ensure_may_answer(author)?;
        if answered.post.id == post { Ok(answered) } else { Err(NO_COMMENT) }
    }
}
