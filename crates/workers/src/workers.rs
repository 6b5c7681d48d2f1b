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

/// What work is run, in words for the log.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The name of its threads.
    pub thread: &'static str,
    /// What waits, as in "passwords".
    pub items: &'static str,
    /// What is done to it, as in "hashed".
    pub done: &'static str,
}

/// How much work is run and how much waits.
#[derive(Debug, Clone, Copy)]
pub struct Capacity {
    /// How much runs at once, at least one.
    pub parallel: usize,
    /// How much more waits.
    pub waiting: usize,
    /// How much of one account runs or waits. Of one client address other than this machine's it is a quarter of all, and
    /// at least as much.
    pub per_account: usize,
    /// The most bytes of memory that what runs takes together.
    pub memory: u64,
}

/// How busy [`Workers`] are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    /// What runs, or waits for memory.
    pub running: usize,
    /// What waits for its turn.
    pub waiting: usize,
    /// The most that may wait.
    pub most_waiting: usize,
    /// What was done since the start.
    pub done: u64,
    /// What was refused since the start, because too much waited, or too much of one account or address.
    pub refused: u64,
    /// The bytes of memory reserved for what runs.
    pub memory: u64,
    /// The most that may be reserved.
    pub most_memory: u64,
}

/// Returns how much work to run at once on this machine: one less than it has cores, so that one stays free to serve
/// requests; at least one.
pub fn default_parallelism() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get).saturating_sub(1).max(1)
}

/// Runs blocking work: so much at once, while so much waits.
pub struct Workers {
    kind: Kind,
    /// What of `admission` each requester may have.
    shares: QueueShares,
    /// A permit for each piece of work that runs or waits.
    admission: Arc<Semaphore>,
    /// A permit for each piece of work that runs.
    running: Arc<Semaphore>,
    /// A permit for each KiB that what runs may take.
    memory: Arc<Semaphore>,
    /// How many may run, and how many may run or wait.
    parallel: usize,
    admitted: usize,
    kibibytes: u32,
    done: Arc<AtomicU64>,
    refused: AtomicU64,
}

impl Workers {
    /// Workers for this kind of work.
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

    /// Returns how busy they are.
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

    /// Returns the most bytes of memory that what runs may take together.
    pub fn most_memory(&self) -> u64 {
        u64::from(self.kibibytes) * KIBIBYTE
    }

    /// Runs the work of this requester once it is its turn and so many bytes of memory are free, and returns what it gives.
    /// What takes more than [`most_memory`](Self::most_memory) waits for all of it.
    ///
    /// # Errors
    /// [`Error::Unavailable`], at once, when the queue is full, or the requester has its share of it;
    /// [`Error::Internal`] when the work panics.
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
        let place = self.shares.try_acquire(requester);
        let place = place
            .ok_or_else(|| refuse(format!("too many {items} of one account or address are waiting to be {done}")))?;
        let admitted = Arc::clone(&self.admission).try_acquire_owned();
        let admitted = admitted.map_err(|_| refuse(format!("too many {items} are waiting to be {done}")))?;
        let turn = Arc::clone(&self.running).acquire_owned().await.map_err(Error::internal)?;
        let kibibytes = u32::try_from(memory.div_ceil(KIBIBYTE)).unwrap_or(u32::MAX).min(self.kibibytes);
        let memory = Arc::clone(&self.memory).acquire_many_owned(kibibytes).await.map_err(Error::internal)?;
        let (reply, answer) = oneshot::channel();
        let count = Arc::clone(&self.done);
        let run = move || {
            // Held by the work itself: it goes on when the request that asked for it is cancelled.
            let permits = (place, admitted, turn, memory);
            lower_priority(thread);
            let outcome = work();
            count.fetch_add(1, Ordering::Relaxed);
            // Before the answer: whoever has it may ask again at once.
            drop(permits);
            // Whoever no longer waits does not miss it.
            let _ = reply.send(outcome);
        };
        // A thread of its own takes little beside such work, and can have a priority of its own.
        thread::Builder::new().name(thread.to_owned()).spawn(run).map_err(Error::unavailable)?;
        answer.await.map_err(|_| Error::internal(format!("a thread {thread} panicked")))
    }
}

