//! Comments, and the rules about them.

use crate::accounts::{Member, UserPreview, UserSummary};
use crate::clock::Timestamp;
use crate::entities::Entities;
use crate::error::{Error, Forbidden, Resource, Result};
use crate::id::{CommentId, PostId, UserId};
use crate::named::named;
use crate::notices::Notice;
use crate::posts::{Audience, HIDDEN, PostAccess};
use crate::relation::Standing;
use crate::text::texts;

const NO_COMMENT: Error = Error::NotFound(Resource::Comment);

texts! {
    /// The content of a comment: 1 to 500 characters (Unicode scalar values) after trimming.
    CommentText(500, required "Content");
}

/// What a comment says, on what, by whom and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Names it.
    pub id: CommentId,
    /// The post commented on.
    pub post: PostId,
    /// Who wrote it.
    pub author: UserId,
    /// What it says.
    pub content: CommentText,
    /// When it was written.
    pub created_at: Timestamp,
    /// When it was last changed; at first, when it was written.
    pub updated_at: Timestamp,
    /// Whether an administrator has hidden it.
    pub is_hidden: bool,
}

/// Where a comment stands that answers another one. Threads have one level: whoever answers a reply joins its thread
/// (`contract`: Conversation).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// The comment at the top of the thread.
    pub thread: CommentId,
    /// The comment answered, which may have been deleted since.
    pub to: CommentId,
}

/// A comment about to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewComment {
    /// The comment.
    pub comment: Comment,
    /// Where it stands; `None` at the top level.
    pub reply: Option<Reply>,
    /// What its text names; `None` while that was not extracted.
    pub entities: Option<Entities>,
    /// Who is told of it.
    pub notices: Vec<Notice>,
}

/// What decides who may do what with a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommentAccess {
    /// The comment.
    pub id: CommentId,
    /// Who wrote it.
    pub author: UserId,
    /// The comment at the top of its thread; `None` of that one itself.
    pub parent: Option<CommentId>,
    /// How the viewer stands to its author.
    pub standing: Standing,
    /// Whether an administrator has hidden it.
    pub is_hidden: bool,
    /// Who wrote the comment at the top of its thread, where that is another one and hidden.
    pub hidden_thread: Option<UserId>,
    /// What decides about the post it is on.
    pub post: PostAccess,
}

impl CommentAccess {
    /// Returns what would decide if nobody blocked anybody.
    #[must_use]
    pub fn blocks_aside(self) -> Self {
        Self { standing: self.standing.blocks_aside(), post: self.post.blocks_aside(), ..self }
    }

    /// The rule for every read and like: whoever may view the post may view its comments, but not those of people apart from
    /// them, nor hidden ones.
    ///
    /// # Errors
    /// Those of [`ensure_there`](Self::ensure_there); [`Error::Forbidden`] when the viewer may not see the post.
    pub fn ensure_may_view(&self, viewer: &Member) -> Result<()> {
        self.ensure_there(viewer)?;
        self.post.ensure_may_view(viewer)
    }

    /// The rule for answers: whoever may view a comment on a post may answer it, but nobody a hidden one.
    ///
    /// # Errors
    /// Those of [`ensure_there`](Self::ensure_there).
    pub fn ensure_may_answer(&self, author: &Member) -> Result<()> {
        self.ensure_there(author)?;
        if self.is_hidden || self.hidden_thread.is_some() { Err(NO_COMMENT) } else { Ok(()) }
    }

    /// The rule that to people apart from the author of the comment, or of its post, the comment is not there, and a hidden one,
    /// with its thread, or one on a hidden post, to nobody but its author and ADMIN, before anything else is looked at
    /// (`contract`: Safety).
    ///
    /// # Errors
    /// [`Error::NotFound`] for them.
    pub fn ensure_there(&self, viewer: &Member) -> Result<()> {
        self.ensure_shown(viewer)?;
        self.ensure_not_apart(viewer)
    }

