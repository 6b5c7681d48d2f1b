//! Works out what posts name of which that was not done when their text was written.

use std::sync::Arc;

use super::{ResolvedText, TextBacklog};
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
        let Some(last) = found.last().map(|text| text.post) else { return Ok(None) };
        let texts: Vec<&str> = found.iter().map(|text| text.text.as_str()).collect();
        let entities = entities_of(&*self.accounts, &texts).await?;
        let count = found.len();
        let resolved = found.into_iter().zip(entities).map(|(text, entities)| ResolvedText {
            post: text.post,
            text: text.text,
            entities,
        });
        self.backlog.store(resolved.collect()).await?;
        Ok(Some(Batch { count, last }))
    }
}
