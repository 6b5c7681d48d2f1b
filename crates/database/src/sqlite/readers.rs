//! A lane of threads that read, each with a connection of its own, behind one queue.

use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crossbeam_channel::{Sender, bounded};
use tokio::sync::oneshot;

use super::connect::{Access, connect};
use super::jobs::{Job, Next, Read, read_loop, receive, submit};
use super::threads::spawn;
use crate::error::OpenError;
use crate::figures::Lane;
use crate::mutex::lock;

/// Threads that read.
#[derive(Debug)]
pub(super) struct Readers {
    jobs: Sender<Next<Read>>,
    /// How many reads were asked for so far.
    asked: Arc<AtomicU64>,
    /// How many threads are reading.
    busy: Arc<AtomicUsize>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Readers {
    /// Starts so many threads, named alike, for which so many reads may wait.
    pub(super) fn start(name: &str, file: &Path, threads: usize, queue: usize) -> Result<Self, OpenError> {
        let (jobs, waiting) = bounded(queue);
        let (asked, busy) = (Arc::<AtomicU64>::default(), Arc::<AtomicUsize>::default());
        let start = |n| {
            let connection = connect(file, Access::Read)?;
            let (waiting, asked, busy) = (waiting.clone(), Arc::clone(&asked), Arc::clone(&busy));
            spawn(format!("{name}-{n}"), move || read_loop(connection, &waiting, &asked, &busy))
        };
        let threads = (0..threads).map(start).collect::<Result<_, _>>()?;
        Ok(Self { jobs, asked, busy, threads: Mutex::new(threads) })
    }

    /// Runs work that reads, all of it on one snapshot, which has all that was written before it was asked for.
    pub(super) async fn run<T: Send + 'static>(&self, work: impl Job<T>) -> agora_domain::Result<T> {
        let (reply, answer) = oneshot::channel();
        submit(&self.jobs, Read::new(&self.asked, work, reply))?;
        receive(answer).await
    }

    /// Lets the threads finish what they have, and closes their connections.
    pub(super) fn stop(&self) {
        let threads = std::mem::take(&mut *lock(&self.threads));
        for _ in &threads {
            // A queue without a thread behind it needs no word.
            let _ = self.jobs.send(None);
        }
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
