//! Housekeeping in the background.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::time::Duration;

use agora_database::{Database, Task};
use agora_domain::Error;
use agora_domain::accounts::{Session, SessionRepository};
use agora_domain::clock::Clock;
use agora_domain::idempotency::Idempotency;
use agora_domain::media::MediaSweep;
use agora_domain::posts::PostRepository;
use tokio::time::MissedTickBehavior;

/// Collects images that no row names, sessions that no token can name any more, requests that are too old to be
/// repeated and what is left of deleted posts, at start and then at an interval; of several nodes on one database, one
/// at a time.
pub(crate) struct Sweep {
    pub(crate) database: Database,
    pub(crate) media: MediaSweep,
    pub(crate) sessions: Arc<dyn SessionRepository>,
    pub(crate) idempotency: Idempotency,
    pub(crate) posts: Arc<dyn PostRepository>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) interval: Duration,
    pub(crate) record: Arc<SweepRecord>,
}

/// What sweeps have done since the start.
#[derive(Debug, Default)]
pub(crate) struct SweepRecord {
    last_success_millis: AtomicI64,
    failures: AtomicU64,
    images: AtomicU64,
    sessions: AtomicU64,
    requests: AtomicU64,
    post_rows: AtomicU64,
}

impl SweepRecord {
    /// When one last ended without a failure, in seconds since 1970; 0 when none has.
    pub(crate) fn last_success_seconds(&self) -> i64 {
        self.last_success_millis.load(Relaxed).div_euclid(1000)
    }

    /// Returns how many could not begin, or failed in part.
    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Relaxed)
    }

    /// Returns how much was deleted, by what it was.
    pub(crate) fn deleted(&self) -> [(&'static str, u64); 4] {
        [
            ("images", &self.images),
            ("sessions", &self.sessions),
            ("requests", &self.requests),
            ("post_rows", &self.post_rows),
        ]
        .map(|(kind, count)| (kind, count.load(Relaxed)))
    }
}

impl Sweep {
    /// An image younger than an hour may belong to an upload in flight, which takes half a minute at most.
    pub(crate) const MIN_AGE_MILLIS: i64 = 60 * 60 * 1000;

    /// How long a session is kept: a token issued at its last renewal is valid for 30 days at most.
    const SESSION_MILLIS: i64 = 2 * Session::RENEWABLE_MILLIS;

    /// Runs until it is dropped. A failure is logged, and tried again the next time.
    pub(crate) async fn run(self) {
        let mut interval = tokio::time::interval(self.interval);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            interval.tick().await;
            match self.database.try_lock(Task::Sweep).await {
                Ok(Some(_lock)) => {
                    if self.sweep().await {
                        self.record.last_success_millis.store(self.clock.now().unix_millis(), Relaxed);
                    } else {
                        self.record.failures.fetch_add(1, Relaxed);
                    }
                }
                Ok(None) => tracing::info!("another node sweeps"),
                Err(error) => {
                    self.record.failures.fetch_add(1, Relaxed);
                    warn("the sweep could not begin", &error);
                }
            }
        }
    }

    /// Returns whether nothing failed.
    async fn sweep(&self) -> bool {
        let images = self.media.run().await;
        let opened_before = self.clock.now().plus_millis(-Self::SESSION_MILLIS);
        let sessions = self.sessions.delete_opened_before(opened_before).await;
        let requests = self.idempotency.sweep().await;
        let post_rows = self.erase_posts().await;
        let is_whole = images.is_ok() && sessions.is_ok() && requests.is_ok() && post_rows.is_ok();
        for (outcome, count) in [
            (&images, &self.record.images),
            (&sessions, &self.record.sessions),
            (&requests, &self.record.requests),
            (&post_rows, &self.record.post_rows),
        ] {
            count.fetch_add(outcome.as_ref().map_or(0, |count| u64::try_from(*count).unwrap_or(u64::MAX)), Relaxed);
        }
        match images {
            Ok(0) => {}
            Ok(images) => tracing::info!(images, "deleted images that no row names"),
            Err(error) => warn("sweep of images failed", &error),
        }
        match sessions {
            Ok(0) => {}
            Ok(sessions) => tracing::info!(sessions, "deleted expired sessions"),
            Err(error) => warn("sweep of sessions failed", &error),
        }
        match requests {
            Ok(0) => {}
            Ok(requests) => tracing::info!(requests, "forgot requests that can no longer be repeated"),
            Err(error) => warn("sweep of requests failed", &error),
        }
        match post_rows {
            Ok(0) => {}
            Ok(rows) => tracing::info!(rows, "erased what was left of deleted posts"),
            Err(error) => warn("sweep of deleted posts failed", &error),
        }
        is_whole
    }

    /// Erases what is left of deleted posts, some at a time; how many rows.
    async fn erase_posts(&self) -> agora_domain::Result<usize> {
        let mut erased = 0;
        loop {
            match self.posts.erase_deleted().await? {
                0 => return Ok(erased),
                rows => erased += rows,
            }
        }
    }
}

fn warn(what: &str, error: &Error) {
    tracing::warn!(%error, cause = ?std::error::Error::source(error), "{what}");
}
