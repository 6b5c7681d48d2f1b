//! The port of the backfill of entities.

use async_trait::async_trait;
use uuid::Uuid;

use crate::entities::Entities;
use crate::error::Result;
use crate::id::UserId;

/// The kind of thing that a text belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextKind {
    /// A post.
    Post,
    /// A comment.
    Comment,
}

impl TextKind {
    /// Every kind, in the order in which the backfill processes them.
    pub const ALL: [Self; 2] = [Self::Post, Self::Comment];
}

/// A text whose entities are not extracted yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnresolvedText {
    /// The id of the post or comment.
    pub id: Uuid,
    /// Who wrote it.
    pub author: UserId,
    /// The text itself.
    pub text: String,
}

/// The entities extracted from a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedText {
    /// The id of the post or comment.
    pub id: Uuid,
    /// The text from which the entities were extracted.
    pub text: String,
    /// The entities.
    pub entities: Entities,
}

/// The texts whose entities are not extracted yet: those of an earlier release, and any others that were stored without.
/// Deleted posts are not included.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait TextBacklog: Send + Sync {
    /// Returns the number of such texts of all kinds.
    async fn count(&self) -> Result<u64>;

    /// Returns up to `limit` texts of a kind by descending id, thus the newest first; with `before`, only those with smaller ids.
    async fn list(&self, kind: TextKind, before: Option<Uuid>, limit: usize) -> Result<Vec<UnresolvedText>>;

    /// Stores extracted entities. The versions of posts and comments do not change. A post or comment whose text has changed, or
    /// whose entities were extracted meanwhile, MUST stay as it is.
    async fn store(&self, kind: TextKind, texts: Vec<ResolvedText>) -> Result<()>;
}
