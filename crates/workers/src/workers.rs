//! The threads and the queue.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use agora_domain::limits::Requester;
use agora_domain::{Error, Result};
use tokio::sync::{Semaphore, oneshot};

use crate::shares::QueueShares;

const KIBIBYTE: u64 = 1024;

/// The kind of work, as named in the log and in errors.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The name of the threads.
    pub thread: &'static str,
    /// The plural noun for the items in the queue, such as "passwords".
    pub items: &'static str,
    /// The past participle of the work, such as "hashed".
    pub done: &'static str,
}

/// The limits of [`Workers`].
#[derive(Debug, Clone, Copy)]
pub struct Capacity {
    /// How many jobs run at once; zero counts as one.
    pub parallel: usize,
    /// How many more jobs may wait in the queue.
    pub waiting: usize,
    /// How many jobs of one account may run or wait. One client address, loopback excepted, may have a quarter of all jobs that
    /// run or wait, and never less than an account.
    pub per_account: usize,
    /// The most bytes of memory that all running jobs may reserve together.
    pub memory: u64,
}

/// The current load of [`Workers`], and their totals since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    /// Jobs that run or wait for memory.
    pub running: usize,
    /// Jobs in the queue.
    pub waiting: usize,
    /// The capacity of the queue.
    pub most_waiting: usize,
    /// Jobs completed since the start.
    pub done: u64,
    /// Jobs refused since the start because the queue, or the share of their account or address, was full.
    pub refused: u64,
    /// The bytes of memory reserved by running jobs.
    pub memory: u64,
    /// The most bytes that may be reserved.
    pub most_memory: u64,
}

/// Returns how many jobs to run at once on this machine: one fewer than it has cores, which leaves one to serve requests;
/// at least one.
pub fn default_parallelism() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get).saturating_sub(1).max(1)
}

/// Runs blocking jobs, each on a thread of its own, with limited concurrency and a bounded queue.
pub struct Workers {
    kind: Kind,
    /// How many of the permits of `admission` each requester may hold.
    shares: QueueShares,
    /// One permit for each job that runs or waits.
    admission: Arc<Semaphore>,
    /// One permit for each job that runs.
    running: Arc<Semaphore>,
    /// One permit for each KiB of memory that running jobs may reserve.
    memory: Arc<Semaphore>,
    /// The number of permits of `running`.
    parallel: usize,
    /// The number of permits of `admission`.
    admitted: usize,
    /// The number of permits of `memory`.
    kibibytes: u32,
    done: Arc<AtomicU64>,
    refused: AtomicU64,
}

impl Workers {
    /// Creates idle workers for one kind of work.
    pub fn new(kind: Kind, capacity: Capacity) -> Self {
        let parallel = capacity.parallel.clamp(1, Semaphore::MAX_PERMITS);
        let admitted = parallel.saturating_add(capacity.waiting).min(Semaphore::MAX_PERMITS);
        let kibibytes = u32::try_from(capacity.memory / KIBIBYTE).unwrap_or(u32::MAX);
        Self {
            kind,
            shares: QueueShares::new(capacity.per_account, (admitted / 4).max(capacity.per_account)),
            admission: Arc::new(Semaphore::new(admitted)),
            running: Arc::new(Semaphore::new(parallel)),
            memory: Arc::new(Semaphore::new(kibibytes as usize)),
            parallel,
            admitted,
            kibibytes,
            done: Arc::default(),
            refused: AtomicU64::new(0),
        }
    }

    /// Returns the current load and the totals since the start.
    pub fn figures(&self) -> Figures {
        let running = self.parallel.saturating_sub(self.running.available_permits());
        let within = self.admitted.saturating_sub(self.admission.available_permits());
        let free = u64::try_from(self.memory.available_permits()).unwrap_or(u64::MAX);
        Figures {
            running,
            waiting: within.saturating_sub(running),
            most_waiting: self.admitted.saturating_sub(self.parallel),
            done: self.done.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            memory: u64::from(self.kibibytes).saturating_sub(free) * KIBIBYTE,
            most_memory: self.most_memory(),
        }
    }

    /// Returns the most bytes of memory that all running jobs may reserve together.
    pub fn most_memory(&self) -> u64 {
        u64::from(self.kibibytes) * KIBIBYTE
    }

