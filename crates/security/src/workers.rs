//! Threads for password hashes, and the queue in front of them.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use agora_domain::limits::{QueueShares, Requester};
use agora_domain::{Error, Result};
use tokio::sync::{Semaphore, oneshot};

/// How busy a [`BcryptHasher`](crate::BcryptHasher) is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HasherFigures {
    /// Hashes that run.
    pub running: usize,
    /// Hashes that wait for their turn.
    pub waiting: usize,
    /// The most that may wait.
    pub most_waiting: usize,
    /// Hashes that were made since the start.
    pub done: u64,
    /// Hashes that were refused since the start, because too many waited, or too many of one account or address.
    pub refused: u64,
}

/// Returns how many hashes to run at once on this machine: one fewer than it has cores, so that one stays free to serve
/// requests; at least one.
pub fn default_parallelism() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get).saturating_sub(1).max(1)
}

/// Runs blocking work: so much at once, while so much waits.
pub(crate) struct Workers {
    /// What of `admission` each requester may have.
    shares: QueueShares,
    /// A permit for each piece of work that runs or waits.
    admission: Arc<Semaphore>,
    /// A permit for each piece of work that runs.
    running: Arc<Semaphore>,
    /// How many may run, and how many may run or wait.
    parallel: usize,
    admitted: usize,
    done: Arc<AtomicU64>,
    refused: AtomicU64,
}

impl Workers {
    /// How many hashes of one account run or wait: two sessions of one person do not get in each other's way.
    const PLACES_OF_AN_ACCOUNT: usize = 2;

    pub(crate) fn new(parallel: usize, waiting: usize) -> Self {
        let parallel = parallel.clamp(1, Semaphore::MAX_PERMITS);
        let admitted = parallel.saturating_add(waiting).min(Semaphore::MAX_PERMITS);
        let places_of_an_address = (admitted / 4).max(Self::PLACES_OF_AN_ACCOUNT);
        Self {
            shares: QueueShares::new(Self::PLACES_OF_AN_ACCOUNT, places_of_an_address),
            admission: Arc::new(Semaphore::new(admitted)),
            running: Arc::new(Semaphore::new(parallel)),
            parallel,
            admitted,
            done: Arc::default(),
            refused: AtomicU64::new(0),
        }
    }

    pub(crate) fn figures(&self) -> HasherFigures {
        let running = self.parallel.saturating_sub(self.running.available_permits());
        let within = self.admitted.saturating_sub(self.admission.available_permits());
        HasherFigures {
            running,
            waiting: within.saturating_sub(running),
            most_waiting: self.admitted.saturating_sub(self.parallel),
            done: self.done.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }

    /// Runs the work of this requester once it is its turn, and returns what it gives.
    ///
    /// # Errors
    /// [`Error::Unavailable`], at once, when the queue is full, or the requester has its share of it.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        requester: &Requester,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let refuse = |cause| {
            self.refused.fetch_add(1, Ordering::Relaxed);
            Error::unavailable(cause)
        };
        let place = self.shares.try_acquire(requester);
        let place =
            place.ok_or_else(|| refuse("too many passwords of one account or address are waiting to be hashed"))?;
        let admitted = Arc::clone(&self.admission).try_acquire_owned();
        let admitted = admitted.map_err(|_| refuse("too many passwords are waiting to be hashed"))?;
        let turn = Arc::clone(&self.running).acquire_owned().await.map_err(Error::internal)?;
        let (reply, answer) = oneshot::channel();
        let done = Arc::clone(&self.done);
        let run = move || {
            // Held by the work itself: it goes on when the request that asked for it is cancelled.
            let permits = (place, admitted, turn);
            lower_priority();
            let outcome = work();
            done.fetch_add(1, Ordering::Relaxed);
            // Before the answer: whoever has it may ask again at once.
            drop(permits);
            // Whoever no longer waits does not miss it.
            let _ = reply.send(outcome);
        };
        // A thread of its own takes nothing beside a hash, and can have a priority of its own.
        thread::Builder::new().name("agora-hash".to_owned()).spawn(run).map_err(Error::unavailable)?;
        answer.await.map_err(|_| Error::internal("the hashing of a password panicked"))
    }
}

