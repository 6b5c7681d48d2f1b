//! Works out what posts name of which that was not done when their text was written.

use std::sync::Arc;

use super::{ResolvedText, TextBacklog, UnresolvedText};
use crate::accounts::AccountRepository;
use crate::entities::entities_of;
use crate::error::Result;
use crate::id::PostId;

/// Works out what posts name of which that was not done when their text was written, some at a time.
pub struct TextBackfill {
    backlog: Arc<dyn TextBacklog>,
    accounts: Arc<dyn AccountRepository>,
}

/// Some posts that were looked at together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// How many.
    pub count: usize,
    /// The last one: the next batch is before it.
    pub last: PostId,
}

impl TextBackfill {
    /// How many posts are looked at together.
    pub const BATCH: usize = 200;

    /// How many hashtags they have together at most, unless one has more.
    const MAX_TAGS: usize = 10_000;

    /// The use case over these ports.
    pub fn new(backlog: Arc<dyn TextBacklog>, accounts: Arc<dyn AccountRepository>) -> Self {
        Self { backlog, accounts }
    }

    /// Returns how many posts there are to look at.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn count(&self) -> Result<u64> {
        self.backlog.count().await
    }

    /// Works out what the newest posts name, or the newest of those before one; `None` when there are none.
    ///
    /// # Errors
    /// Those of the repositories.
    pub async fn run(&self, before: Option<PostId>) -> Result<Option<Batch>> {
        let found = self.backlog.list(before, Self::BATCH).await?;
        let texts: Vec<&str> = found.iter().map(|text| text.text.as_str()).collect();
        let entities = entities_of(&*self.accounts, &texts).await?;
        let (mut resolved, mut tags) = (Vec::new(), 0);
        for (UnresolvedText { post, text }, entities) in found.into_iter().zip(entities) {
            tags += entities.hashtags().len();
            if tags > Self::MAX_TAGS && !resolved.is_empty() {
                break;
            }
            resolved.push(ResolvedText { post, text, entities });
        }
        let Some(last) = resolved.last().map(|text| text.post) else { return Ok(None) };
        let count = resolved.len();
        self.backlog.store(resolved).await?;
        Ok(Some(Batch { count, last }))
    }
}
