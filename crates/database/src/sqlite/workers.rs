//! Threads that take jobs from one queue, each with a connection of its own.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::thread;
use std::thread::JoinHandle;

use agora_domain::{Error, Result};
use diesel::SqliteConnection;
use tokio::sync::oneshot;

use super::queue::{PushError, Queue};
use crate::error::{OpenError, Outcome};
use crate::figures::Lane;
use crate::mutex::lock;

/// Threads that work on one kind of jobs.
pub(super) struct Workers<J> {
    /// Closed once the threads are to end.
    jobs: Arc<Queue<J>>,
    /// How many jobs are being worked on.
    busy: Arc<AtomicUsize>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl<J> Workers<J> {
    /// Lets the threads finish what they have, and closes their connections. Later jobs are refused.
    pub(super) fn stop(&self) {
        self.jobs.close();
        let threads = std::mem::take(&mut *lock(&self.threads));
        for thread in threads {
            // A thread that panicked has nothing left to finish.
            let _ = thread.join();
        }
    }
}

impl<J> Drop for Workers<J> {
    fn drop(&mut self) {
        self.stop();
    }
}

impl<J: Send + 'static> Workers<J> {
    /// Starts a thread for each connection, named by `name` and a number, with one queue in which up to `queue` jobs may wait. A
    /// thread ends once the queue is closed and empty.
    pub(super) fn start(
        name: &str,
        connections: Vec<SqliteConnection>,
        queue: usize,
        work: impl Fn(SqliteConnection, &Queue<J>, &AtomicUsize) + Clone + Send + 'static,
    ) -> std::result::Result<Self, OpenError> {
        let jobs = Arc::new(Queue::new(queue, connections.len()));
        // Dropped if a thread cannot be started, which ends those that were.
        let workers = Self { jobs, busy: Arc::default(), threads: Mutex::default() };
        for (n, connection) in connections.into_iter().enumerate() {
            let (work, jobs, busy) = (work.clone(), Arc::clone(&workers.jobs), Arc::clone(&workers.busy));
            let thread = thread::Builder::new().name(format!("{name}-{n}"));
            let run = move || {
                // Also if the thread panics.
                let _leave = LeaveOnDrop(&jobs);
                work(connection, &jobs, &busy);
            };
            let thread = thread.spawn(run).map_err(OpenError::Thread)?;
            lock(&workers.threads).push(thread);
        }
        Ok(workers)
    }

    /// Queues a job, which is made from the sender of its outcome, and waits for the outcome.
    pub(super) async fn run<T>(&self, job: impl FnOnce(oneshot::Sender<Outcome<T>>) -> J) -> Result<T> {
        let closed = || Error::unavailable("the database is closed");
        let (reply, answer) = oneshot::channel();
        let job = job(reply);
        self.jobs.push(job).map_err(|refused| match refused {
            PushError::Full => Error::unavailable("too many requests are waiting for the database"),
            PushError::Closed => closed(),
        })?;
        // The sender was dropped without an answer if its thread has ended.
        Ok(answer.await.map_err(|_| closed())??)
    }

    /// Returns how busy the threads are.
    pub(super) fn lane(&self, name: &'static str) -> Lane {
        let size = lock(&self.threads).len();
        Lane { name, size, open: size, busy: self.busy.load(Relaxed), waiting: self.jobs.len() }
    }
}

/// Leaves a queue when dropped.
struct LeaveOnDrop<'a, J>(&'a Queue<J>);

impl<J> Drop for LeaveOnDrop<'_, J> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

#[cfg(test)]
mod tests {
    use diesel::Connection;

    use super::*;

    #[test]
    fn threads_end_with_what_started_them() {
        let held = Arc::new(());
        let used = Arc::clone(&held);
        let work = move |_: SqliteConnection, jobs: &Queue<()>, _: &AtomicUsize| {
            let _used = &used;
            while jobs.pop().is_some() {}
        };
        let connections = vec![SqliteConnection::establish(":memory:").unwrap()];
        drop(Workers::start("agora-test", connections, 1, work).unwrap());
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