    /// Queues a job of this requester, runs it once a permit and `memory` bytes are free, and returns its result. A job that
    /// asks for more than [`most_memory`](Self::most_memory) reserves all of it.
    ///
    /// # Errors
    /// [`Error::Unavailable`], at once, when the queue or the requester's share of it is full;
    /// [`Error::Internal`] when the job panics.
    pub async fn run<T: Send + 'static>(
        &self,
        requester: &Requester,
        memory: u64,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let Kind { thread, items, done } = self.kind;
        let refuse = |cause: String| {
            self.refused.fetch_add(1, Ordering::Relaxed);
            Error::unavailable(cause)
        };
        let share = self.shares.try_acquire(requester);
        let share = share
            .ok_or_else(|| refuse(format!("too many {items} of one account or address are waiting to be {done}")))?;
        let admitted = Arc::clone(&self.admission).try_acquire_owned();
        let admitted = admitted.map_err(|_| refuse(format!("too many {items} are waiting to be {done}")))?;
        let running = Arc::clone(&self.running).acquire_owned().await.map_err(Error::internal)?;
        let kibibytes = u32::try_from(memory.div_ceil(KIBIBYTE)).unwrap_or(u32::MAX).min(self.kibibytes);
        let memory = Arc::clone(&self.memory).acquire_many_owned(kibibytes).await.map_err(Error::internal)?;
        let (reply, answer) = oneshot::channel();
        let count = Arc::clone(&self.done);
        let run = move || {
            // Held by the job itself, which goes on when its request is cancelled.
            let permits = (share, admitted, running, memory);
            lower_priority(thread);
            let outcome = work();
            count.fetch_add(1, Ordering::Relaxed);
            // Before the result is sent: its receiver may queue the next job at once.
            drop(permits);
            // Fails if the request was cancelled, and then nobody needs the result.
            let _ = reply.send(outcome);
        };
        // Starting a thread costs little compared with the job, and the thread can have its own priority.
        thread::Builder::new().name(thread.to_owned()).spawn(run).map_err(Error::unavailable)?;
        answer.await.map_err(|_| Error::internal(format!("a thread {thread} panicked")))
    }
}

/// The nice value of worker threads, on the scale from -20, the highest priority, to 19. When every core is busy with requests,
/// a worker gets about a quarter of the CPU time of a thread of ordinary priority: slower, but no login starves.
#[cfg(target_os = "linux")]
const PRIORITY: i32 = 5;