/// The priority of such work, on the system's scale from -20, the highest, to 19. When every core is busy with requests, it
/// gets about a quarter of the time that a thread of ordinary priority gets: slower, but no login starves.
#[cfg(target_os = "linux")]
const PRIORITY: i32 = 5;

/// Lowers the priority of this thread. Its work takes a core for a quarter of a second, or for seconds; a request that is
/// ready takes the core from it at once, instead of when its time slice ends.
fn lower_priority(thread: &str) {
    // Elsewhere priorities are those of processes.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, PRIORITY) {
        tracing::debug!(%error, "{thread} runs with ordinary priority");
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

    /// Workers of which one account may have two places.
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
    async fn what_finds_no_place_in_the_queue_is_refused_at_once() {
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
    async fn no_more_run_at_once_than_configured() {
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
    async fn of_sixteen_places_an_account_has_two_and_an_address_four() {
        const ASKED: usize = 10;
        let other = requester(Some(2), [198, 51, 100, 8]);
        for (requester, places) in [
            (requester(Some(1), [198, 51, 100, 7]), 2),
            (requester(Some(1), [127, 0, 0, 1]), 2),
            (requester(None, [198, 51, 100, 7]), 4),
        ] {
            let workers = Arc::new(workers(1, 15));
            let (release, released) = mpsc::channel::<()>();
            let released = Arc::new(Mutex::new(released));
            let ask = |requester: Requester| {
                let (workers, released) = (Arc::clone(&workers), Arc::clone(&released));
                // Ends with an error, once nothing holds it up any more.
                async move { workers.run(&requester, 0, move || released.lock().unwrap().recv().is_err()).await }
            };
            let mut asked: JoinSet<_> = (0..ASKED).map(|_| ask(requester)).collect();
            for _ in places..ASKED {
                let refused = asked.join_next().await.unwrap().unwrap();
                assert!(matches!(refused, Err(Error::Unavailable(_))), "{requester:?}: {refused:?}");
            }
            let Figures { running, waiting, refused, .. } = workers.figures();
            assert_eq!((running + waiting, refused), (places, (ASKED - places) as u64), "{requester:?}");
            asked.spawn(ask(other));
            drop(release);
            assert_eq!(asked.join_all().await.len(), places + 1);
            // Who is done has room again.
            assert!(workers.run(&requester, 0, || ()).await.is_ok());
        }
    }

    #[tokio::test]
    async fn cancelled_work_keeps_its_place_until_it_is_done() {
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
    async fn a_panic_fails_its_own_request_alone() {
        let workers = workers(1, 0);
        assert!(matches!(workers.run(&local(), 0, || panic!("on purpose")).await, Err::<(), _>(Error::Internal(_))));
        assert!(workers.run(&local(), 0, || ()).await.is_ok());
    }

    #[tokio::test]
    async fn work_waits_for_memory_and_gives_it_back() {
        let workers = Arc::new(workers(2, 0));
        let (release, released) = mpsc::channel::<()>();
        let large = tokio::spawn({
            let workers = Arc::clone(&workers);
            async move { workers.run(&local(), 3 * KIBIBYTE - 1, move || released.recv().is_err()).await }
        });
        while workers.figures().memory != 3 * KIBIBYTE {
            task::yield_now().await;
        }
        // More than there is: all of it.
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
    async fn work_gives_way_to_everything_else() {
        let priority = || rustix::process::getpriority_process(None).unwrap();
        let before = priority();
        assert_eq!(workers(1, 0).run(&local(), 0, priority).await.unwrap(), PRIORITY);
        assert_eq!(priority(), before, "this thread's own");
    }

    #[test]
    fn one_core_is_left_to_serve_requests() {
        let cores = thread::available_parallelism().unwrap().get();
        assert_eq!(default_parallelism(), if cores == 1 { 1 } else { cores - 1 });
    }
}