/// The priority of hashing, on the system's scale from -20, the highest, to 19. When every core is busy with requests, a
/// hash gets about a quarter of the time that a thread of ordinary priority gets: slower, but no login starves.
#[cfg(target_os = "linux")]
const PRIORITY: i32 = 5;

/// Lowers the priority of this thread. A hash takes a quarter of a second of a core; a request that is ready takes the
/// core from it at once, instead of when its time slice ends.
fn lower_priority() {
    // Elsewhere priorities are those of processes.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, PRIORITY) {
        tracing::debug!(%error, "passwords are hashed with ordinary priority");
    }
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
        let workers = Arc::new(Workers::new(1, 1));
        let (release, released) = mpsc::channel::<()>();
        let running = tokio::spawn({
            let workers = Arc::clone(&workers);
            async move { workers.run(&local(), move || released.recv().is_ok()).await }
        });
        let waiting = tokio::spawn({
            let workers = Arc::clone(&workers);
            async move { workers.run(&local(), || "served").await }
        });
        while workers.admission.available_permits() > 0 {
            task::yield_now().await;
        }
        assert!(matches!(workers.run(&local(), || ()).await, Err(Error::Unavailable(_))));
        release.send(()).unwrap();
        assert!(running.await.unwrap().unwrap());
        assert_eq!(waiting.await.unwrap().unwrap(), "served");
        assert!(workers.run(&local(), || ()).await.is_ok());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_more_run_at_once_than_configured() {
        let workers = Arc::new(Workers::new(2, 100));
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
                    workers.run(&local(), work).await
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
            let workers = Arc::new(Workers::new(1, 15));
            let (release, released) = mpsc::channel::<()>();
            let released = Arc::new(Mutex::new(released));
            let ask = |requester: Requester| {
                let (workers, released) = (Arc::clone(&workers), Arc::clone(&released));
                // Ends with an error, once nothing holds it up any more.
                async move { workers.run(&requester, move || released.lock().unwrap().recv().is_err()).await }
            };
            let mut asked: JoinSet<_> = (0..ASKED).map(|_| ask(requester)).collect();
            for _ in places..ASKED {
                let refused = asked.join_next().await.unwrap().unwrap();
                assert!(matches!(refused, Err(Error::Unavailable(_))), "{requester:?}: {refused:?}");
            }
            let HasherFigures { running, waiting, refused, .. } = workers.figures();
            assert_eq!((running + waiting, refused), (places, (ASKED - places) as u64), "{requester:?}");
            asked.spawn(ask(other));
            drop(release);
            assert_eq!(asked.join_all().await.len(), places + 1);
            // Who is done has room again.
            assert!(workers.run(&requester, || ()).await.is_ok());
        }
    }

    #[tokio::test]
    async fn cancelled_work_keeps_its_place_until_it_is_done() {
        let workers = Arc::new(Workers::new(1, 1));
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
                workers.run(&local(), work).await
            }
        });
        started.await.unwrap();
        cancelled.abort();
        assert!(cancelled.await.unwrap_err().is_cancelled());

        assert_eq!(workers.running.available_permits(), 0);
        release.send(()).unwrap();
        assert!(workers.run(&local(), move || done.load(Ordering::SeqCst)).await.unwrap());
    }

    #[tokio::test]
    async fn a_panic_fails_its_own_request_alone() {
        let workers = Workers::new(1, 0);
        assert!(matches!(workers.run(&local(), || panic!("on purpose")).await, Err::<(), _>(Error::Internal(_))));
        assert!(workers.run(&local(), || ()).await.is_ok());
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_hash_gives_way_to_everything_else() {
        let priority = || rustix::process::getpriority_process(None).unwrap();
        let before = priority();
        assert_eq!(Workers::new(1, 0).run(&local(), priority).await.unwrap(), PRIORITY);
        assert_eq!(priority(), before, "this thread's own");
    }

    #[test]
    fn one_core_is_left_to_serve_requests() {
        let cores = thread::available_parallelism().unwrap().get();
        assert_eq!(default_parallelism(), if cores == 1 { 1 } else { cores - 1 });
    }
}