/// Lowers the priority of the current thread. Its job occupies a core for a quarter of a second up to seconds; a request that
/// becomes ready preempts it at once, instead of at the end of its time slice.
fn lower_priority(thread: &str) {
    // Other systems have only priorities of processes.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, PRIORITY) {
        tracing::debug!(%error, "could not lower the priority of the thread {thread}");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = thread;
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize};
    use std::sync::{Mutex, mpsc};

    use agora_domain::id::UserId;
    use agora_domain::limits::ClientAddress;
    use tokio::task;
    use tokio::task::JoinSet;
    use uuid::Uuid;

    use super::*;

    const KIND: Kind = Kind { thread: "agora-test", items: "things", done: "done" };

    /// Workers of which one account may have two jobs.
    fn workers(parallel: usize, waiting: usize) -> Workers {
        Workers::new(KIND, Capacity { parallel, waiting, per_account: 2, memory: 4 * KIBIBYTE })
    }

    fn local() -> Requester {
        Requester::local()
    }

    /// An account, or none, at an address.
    fn requester(account: Option<u128>, address: [u8; 4]) -> Requester {
        Requester {
            account: account.map(|n| UserId::new(Uuid::from_u128(n))),
            address: ClientAddress::of(address.into()),
        }
    }

    #[tokio::test]
    async fn refuses_at_once_when_the_queue_is_full() {
        let workers = Arc::new(workers(1, 1));
        let (release, released) = mpsc::channel::<()>();
        let running = tokio::spawn({
            let workers = Arc::clone(&workers);
            async move { workers.run(&local(), 0, move || released.recv().is_ok()).await }
        });
        let waiting = tokio::spawn({
            let workers = Arc::clone(&workers);
            async move { workers.run(&local(), 0, || "served").await }
        });
        while workers.admission.available_permits() > 0 {
            task::yield_now().await;
        }
        assert!(matches!(workers.run(&local(), 0, || ()).await, Err(Error::Unavailable(_))));
        release.send(()).unwrap();
        assert!(running.await.unwrap().unwrap());
        assert_eq!(waiting.await.unwrap().unwrap(), "served");
        assert!(workers.run(&local(), 0, || ()).await.is_ok());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn runs_no_more_jobs_at_once_than_configured() {
        let workers = Arc::new(workers(2, 100));
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let tasks: Vec<_> = (0..20)
            .map(|_| {
                let (workers, now, most) = (Arc::clone(&workers), Arc::clone(&now), Arc::clone(&most));
                tokio::spawn(async move {
                    let work = move || {
                        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        thread::yield_now();
                        now.fetch_sub(1, Ordering::SeqCst);
                    };
                    workers.run(&local(), 0, work).await
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        assert!((1..=2).contains(&most.load(Ordering::SeqCst)));
    }

    #[tokio::test]
    async fn of_sixteen_jobs_an_account_may_have_two_and_an_address_four() {
        const QUEUED: usize = 10;
        let other = requester(Some(2), [198, 51, 100, 8]);
        for (requester, share) in [
            (requester(Some(1), [198, 51, 100, 7]), 2),
            (requester(Some(1), [127, 0, 0, 1]), 2),
            (requester(None, [198, 51, 100, 7]), 4),
        ] {
            let workers = Arc::new(workers(1, 15));
            let (release, released) = mpsc::channel::<()>();
            let released = Arc::new(Mutex::new(released));
            let block = |requester: Requester| {
                let (workers, released) = (Arc::clone(&workers), Arc::clone(&released));
                // Blocks until `release` is dropped, and then receives an error.
                async move { workers.run(&requester, 0, move || released.lock().unwrap().recv().is_err()).await }
            };
            let mut queued: JoinSet<_> = (0..QUEUED).map(|_| block(requester)).collect();
            for _ in share..QUEUED {
                let refused = queued.join_next().await.unwrap().unwrap();
                assert!(matches!(refused, Err(Error::Unavailable(_))), "{requester:?}: {refused:?}");
            }
            let Figures { running, waiting, refused, .. } = workers.figures();
            assert_eq!((running + waiting, refused), (share, (QUEUED - share) as u64), "{requester:?}");
            queued.spawn(block(other));
            drop(release);
            assert_eq!(queued.join_all().await.len(), share + 1);
            // The share is free again.
            assert!(workers.run(&requester, 0, || ()).await.is_ok());
        }
    }

    #[tokio::test]
    async fn a_cancelled_job_holds_its_permits_until_it_ends() {
        let workers = Arc::new(workers(1, 1));
        let done = Arc::new(AtomicBool::new(false));
        let (start, started) = oneshot::channel();
        let (release, released) = mpsc::channel::<()>();
        let cancelled = tokio::spawn({
            let (workers, done) = (Arc::clone(&workers), Arc::clone(&done));
            async move {
                let work = move || {
                    start.send(()).unwrap();
                    released.recv().unwrap();
                    done.store(true, Ordering::SeqCst);
                };
                workers.run(&local(), 0, work).await
            }
        });
        started.await.unwrap();
        cancelled.abort();
        assert!(cancelled.await.unwrap_err().is_cancelled());

        assert_eq!(workers.running.available_permits(), 0);
        release.send(()).unwrap();
        assert!(workers.run(&local(), 0, move || done.load(Ordering::SeqCst)).await.unwrap());
    }

    #[tokio::test]
    async fn a_panic_fails_only_its_own_job() {
        let workers = workers(1, 0);
        assert!(matches!(workers.run(&local(), 0, || panic!("on purpose")).await, Err::<(), _>(Error::Internal(_))));
        assert!(workers.run(&local(), 0, || ()).await.is_ok());
    }

    #[tokio::test]
    async fn a_job_waits_for_memory_and_releases_it() {
        let workers = Arc::new(workers(2, 0));
        let (release, released) = mpsc::channel::<()>();
        let large = tokio::spawn({
            let workers = Arc::clone(&workers);
            async move { workers.run(&local(), 3 * KIBIBYTE - 1, move || released.recv().is_err()).await }
        });
        while workers.figures().memory != 3 * KIBIBYTE {
            task::yield_now().await;
        }
        // Asks for more than the total, and so waits for all of it.
        let waiting = tokio::spawn({
            let workers = Arc::clone(&workers);
            async move { workers.run(&local(), u64::MAX, || "served").await }
        });
        while workers.figures().running < 2 {
            task::yield_now().await;
        }
        assert_eq!(workers.figures().done, 0);
        drop(release);
        assert!(large.await.unwrap().unwrap());
        assert_eq!(waiting.await.unwrap().unwrap(), "served");
        let Figures { running, done, memory, most_memory, .. } = workers.figures();
        assert_eq!((running, done, memory, most_memory), (0, 2, 0, 4 * KIBIBYTE));
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn jobs_run_with_lowered_priority() {
        let priority = || rustix::process::getpriority_process(None).unwrap();
        let before = priority();
        assert_eq!(workers(1, 0).run(&local(), 0, priority).await.unwrap(), PRIORITY);
        assert_eq!(priority(), before, "this thread's own");
    }

    #[test]
    fn the_default_parallelism_leaves_one_core_to_serve_requests() {
        let cores = thread::available_parallelism().unwrap().get();
        assert_eq!(default_parallelism(), if cores == 1 { 1 } else { cores - 1 });
    }
}
