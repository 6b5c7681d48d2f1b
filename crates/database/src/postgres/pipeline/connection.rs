//! A connection on which reads are pipelined.

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
    /// The task that drives the connection.
    pub(super) driver: AbortHandle,
    /// Whether the connection was closed because a read took too long.
    pub(super) is_aborted: AtomicBool,
    /// How many reads wait for their answer.
    pub(super) waiting: Arc<AtomicUsize>,
    /// The runtime that drives the connection.
    pub(super) home: runtime::Id,
    pub(super) made: Instant,
    pub(super) last_answer: Mutex<Instant>,
}

impl Pipeline {
    /// Returns whether the connection has ended.
    pub(super) fn is_closed(&self) -> bool {
        self.driver.is_finished()
    }

    /// Closes the connection, whatever waits on it. The server then cancels the statements that nobody waits for.
    pub(super) fn abort(&self) {
        self.is_aborted.store(true, Ordering::Release);
        self.driver.abort();
    }

    /// Returns whether the server answers in time, after everything that was sent before.
    pub(super) async fn is_responsive(&self, ping_timeout: Duration) -> bool {
        let _waiting = WaitingGuard::new(&self.waiting);
        let answers = matches!(timeout(ping_timeout, (&mut &self.conn).batch_execute("")).await, Ok(Ok(())));
        if answers {
            *lock(&self.last_answer) = Instant::now();
        }
        answers
    }
}

/// Counts a waiting read until this is dropped, also if its request is cancelled.
pub(super) struct WaitingGuard(Arc<AtomicUsize>);

impl WaitingGuard {
    pub(super) fn new(waiting: &Arc<AtomicUsize>) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(waiting))
    }
}

impl Drop for WaitingGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
