//! A limit on concurrent searches of a kind.

use std::sync::Arc;

use agora_domain::{Error, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A limit on concurrent searches, with a bounded queue in order of arrival.
pub(crate) struct SearchLimit {
    /// The permits of running searches.
    pub(crate) permits: Arc<Semaphore>,
    /// The places in the queue.
    pub(crate) queue: Semaphore,
}

impl SearchLimit {
    /// Creates a limit of `concurrent` running searches and `queued` waiting ones. Any further search is rejected at once.
    pub(crate) fn new(concurrent: usize, queued: usize) -> Self {
        Self { permits: Arc::new(Semaphore::new(concurrent)), queue: Semaphore::new(queued) }
    }

    /// Acquires a permit, waiting for one if necessary. The search itself holds and drops it, since it continues when the request
    /// that waits for it is cancelled.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the queue is full.
    pub(crate) async fn acquire(&self) -> Result<OwnedSemaphorePermit> {
        let _place = self.queue.try_acquire().map_err(|_| too_many())?;
        Arc::clone(&self.permits).acquire_owned().await.map_err(Error::internal)
    }
}

/// Returns the error of a search that finds the queue full.
pub(crate) fn too_many() -> Error {
    Error::unavailable("too many searches and long lists are waiting for the database")
}
