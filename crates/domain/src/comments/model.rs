//! Comments, and the rules about them.

use crate::accounts::{Member, UserSummary};
use crate::clock::Timestamp;
use crate::error::{Error, Forbidden, Result, Violation};
use crate::id::{CommentId, PostId, UserId};
use crate::text;

/// The content of a comment: 1 to 500 characters (Unicode scalar values) after trimming.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentText(String);

impl CommentText {
    /// The most characters a comment has.
    pub const MAX_CHARS: usize = 500;

    /// Parses what a client sent.
    ///
    /// # Errors
    /// The violation, in words for the client.
    pub fn parse(content: &str) -> Result<Self, Violation> {
        text::required("Content", content, Self::MAX_CHARS).map(Self)
    }

    /// A value read back from where it was stored, which was valid then: rules may have grown stricter since.
    pub fn restore(stored: String) -> Self {
        Self(stored)
    }

    /// Returns the content.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A comment as it is stored.
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
}

/// What decides who may do what with a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommentAccess {
    /// The comment.
    pub id: CommentId,
    /// Who wrote it.
    pub author: UserId,
    /// Who wrote the post it is on.
    pub post_author: UserId,
}

impl CommentAccess {
    /// The rule for editing: the comment's author alone.
    ///
    /// # Errors
    /// [`Error::Forbidden`] for anybody else.
    pub fn ensure_may_edit(&self, caller: &Member) -> Result<()> {
        if caller.id() == self.author { Ok(()) } else { Err(Error::Forbidden(Forbidden::NotCommentAuthor)) }
    }

    /// The rule for deleting: the author of the comment or of the post.
    ///
    /// # Errors
    /// [`Error::Forbidden`] for anybody else.
    pub fn ensure_may_delete(&self, caller: &Member) -> Result<()> {
        if caller.id() == self.author || caller.id() == self.post_author {
            Ok(())
        } else {
            Err(Error::Forbidden(Forbidden::NeitherAuthor))
        }
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

/// A comment as the list of a post's comments shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentView {
    /// The comment.
    pub comment: Comment,
    /// Who wrote it.
    pub author: UserSummary,
}
