//! The sweep of images that no row references.

use std::sync::Arc;

use futures_util::{StreamExt, stream};

use super::{ImageStore, UnreferencedImages};
use crate::clock::{Clock, Timestamp};
use crate::error::Result;

/// Deletes the images that no row references, which crashes and lost acknowledgements leave behind.
pub struct MediaSweep {
    store: Arc<dyn ImageStore>,
    unreferenced: Arc<dyn UnreferencedImages>,
    clock: Arc<dyn Clock>,
    min_age_millis: i64,
}

impl MediaSweep {
    /// The most images that are marked for deletion at once.
    const BATCH_SIZE: usize = 100;

    /// The most concurrent deletions, since each may have to wait for a slow store.
    const MAX_CONCURRENT_DELETIONS: usize = 8;

    /// Creates a sweep that spares every image that has been on record for less than `min_age_millis`. This MUST be longer than
    /// an upload may take, since its image is on record some time before its row is written.
    pub fn new(
        store: Arc<dyn ImageStore>,
        unreferenced: Arc<dyn UnreferencedImages>,
        clock: Arc<dyn Clock>,
        min_age_millis: i64,
    ) -> Self {
        Self { store, unreferenced, clock, min_age_millis }
    }

    /// Deletes every image that has been on record for the minimum age; returns how many.
    ///
    /// # Errors
    /// The first failure of the store or the database. An image that cannot be deleted stays on record for the next sweep, and
    /// the others are still deleted. If no image of a batch can be deleted, the store is taken to be unreachable, and the sweep
    /// stops.
    pub async fn run(&self) -> Result<usize> {
        let now = self.clock.now();
        self.delete(now.plus_millis(-self.min_age_millis), now).await
    }

    /// Deletes every image that is marked for deletion; returns how many. These are images that nobody may see any more, but
    /// whose deletion was interrupted by a cancelled request or a crash.
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    pub async fn delete_marked(&self) -> Result<usize> {
        self.delete(Timestamp::from_unix_millis(0), self.clock.now()).await
    }

    /// Deletes the images that were recorded before `cutoff` or marked before `now`. Those that this call marks count as marked
    /// at `now`, so that none is tried twice.
    async fn delete(&self, cutoff: Timestamp, now: Timestamp) -> Result<usize> {
        let mut deleted = 0;
        let mut failure = None;
        loop {
            let marked = self.unreferenced.mark_for_deletion(cutoff, now, Self::BATCH_SIZE).await?;
            if marked.is_empty() {
                break;
            }
            let deletions = stream::iter(marked).map(async |key| self.store.delete(&key).await.map(|()| key));
            let outcomes: Vec<_> = deletions.buffer_unordered(Self::MAX_CONCURRENT_DELETIONS).collect().await;
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
            self.unreferenced.forget(&gone).await?;
            deleted += gone.len();
        }
        failure.map_or(Ok(deleted), Err)
    }
}