    /// The part of [`ensure_there`](Self::ensure_there) that is about what is hidden.
    ///
    /// # Errors
    /// Those of [`ensure_there`](Self::ensure_there).
    pub fn ensure_shown(&self, viewer: &Member) -> Result<()> {
        let is_shown = self.is_shown_on_post(viewer) && self.post.ensure_shown(viewer).is_ok();
        if is_shown { Ok(()) } else { Err(NO_COMMENT) }
    }

    fn is_shown_on_post(&self, viewer: &Member) -> bool {
        let sees_own = |author| viewer.is_admin() || viewer.id() == author;
        (!self.is_hidden || sees_own(self.author)) && self.hidden_thread.is_none_or(sees_own)
    }

    /// The part of [`ensure_there`](Self::ensure_there) that is about people apart.
    ///
    /// # Errors
    /// Those of [`ensure_there`](Self::ensure_there).
    pub fn ensure_not_apart(&self, viewer: &Member) -> Result<()> {
        let is_apart = Audience::of(viewer, self.author, self.standing) == Audience::Apart;
        if is_apart || self.post.ensure_not_apart(viewer).is_err() {
            return Err(NO_COMMENT);
        }
        Ok(())
    }

    /// The rule for editing: the comment's author alone, whoever blocks whom and whether or not the post is hidden, while the comment and its
    /// thread are not.
    ///
    /// # Errors
    /// [`Error::Forbidden`] when the comment is hidden, [`Error::NotFound`] when its thread is; those of
    /// [`ensure_there`](Self::ensure_there), and [`Error::Forbidden`], for anybody else.
    pub fn ensure_may_edit(&self, caller: &Member) -> Result<()> {
        if caller.id() == self.author {
            return match self.is_shown_on_post(caller) {
                true if self.is_hidden => Err(HIDDEN),
                true => Ok(()),
                false => Err(NO_COMMENT),
            };
        }
        self.ensure_there(caller)?;
        Err(Error::Forbidden(Forbidden::NotCommentAuthor))
    }

    /// The rule for deleting: the author of the comment, whoever blocks whom and whatever is hidden, and the author of the post.
    ///
    /// # Errors
    /// Those of [`ensure_there`](Self::ensure_there), and [`Error::Forbidden`], for anybody else.
    pub fn ensure_may_delete(&self, caller: &Member) -> Result<()> {
        if caller.id() == self.author {
            return Ok(());
        }
        self.ensure_there(caller)?;
        if caller.id() == self.post.author { Ok(()) } else { Err(Error::Forbidden(Forbidden::NeitherAuthor)) }
    }

    /// Returns the comment at the top of the thread that it is in.
    pub fn thread(&self) -> CommentId {
        self.parent.unwrap_or(self.id)
    }
}

/// How a client names the comment to edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentTarget {
    /// By its id.
    Comment(CommentId),
    /// The caller's newest comment on a post.
    NewestOn(PostId),
}

named! {
    /// Which way through time a post's comments are listed.
    #[derive(Default)]
    CommentOrder "Order must be oldest or newest" {
        /// The oldest first.
        #[default]
        Oldest = "oldest",
        /// The newest first.
        Newest = "newest",
    }
}

/// A comment as the flat list of a post's comments shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentView {
    /// The comment.
    pub comment: Comment,
    /// Who wrote it.
    pub author: UserSummary,
}

/// A comment in its thread, as a viewer sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadedComment {
    /// The comment.
    pub comment: Comment,
    /// Where it stands; `None` at the top level.
    pub reply: Option<Reply>,
    /// What its text names; `None` while that was not extracted.
    pub entities: Option<Entities>,
    /// Who wrote it.
    pub author: UserPreview,
    /// How many replies there are in the thread that it is at the top of; none of a reply.
    pub reply_count: u64,
    /// How many like it.
    pub like_count: u64,
    /// Whether the viewer likes it.
    pub liked_by_viewer: bool,
}

/// What became of a comment that was to be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// It is gone, with its thread and all likes.
    Done,
    /// Some of its thread or likes are gone, no more at a time than others can wait for. There is more to delete.
    InPart,
}
