//! Housekeeping in the background.

use std::{sync::Arc, time::Duration};

use agora_domain::{
    accounts::{Session, SessionRepository},
    clock::Clock,
    media::MediaSweep,
};

/// Collects images without a row and sessions that no token can name any more, at start and then every hour.
pub(crate) struct Sweep {
    pub(crate) media: MediaSweep,
    pub(crate) sessions: Arc<dyn SessionRepository>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Sweep {
    /// An image younger than an hour may belong to an upload in flight, which takes half a minute at most.
    pub(crate) const MIN_AGE_MILLIS: i64 = 60 * 60 * 1000;

    const INTERVAL: Duration = Duration::from_secs(60 * 60);

    /// How long a session is kept: a token issued at its last renewal is valid for 30 days at most.
    const SESSION_MILLIS: i64 = 2 * Session::RENEWABLE_MILLIS;

    /// Runs until it is dropped. A failure is logged, and tried again the next time.
    pub(crate) async fn run(self) {
        let mut interval = tokio::time::interval(Self::INTERVAL);
        loop {
            interval.tick().await;
            match self.media.run().await {
                Ok(0) => {}
                Ok(images) => tracing::info!(images, "deleted images that no row names"),
                Err(error) => {
                    tracing::warn!(%error, cause = ?std::error::Error::source(&error), "sweep of images failed")
                }
            }
            let opened_before = self.clock.now().plus_millis(-Self::SESSION_MILLIS);
            match self.sessions.delete_opened_before(opened_before).await {
                Ok(0) => {}
                Ok(sessions) => tracing::info!(sessions, "deleted expired sessions"),
                Err(error) => {
                    tracing::warn!(%error, cause = ?std::error::Error::source(&error), "sweep of sessions failed")
                }
            }
        }
    }
}
