//! How many searches of a kind there are at a time.

use std::sync::Arc;

use agora_domain::{Error, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A limit on how many searches there are at a time, in the order in which they came.
pub(crate) struct SearchLimit {
    pub(crate) turns: Arc<Semaphore>,
    pub(crate) line: Semaphore,
}

impl SearchLimit {
    /// Creates the limit for so many at a time, while so many wait for their turn; one more is turned away at once.
    pub(crate) fn new(at_a_time: usize, in_line: usize) -> Self {
        Self { turns: Arc::new(Semaphore::new(at_a_time)), line: Semaphore::new(in_line) }
    }

    /// Waits for the turn of a search, which lasts until the permit is dropped: by the search itself, which goes on when the
    /// request that waits for it goes away.
    ///
    /// # Errors
    /// [`Error::Unavailable`], when too many wait.
    pub(crate) async fn acquire(&self) -> Result<OwnedSemaphorePermit> {
        let _in_line = self.line.try_acquire().map_err(|_| too_many())?;
        Arc::clone(&self.turns).acquire_owned().await.map_err(Error::internal)
    }
}

/// Says that a search waits for too many others.
pub(crate) fn too_many() -> Error {
    Error::unavailable("too many lists are read from the database")
}
