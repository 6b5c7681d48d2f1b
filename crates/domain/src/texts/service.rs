//! The backfill of entities.

use std::sync::Arc;

use uuid::Uuid;

use super::{ResolvedText, TextBacklog, TextKind, UnresolvedText};
use crate::accounts::AccountRepository;
use crate::entities::entities_of_text;
use crate::error::Result;

/// Extracts the entities of texts for which that was not done when they were written, in batches.
pub struct TextBackfill {
    backlog: Arc<dyn TextBacklog>,
    accounts: Arc<dyn AccountRepository>,
}

/// A position in the order in which texts are processed: first those of posts, then those of comments, each newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextPosition {
    /// The kind of the text.
    pub kind: TextKind,
    /// The id of the post or comment.
    pub id: Uuid,
}

/// A batch of texts that was processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// The number of texts.
    pub count: usize,
    /// The position of the last one, after which the next batch begins.
    pub last: TextPosition,
}

impl TextBackfill {
    /// The most texts in a batch.
    pub const BATCH: usize = 200;

    /// The most hashtags in a batch, unless a single text has more.
    const MAX_HASHTAGS: usize = 10_000;

    /// Creates the use case over these ports.
    pub fn new(backlog: Arc<dyn TextBacklog>, accounts: Arc<dyn AccountRepository>) -> Self {
        Self { backlog, accounts }
    }

    /// Returns the number of texts to process.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn count(&self) -> Result<u64> {
        self.backlog.count().await
    }

    /// Extracts the entities of the next batch of texts after `after`, or of the first batch; returns `None` when no texts are
    /// left.
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
            if tags > Self::MAX_HASHTAGS && !resolved.is_empty() {
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
