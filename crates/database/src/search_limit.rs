//! How many searches of a kind there are at a time.

use std::sync::Arc;
use std::time::Duration;

use agora_domain::{Error, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

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
    /// [`Error::Unavailable`], when too many wait, or it waited for so long.
    pub(crate) async fn acquire(&self, wait: Duration) -> Result<OwnedSemaphorePermit> {
        let too_many = || Error::unavailable("too many lists are read from the database");
        let _in_line = self.line.try_acquire().map_err(|_| too_many())?;
        let turn = timeout(wait, Arc::clone(&self.turns).acquire_owned()).await.map_err(|_| too_many())?;
        turn.map_err(Error::internal)
    }
}
