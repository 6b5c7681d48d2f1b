//! Background indexing: the search index, and the backfill of entities of old texts and of previews of old images.

use std::time::{Duration, Instant};

use agora_domain::Result;
use agora_domain::media::{PreviewBackfill, ProcessedImage};
use agora_domain::search::Indexing;
use agora_domain::texts::TextBackfill;
use tokio::time::sleep;

use crate::sweep::warn;

/// Adds new rows to the search index, compacts it, and deletes rows that are gone from it; extracts the entities of texts that
/// have none yet, and makes previews of images that have none yet.
///
/// Several nodes on one database may do so at the same time.
pub struct Indexer {
    /// Keeps the search index.
    pub indexing: Indexing,
    /// Extracts entities.
    pub texts: TextBackfill,
    /// Makes previews.
    pub previews: PreviewBackfill,
}

/// The time between two polls for work.
const INTERVAL: Duration = Duration::from_secs(1);

/// The time until a retry after a failure.
const RETRY: Duration = Duration::from_secs(10);

/// The time until a retry of the images whose preview failed: missing from the store, or too large for the current limits.
const IMAGE_RETRY: Duration = Duration::from_secs(600);

/// The shortest pause between two batches, which leaves the database to requests.
const PAUSE: Duration = Duration::from_millis(5);

/// The progress of work in batches, which is logged at an interval.
struct Progress {
    rows: usize,
    logged: Instant,
}

impl Progress {
    const LOG_INTERVAL: Duration = Duration::from_secs(10);

    fn begin() -> Self {
        Self { rows: 0, logged: Instant::now() }
    }

    /// Counts `rows` more, and returns whether a log line is due: at the interval, and at the end of the work.
    fn is_due(&mut self, rows: usize, is_done: bool) -> bool {
        self.rows += rows;
        let is_due = self.rows > 0 && (is_done || self.logged.elapsed() >= Self::LOG_INTERVAL);
        if is_due {
            self.logged = Instant::now();
        }
        is_due
    }
}

impl Indexer {
    /// Runs until it is dropped. A failure is logged and retried later.
    pub async fn run(&self) {
        tokio::join!(self.work_on_texts(), self.work_on_deletions(), self.work_on_images());
    }

    async fn work_on_texts(&self) {
        loop {
            let mut pause = INTERVAL;
            if let Err(error) = self.index().await {
                warn("could not update the search index", &error);
                pause = RETRY;
            }
            if let Err(error) = self.extract().await {
                warn("could not extract the entities of texts", &error);
                pause = RETRY;
            }
            sleep(pause).await;
        }
    }

    /// Deletes rows from the index that are gone. It does not wait for `work_on_texts`, which may be busy for hours. Nobody waits
    /// for it, so it works for only a tenth of the time.
    async fn work_on_deletions(&self) {
        loop {
            let begun = Instant::now();
            let pause = match self.indexing.forget().await {
                Ok(true) => 9 * begun.elapsed(),
                Ok(false) => INTERVAL,
                Err(error) => {
                    warn("could not delete removed rows from the search index", &error);
                    RETRY
                }
            };
            sleep(pause.max(PAUSE)).await;
        }
    }

    /// Makes previews, separately from `work_on_texts`, for which new posts wait: an image takes as long as hundreds of texts.
    async fn work_on_images(&self) {
        loop {
            let pause = match self.preview().await {
                Ok(true) => INTERVAL,
                Ok(false) => IMAGE_RETRY,
                Err(error) => {
                    warn("could not make previews of images", &error);
                    RETRY
                }
            };
            sleep(pause).await;
        }
    }

    /// Indexes until no row is left. After each batch it pauses for as long as the batch took, as `extract` and `preview` do.
    async fn index(&self) -> Result<()> {
        let mut progress = Progress::begin();
        loop {
            let begun = Instant::now();
            let (indexed, is_more) = self.indexing.run().await?;
            if progress.is_due(indexed, !is_more) {
                let left = self.indexing.count_unindexed().await?;
                tracing::info!(rows = progress.rows, left, "indexed rows for search");
            }
            if !is_more {
                return Ok(());
            }
            sleep(begun.elapsed().max(PAUSE)).await;
        }
    }

    /// Extracts entities until no text is left: of posts first, the newest first.
    async fn extract(&self) -> Result<()> {
        let (mut progress, mut after) = (Progress::begin(), None);
        loop {
            let begun = Instant::now();
            let batch = self.texts.run(after).await?;
            if progress.is_due(batch.map_or(0, |batch| batch.count), batch.is_none()) {
                let left = self.texts.count().await?;
                tracing::info!(texts = progress.rows, left, "extracted the entities of texts");
            }
            let Some(batch) = batch else { return Ok(()) };
            after = Some(batch.last);
            sleep(begun.elapsed().max(PAUSE)).await;
        }
    }

    /// Makes previews of all images that have none, one by one; returns `false` if one failed and was skipped.
    async fn preview(&self) -> Result<bool> {
        let (mut progress, mut last, mut has_all) = (Progress::begin(), None, true);
        loop {
            let begun = Instant::now();
            let looked = self.previews.run(last).await?;
            let made = looked.as_ref().is_some_and(|looked| looked.outcome.is_ok());
            if progress.is_due(usize::from(made), looked.is_none()) {
                tracing::info!(images = progress.rows, "made previews of images");
            }
            let Some(ProcessedImage { by, outcome }) = looked else { return Ok(has_all) };
            if let Err(error) = outcome {
                has_all = false;
                tracing::warn!(%by, cause = error.cause(), "could not make the preview of an image");
            }
            last = Some(by);
            sleep(begun.elapsed().max(PAUSE)).await;
        }
    }
}
