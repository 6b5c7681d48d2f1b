//! Comments, and the rules about them.

use crate::accounts::{Member, UserPreview, UserSummary};
use crate::clock::Timestamp;
use crate::entities::Entities;
use crate::error::{Error, Forbidden, Resource, Result};
use crate::id::{CommentId, PostId, UserId};
use crate::notices::Notice;
use crate::posts::{Audience, HIDDEN, PostAccess};
use crate::relation::Standing;
use crate::string_enum::string_enum;
use crate::text::text_types;

const NO_COMMENT: Error = Error::NotFound(Resource::Comment);

text_types! {
    /// The content of a comment: 1 to 500 characters (Unicode scalar values) after trimming.
    CommentText(500, required "Content");
}

/// A comment on a post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// The unique identifier.
    pub id: CommentId,
    /// The post commented on.
    pub post: PostId,
    /// Who wrote it.
    pub author: UserId,
    /// Its text.
    pub content: CommentText,
    /// When it was written.
    pub created_at: Timestamp,
    /// When it was last changed; at first, when it was written.
    pub updated_at: Timestamp,
    /// Whether an administrator has hidden it.
    pub is_hidden: bool,
}

/// The place of a reply. Threads have one level: the answer to a reply joins the thread of that reply (`contract`:
/// Comments).
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
    /// Its place in a thread; `None` at the top level.
    pub reply: Option<Reply>,
    /// The hashtags, mentions and links in its text; `None` until they are extracted.
    pub entities: Option<Entities>,
    /// The notices to store with it, one for each user to notify.
    pub notices: Vec<Notice>,
}

/// The facts that decide what a viewer may do with a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommentAccess {
    /// The comment.
    pub id: CommentId,
    /// Who wrote it.
    pub author: UserId,
    /// The comment at the top of its thread; `None` if this is that comment.
    pub parent: Option<CommentId>,
    /// The viewer's relation to its author.
    pub standing: Standing,
    /// Whether an administrator has hidden it.
    pub is_hidden: bool,
    /// The author of the comment at the top of its thread, if that is another comment and it is hidden.
    pub hidden_thread: Option<UserId>,
    /// The same facts about the post it is on.
    pub post: PostAccess,
}

impl CommentAccess {
    /// Returns the same facts without regard to blocks.
    #[must_use]
    pub fn ignoring_blocks(self) -> Self {
        Self { standing: self.standing.ignoring_blocks(), post: self.post.ignoring_blocks(), ..self }
    }

    /// Ensures that `viewer` may view the comment, which every read and like requires.
    ///
    /// Those who may view the post may view its comments, except hidden ones and those of authors separated from them by a block.
    ///
    /// # Errors
    /// Those of [`ensure_there`](Self::ensure_there); [`Error::Forbidden`] when the viewer may not see the post.
    pub fn ensure_may_view(&self, viewer: &Member) -> Result<()> {
        self.ensure_there(viewer)?;
        self.post.ensure_may_view(viewer)
    }

    /// Ensures that `author` may reply to the comment, given that they may view the post. Nobody may reply to a hidden comment or
    /// in a hidden thread.
    ///
    /// # Errors
    /// Those of [`ensure_there`](Self::ensure_there); [`Error::NotFound`] when the comment or its thread is hidden.
    pub fn ensure_may_answer(&self, author: &Member) -> Result<()> {
        self.ensure_there(author)?;
        if self.is_hidden || self.hidden_thread.is_some() { Err(NO_COMMENT) } else { Ok(()) }
    }

    /// Ensures that the comment exists as far as `viewer` can tell. Callers check this before anything else (`contract`: Safety).
    ///
    /// # Errors
    /// [`Error::NotFound`], unless the viewer is an ADMIN, when a block separates the viewer from the author of the comment or of
    /// its post, or when the comment, the top of its thread or its post is hidden and by somebody else.
    pub fn ensure_there(&self, viewer: &Member) -> Result<()> {
        self.ensure_shown(viewer)?;
        self.ensure_not_blocked(viewer)
    }

    /// The part of [`ensure_there`](Self::ensure_there) that concerns hidden comments, threads and posts.
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

    /// The part of [`ensure_there`](Self::ensure_there) that concerns blocks.
    ///
    /// # Errors
    /// Those of [`ensure_there`](Self::ensure_there).
    pub fn ensure_not_blocked(&self, viewer: &Member) -> Result<()> {
        let is_blocked = Audience::of(viewer, self.author, self.standing) == Audience::Blocked;
        if is_blocked || self.post.ensure_not_blocked(viewer).is_err() {
            return Err(NO_COMMENT);
        }
        Ok(())
    }

    /// Ensures that `caller` may edit the comment: only its author may, and only while the comment and its thread are not hidden.
    /// Blocks and a hidden post do not matter.
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

    /// Ensures that `caller` may delete the comment: its author may, regardless of blocks and of what is hidden, and so may the
    /// author of the post.
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

    /// Returns the comment at the top of its thread, which may be this comment itself.
    pub fn thread(&self) -> CommentId {
        self.parent.unwrap_or(self.id)
    }
}

/// A reference to a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentTarget {
    /// By its id.
    Comment(CommentId),
    /// The caller's newest comment on a post.
    NewestOn(PostId),
}

string_enum! {
    /// The order in which a post's comments are listed.
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

/// A comment as a viewer sees it in its thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadedComment {
    /// The comment.
    pub comment: Comment,
    /// Its place in a thread; `None` at the top level.
    pub reply: Option<Reply>,
    /// The hashtags, mentions and links in its text; `None` until they are extracted.
    pub entities: Option<Entities>,
    /// Who wrote it.
    pub author: UserPreview,
    /// The number of replies in its thread if it is at the top of one; 0 for a reply.
    pub reply_count: u64,
    /// How many like it.
    pub like_count: u64,
    /// Whether the viewer likes it.
    pub liked_by_viewer: bool,
}

/// The outcome of one call of [`CommentRepository::delete`](super::CommentRepository::delete).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// The comment is deleted, with its thread and all likes.
    Done,
    /// A batch of its thread or likes is deleted, small enough not to hold up other requests. There is more to delete.
    InPart,
}
