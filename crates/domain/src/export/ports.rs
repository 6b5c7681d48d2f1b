//! The port of exports.

use async_trait::async_trait;
use uuid::Uuid;

use crate::comments::{Comment, Reply};
use crate::error::Result;
use crate::id::UserId;
use crate::page::{Keyset, Page, PageRequest};
use crate::reports::Report;

/// The kinds of relations that are exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelationKind {
    /// The user likes a post.
    Like,
    /// The user likes a comment.
    CommentLike,
    /// The user follows another user.
    Follow,
    /// The user blocks another user.
    Block,
    /// The user mutes another user.
    Mute,
    /// The user has bookmarked a post.
    Bookmark,
}

impl RelationKind {
    /// Every kind, in the order of export.
    pub const ALL: [Self; 6] = [Self::Like, Self::CommentLike, Self::Follow, Self::Block, Self::Mute, Self::Bookmark];
}

/// A user's relation to a post, a comment or another user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportedRelation {
    /// Its position among the relations of its kind: when it was made, and its id.
    pub key: Keyset,
    /// The id of the post, the comment or the other user.
    pub to: Uuid,
}

/// A comment, and its place in a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedComment {
    /// The comment.
    pub comment: Comment,
    /// The thread and the comment that it answers; `None` at the top level.
    pub reply: Option<Reply>,
}

/// Reads everything that a user has stored and not deleted, regardless of who may view it now. Lists run oldest first.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ExportRepository: Send + Sync {
    /// Returns the comments that a user wrote.
    async fn list_comments(&self, author: UserId, page: PageRequest) -> Result<Page<ExportedComment>>;

    /// Returns a user's relations of one kind.
    async fn list_relations(
        &self,
        user: UserId,
        kind: RelationKind,
        page: PageRequest,
    ) -> Result<Page<ExportedRelation>>;

    /// Returns the reports that a user made.
    async fn list_reports(&self, reporter: UserId, page: PageRequest) -> Result<Page<Report>>;
}
