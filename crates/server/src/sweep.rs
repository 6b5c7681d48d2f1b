//! Housekeeping in the background.

use std::{sync::Arc, time::Duration};

use agora_database::{Database, Task};
use agora_domain::{
    Error,
    accounts::{Session, SessionRepository},
    clock::Clock,
    idempotency::Idempotency,
    media::MediaSweep,
};
use tokio::time::MissedTickBehavior;

/// Collects images that no row names, sessions that no token can name any more and requests that are too old to be
/// repeated, at start and then at an interval; of
/// several nodes on one database, one at a time.
pub(crate) struct Sweep {
    pub(crate) database: Database,
    pub(crate) media: MediaSweep,
    pub(crate) sessions: Arc<dyn SessionRepository>,
    pub(crate) idempotency: Idempotency,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) interval: Duration,
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
                Ok(Some(_lock)) => self.sweep().await,
                Ok(None) => tracing::info!("another node sweeps"),
                Err(error) => warn("the sweep could not begin", &error),
            }
        }
    }

    async fn sweep(&self) {
        match self.media.run().await {
            Ok(0) => {}
            Ok(images) => tracing::info!(images, "deleted images that no row names"),
            Err(error) => warn("sweep of images failed", &error),
        }
        let opened_before = self.clock.now().plus_millis(-Self::SESSION_MILLIS);
        match self.sessions.delete_opened_before(opened_before).await {
            Ok(0) => {}
            Ok(sessions) => tracing::info!(sessions, "deleted expired sessions"),
            Err(error) => warn("sweep of sessions failed", &error),
        }
        match self.idempotency.sweep().await {
            Ok(0) => {}
            Ok(requests) => tracing::info!(requests, "forgot requests that can no longer be repeated"),
            Err(error) => warn("sweep of requests failed", &error),
        }
    }
}

fn warn(what: &str, error: &Error) {
    tracing::warn!(%error, cause = ?std::error::Error::source(error), "{what}");
}
