//! A connection that reads are sent over one behind the other.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use tokio::runtime;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::mutex::lock;

/// A connection, driven by the runtime that made it.
pub(super) struct Pipeline {
    pub(super) conn: AsyncPgConnection,
    pub(super) driver: AbortHandle,
    pub(super) is_given_up: AtomicBool,
    /// How many reads wait for their answer.
    pub(super) waiting: Arc<AtomicUsize>,
    pub(super) home: runtime::Id,
    pub(super) made: Instant,
    pub(super) answered: Mutex<Instant>,
}

impl Pipeline {
    /// Returns whether it has ended.
    pub(super) fn is_closed(&self) -> bool {
        self.driver.is_finished()
    }

    /// Closes the connection, whatever waits on it: the server ends what it does for nobody.
    pub(super) fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Release);
        self.driver.abort();
    }

    /// Returns whether it answers within the time, behind all that was sent before.
    pub(super) async fn is_there(&self, proof: Duration) -> bool {
        let _waiting = Waiting::on(&self.waiting);
        let answers = matches!(timeout(proof, (&mut &self.conn).batch_execute("")).await, Ok(Ok(())));
        if answers {
            *lock(&self.answered) = Instant::now();
        }
        answers
    }
}

/// Counts a read that waits, also when its request goes away.
pub(super) struct Waiting(Arc<AtomicUsize>);

impl Waiting {
    pub(super) fn on(waiting: &Arc<AtomicUsize>) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(waiting))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
