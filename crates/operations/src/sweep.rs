//! The periodic deletion of expired data.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::time::Duration;

use agora_database::{Database, ExclusiveJob};
use agora_domain::accounts::{Session, SessionRepository};
use agora_domain::clock::Clock;
use agora_domain::deletion::Erasure;
use agora_domain::idempotency::Idempotency;
use agora_domain::mail::OutboxAdmin;
use agora_domain::media::MediaSweep;
use agora_domain::notifications::NotificationSweep;
use agora_domain::posts::PostRepository;
use agora_domain::{Error, Result};
use tokio::time::MissedTickBehavior;

/// Deletes expired data, at start and then at an interval: images that no row references, sessions that no valid token can
/// belong to, idempotency records, rows of deleted posts, notifications, mails, and names of deleted accounts.
///
/// Of several nodes on one database, only one sweeps at a time.
pub struct Sweep {
    /// The database, whose lock allows one node to sweep at a time.
    pub database: Arc<Database>,
    /// Deletes images that no row references.
    pub media: MediaSweep,
    /// The sessions.
    pub sessions: Arc<dyn SessionRepository>,
    /// The records of requests with an `Idempotency-Key`.
    pub idempotency: Idempotency,
    /// The posts.
    pub posts: Arc<dyn PostRepository>,
    /// Deletes old notifications.
    pub notifications: NotificationSweep,
    /// The outbox.
    pub mail: OutboxAdmin,
    /// The names of deleted accounts.
    pub erasure: Erasure,
    /// The clock that the age of sessions is measured by.
    pub clock: Arc<dyn Clock>,
    /// The time between two sweeps.
    pub interval: Duration,
    /// The counters that the sweeps add to.
    pub record: Arc<SweepRecord>,
}

/// For each kind of data: its name in metrics, the log line after a deletion, and the log line after a failure.
const KINDS: [(&str, &str, &str); 7] = [
    ("images", "deleted unreferenced images", "sweep of images failed"),
    ("sessions", "deleted expired sessions", "sweep of sessions failed"),
    ("requests", "deleted expired idempotency records", "sweep of requests failed"),
    ("post_rows", "deleted remaining rows of deleted posts", "sweep of deleted posts failed"),
    ("notification_rows", "deleted old notifications", "sweep of notifications failed"),
    ("mail_rows", "deleted old mails and expired tokens", "sweep of mails failed"),
    ("kept_names", "released names of deleted accounts", "sweep of names failed"),
];

/// Counters of the sweeps since the start of the process.
#[derive(Debug, Default)]
pub struct SweepRecord {
    last_success_millis: AtomicI64,
    failures: AtomicU64,
    deleted: [AtomicU64; KINDS.len()],
}

impl SweepRecord {
    /// Returns when a sweep last completed without a failure, in seconds since 1970; 0 if none has.
    pub fn last_success_seconds(&self) -> i64 {
        self.last_success_millis.load(Relaxed).div_euclid(1000)
    }

    /// Returns how many sweeps could not begin or failed in part.
    pub fn failures(&self) -> u64 {
        self.failures.load(Relaxed)
    }

    /// Returns how much was deleted of each kind, with the kind's name in metrics.
    pub fn deleted(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        KINDS.into_iter().zip(&self.deleted).map(|((name, ..), count)| (name, count.load(Relaxed)))
    }
}

impl Sweep {
    /// The age from which an unreferenced image is deleted. A younger one may belong to an upload in flight, which takes half a
    /// minute at most.
    pub const MIN_AGE_MILLIS: i64 = 60 * 60 * 1000;

    /// How long a session is kept after it was opened: a token issued at its last renewal is valid for 30 days at most.
    const SESSION_MILLIS: i64 = 2 * Session::RENEWABLE_MILLIS;

    /// Runs until it is dropped. A failure is logged and retried at the next interval.
    pub async fn run(&self) {
        let mut interval = tokio::time::interval(self.interval);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            interval.tick().await;
            let is_done = match self.database.lock(ExclusiveJob::Sweep).await {
                Ok(Some(_lock)) => self.sweep().await,
                Ok(None) => {
                    tracing::info!("skipped the sweep: another node is running it");
                    continue;
                }
                Err(error) => {
                    warn("could not start the sweep", &error);
                    false
                }
            };
            if is_done {
                self.record.last_success_millis.store(self.clock.now().unix_millis(), Relaxed);
            } else {
                self.record.failures.fetch_add(1, Relaxed);
            }
        }
    }

    /// Deletes everything that has expired. Returns `true` if nothing failed.
    async fn sweep(&self) -> bool {
        let opened_before = self.clock.now().plus_millis(-Self::SESSION_MILLIS);
        let outcomes = [
            self.media.run().await,
            self.sessions.delete_opened_before(opened_before).await,
            self.idempotency.sweep().await,
            self.erase_posts().await,
            self.notifications.run().await,
            self.mail.sweep().await,
            self.erasure.sweep().await,
        ];
        let is_whole = outcomes.iter().all(Result::is_ok);
        for ((outcome, count), (_, done, failed)) in outcomes.into_iter().zip(&self.record.deleted).zip(KINDS) {
            match outcome {
                Ok(0) => {}
                Ok(deleted) => {
                    count.fetch_add(u64::try_from(deleted).unwrap_or(u64::MAX), Relaxed);
                    tracing::info!(deleted, "{done}");
                }
                Err(error) => warn(failed, &error),
            }
        }
        is_whole
    }

    /// Erases the rows of deleted posts in batches; returns how many rows.
    async fn erase_posts(&self) -> Result<usize> {
        let mut erased = 0;
        loop {
            match self.posts.erase_deleted().await? {
                0 => return Ok(erased),
                rows => erased += rows,
            }
        }
    }
}

pub(crate) fn warn(what: &str, error: &Error) {
    tracing::warn!(cause = error.cause(), "{what}");
}
