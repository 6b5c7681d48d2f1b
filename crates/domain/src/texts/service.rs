//! Extracts the entities of texts for which that was not done when they were written.

use std::sync::Arc;

use uuid::Uuid;

use super::{ResolvedText, TextBacklog, TextKind, UnresolvedText};
use crate::accounts::AccountRepository;
use crate::entities::entities_of_text;
use crate::error::Result;

/// Extracts the entities of texts for which that was not done when they were written, some at a time.
pub struct TextBackfill {
    backlog: Arc<dyn TextBacklog>,
    accounts: Arc<dyn AccountRepository>,
}

/// A text in the order in which they are looked at: those of posts, the newest first, then those of comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextPosition {
    /// What it is of.
    pub kind: TextKind,
    /// Names the post or the comment.
    pub id: Uuid,
}

/// Some texts that were looked at together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// How many.
    pub count: usize,
    /// The last one: the next batch is behind it.
    pub last: TextPosition,
}

impl TextBackfill {
    /// How many texts are looked at together.
    pub const BATCH: usize = 200;

    /// How many hashtags they have together at most, unless one has more.
    const MAX_TAGS: usize = 10_000;

    /// The use case over these ports.
    pub fn new(backlog: Arc<dyn TextBacklog>, accounts: Arc<dyn AccountRepository>) -> Self {
        Self { backlog, accounts }
    }

    /// Returns how many texts there are to look at.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn count(&self) -> Result<u64> {
        self.backlog.count().await
    }

    /// Extracts the entities of the first texts, or of the first behind one; `None` when there are none.
    ///
    /// # Errors
    /// Those of the repositories.
    pub async fn run(&self, after: Option<TextPosition>) -> Result<Option<Batch>> {
        let is_done = |kind: TextKind| after.is_some_and(|after| after.kind != kind);
        for kind in TextKind::ALL.into_iter().skip_while(|kind| is_done(*kind)) {
            let before = after.filter(|after| after.kind == kind).map(|after| after.id);
            let batch = self.run_kind(kind, before).await?;
            if batch.is_some() {
                return Ok(batch);
            }
        }
        Ok(None)
    }

    async fn run_kind(&self, kind: TextKind, before: Option<Uuid>) -> Result<Option<Batch>> {
        let found = self.backlog.list(kind, before, Self::BATCH).await?;
        let (mut resolved, mut tags) = (Vec::new(), 0);
        for UnresolvedText { id, author, text } in found {
            let entities = entities_of_text(&*self.accounts, &text, author).await?;
            tags += entities.hashtags().len();
            if tags > Self::MAX_TAGS && !resolved.is_empty() {
                break;
            }
            resolved.push(ResolvedText { id, text, entities });
        }
        let Some(last) = resolved.last().map(|text| TextPosition { kind, id: text.id }) else { return Ok(None) };
        let count = resolved.len();
        self.backlog.store(kind, resolved).await?;
        Ok(Some(Batch { count, last }))
    }
}
