//! What the use case of old texts needs of an adapter.

use async_trait::async_trait;
use uuid::Uuid;

use crate::entities::Entities;
use crate::error::Result;
use crate::id::UserId;

/// What a text is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextKind {
    /// A post.
    Post,
    /// A comment.
    Comment,
}

impl TextKind {
    /// Every kind, in the order in which their texts are looked at.
    pub const ALL: [Self; 2] = [Self::Post, Self::Comment];
}

/// A text whose entities are not extracted yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnresolvedText {
    /// Names the post or the comment.
    pub id: Uuid,
    /// Whose it is.
    pub author: UserId,
    /// What it says.
    pub text: String,
}

/// The entities extracted from a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedText {
    /// Names the post or the comment.
    pub id: Uuid,
    /// The text from which they were extracted.
    pub text: String,
    /// What the text names.
    pub entities: Entities,
}

/// The texts whose entities are not extracted yet: those of an earlier release, and those that were written by somebody who
/// did not extract them. Deleted posts are not among them.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait TextBacklog: Send + Sync {
    /// Returns how many there are, of all kinds.
    async fn count(&self) -> Result<u64>;

    /// Returns the first of a kind by descending id, the newest ones, so many at most; of those before an id, if one is
    /// given.
    async fn list(&self, kind: TextKind, before: Option<Uuid>, limit: usize) -> Result<Vec<UnresolvedText>>;

    /// Stores extracted entities. The versions of posts and comments stay. One with another text by now, or whose entities
    /// were extracted meanwhile, MUST stay as it is.
    async fn store(&self, kind: TextKind, texts: Vec<ResolvedText>) -> Result<()>;
}
