//! What the export of an account needs of an adapter.

use async_trait::async_trait;
use uuid::Uuid;

use crate::comments::{Comment, Reply};
use crate::error::Result;
use crate::id::UserId;
use crate::page::{Keyset, Page, PageRequest};
use crate::reports::Report;

/// What a user has to do with something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelationKind {
    /// The user likes a post.
    Like,
    /// The user likes a comment.
    CommentLike,
    /// The user follows another one.
    Follow,
    /// The user blocks another one.
    Block,
    /// The user mutes another one.
    Mute,
    /// The user has bookmarked a post.
    Bookmark,
}

impl RelationKind {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Like, Self::CommentLike, Self::Follow, Self::Block, Self::Mute, Self::Bookmark];
}

/// A user's relation to something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportedRelation {
    /// Its place among those of its kind: when it was made, and what names it.
    pub key: Keyset,
    /// The post, the comment or the user.
    pub to: Uuid,
}

/// A comment, wherever it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedComment {
    /// The comment.
    pub comment: Comment,
    /// Where it stands; `None` at the top level.
    pub reply: Option<Reply>,
}

/// Reads what a user has stored, whoever may view it now, but for what is deleted. Lists run oldest first.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ExportRepository: Send + Sync {
    /// Returns the comments that a user wrote.
    async fn list_comments(&self, author: UserId, page: PageRequest) -> Result<Page<ExportedComment>>;

    /// Returns a user's relations of a kind.
    async fn list_relations(
        &self,
        user: UserId,
        kind: RelationKind,
        page: PageRequest,
    ) -> Result<Page<ExportedRelation>>;

    /// Returns the reports that a user made.
    async fn list_reports(&self, reporter: UserId, page: PageRequest) -> Result<Page<Report>>;
}
