//! Collects what crashes left behind.

use std::sync::Arc;

use futures_util::{StreamExt, stream};

use super::{ImageStore, UnreferencedImages};
use crate::clock::{Clock, Timestamp};
use crate::error::Result;

/// Collects the images that no row names: what crashes and lost acknowledgements left behind.
pub struct MediaSweep {
    store: Arc<dyn ImageStore>,
    unnamed: Arc<dyn UnreferencedImages>,
    clock: Arc<dyn Clock>,
    min_age_millis: i64,
}

impl MediaSweep {
    /// How many images are marked for deletion at once.
    const BATCH: usize = 100;

    /// How many images are deleted at once: each may have to wait for a store that is slow.
    const AT_ONCE: usize = 8;

    /// A sweep that leaves alone every image on record for less than `min_age_millis`, which MUST be longer than an
    /// upload may stay in flight: its image is on record some time before its row is there.
    pub fn new(
        store: Arc<dyn ImageStore>,
        unnamed: Arc<dyn UnreferencedImages>,
        clock: Arc<dyn Clock>,
        min_age_millis: i64,
    ) -> Self {
        Self { store, unnamed, clock, min_age_millis }
    }

    /// Deletes every image that has been on record for long enough; returns how many.
    ///
    /// # Errors
    /// The first failure of the store or the database. An image that cannot be deleted stays on record for the next
    /// time and does not keep the others; when not one of many can be, the store is away, and the rest is left as well.
    pub async fn run(&self) -> Result<usize> {
        let now = self.clock.now();
        self.delete(now.plus_millis(-self.min_age_millis), now).await
    }

    /// Deletes every image that is marked for deletion: what a request that was cut off, or a crash, left behind of what nobody may
    /// see any more. Returns how many.
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    pub async fn delete_marked(&self) -> Result<usize> {
        self.delete(Timestamp::from_unix_millis(0), self.clock.now()).await
    }

    /// Deletes what is on record since before `cutoff`, or marked before `now`: what is marked now does not come again before this is over.
    async fn delete(&self, cutoff: Timestamp, now: Timestamp) -> Result<usize> {
        let mut deleted = 0;
        let mut failure = None;
        loop {
            let marked = self.unnamed.mark_for_deletion(cutoff, now, Self::BATCH).await?;
            if marked.is_empty() {
                break;
            }
            let deletions = stream::iter(marked).map(async |key| self.store.delete(&key).await.map(|()| key));
            let outcomes: Vec<_> = deletions.buffer_unordered(Self::AT_ONCE).collect().await;
            let mut gone = Vec::with_capacity(outcomes.len());
            for outcome in outcomes {
                match outcome {
                    Ok(key) => gone.push(key),
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
            if gone.is_empty() {
                break;
            }
            self.unnamed.forget(&gone).await?;
            deleted += gone.len();
        }
        failure.map_or(Ok(deleted), Err)
    }
}
