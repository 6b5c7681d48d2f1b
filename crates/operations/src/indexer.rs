//! The search index, kept in the background.

use std::time::{Duration, Instant};

use agora_domain::Result;
use agora_domain::search::Indexing;

use crate::sweep::warn;

/// Puts into the search index what it does not have, and packs what it has. Several nodes on one database may do so at once.
pub struct Indexer {
    /// What is done.
    pub indexing: Indexing,
}

/// The time between two looks at whether there is something to do.
const INTERVAL: Duration = Duration::from_secs(1);

/// The time until it is tried again after a failure.
const RETRY: Duration = Duration::from_secs(10);

/// How often the log tells the progress.
const LOGGED_EVERY: Duration = Duration::from_secs(10);

impl Indexer {
    /// Runs until it is dropped. A failure is logged, and tried again later.
    pub async fn run(self) {
        loop {
            let pause = match self.index_all().await {
                Ok(()) => INTERVAL,
                Err(error) => {
                    warn("could not update the search index", &error);
                    RETRY
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Indexes until there is nothing left, with a line about the progress now and then and at the end. It leaves the database
    /// to others as long as it takes.
    async fn index_all(&self) -> Result<()> {
        let (mut rows, mut logged) = (0, Instant::now());
        loop {
            let begun = Instant::now();
            let (indexed, is_more) = self.indexing.run().await?;
            rows += indexed;
            if rows > 0 && (!is_more || logged.elapsed() >= LOGGED_EVERY) {
                let left = self.indexing.count_unindexed().await?;
                tracing::info!(rows, left, "indexed rows for search");
                logged = Instant::now();
            }
            if !is_more {
                return Ok(());
            }
            tokio::time::sleep(begun.elapsed()).await;
        }
    }
}
