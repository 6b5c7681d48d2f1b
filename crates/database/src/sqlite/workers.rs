//! Threads that take jobs from one queue, each with a connection of its own.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::thread;
use std::thread::JoinHandle;

use agora_domain::{Error, Result};
use diesel::SqliteConnection;
use tokio::sync::oneshot;

use super::queue::{Queue, Refused};
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

impl<J: Send + 'static> Workers<J> {
    /// Starts a thread for each connection, named alike, for which so many jobs may wait. A thread ends when there are no
    /// more jobs and will be none.
    pub(super) fn start(
        name: &str,
        connections: Vec<SqliteConnection>,
        queue: usize,
        work: impl Fn(SqliteConnection, &Queue<J>, &AtomicUsize) + Clone + Send + 'static,
    ) -> std::result::Result<Self, OpenError> {
        let jobs = Arc::new(Queue::new(queue, connections.len()));
        let busy = Arc::<AtomicUsize>::default();
        let start = |(n, connection)| {
            let (work, jobs, busy) = (work.clone(), Arc::clone(&jobs), Arc::clone(&busy));
            let thread = thread::Builder::new().name(format!("{name}-{n}"));
            let run = move || {
                // However it ends.
                let _leaves = Leaves(&jobs);
                work(connection, &jobs, &busy);
            };
            thread.spawn(run).map_err(OpenError::Thread)
        };
        let threads = (0..).zip(connections).map(start).collect::<std::result::Result<_, _>>()?;
        Ok(Self { jobs, busy, threads: Mutex::new(threads) })
    }

    /// Has the threads do a job, given where its outcome goes.
    pub(super) async fn run<T>(&self, job: impl FnOnce(oneshot::Sender<Outcome<T>>) -> J) -> Result<T> {
        let closed = || Error::unavailable("the database is closed");
        let (reply, answer) = oneshot::channel();
        let job = job(reply);
        self.jobs.push(job).map_err(|refused| match refused {
            Refused::Full => Error::unavailable("too many requests wait for the database"),
            Refused::Closed => closed(),
        })?;
        // Without an answer, its thread has ended.
        Ok(answer.await.map_err(|_| closed())??)
    }

    /// Lets the threads finish what they have, and closes their connections. Later jobs are refused.
    pub(super) fn stop(&self) {
        self.jobs.close();
        let threads = std::mem::take(&mut *lock(&self.threads));
        for thread in threads {
            // A thread that panicked has nothing left to finish.
            let _ = thread.join();
        }
    }

    /// Returns how busy they are.
    pub(super) fn lane(&self, name: &'static str) -> Lane {
        let size = lock(&self.threads).len();
        Lane { name, size, open: size, busy: self.busy.load(Relaxed), waiting: self.jobs.len() }
    }
}

/// Leaves a queue when dropped.
struct Leaves<'a, J>(&'a Queue<J>);

impl<J> Drop for Leaves<'_, J> {
    fn drop(&mut self) {
        self.0.leave();
    }
}
