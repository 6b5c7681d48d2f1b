//! Password hashing with bcrypt.

use std::{
    num::NonZero,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use agora_domain::{
    Error, Result,
    accounts::{Password, PasswordAttempt, PasswordHash, PasswordHasher},
};
use async_trait::async_trait;
use tokio::sync::{Semaphore, oneshot};

/// Hashes passwords with bcrypt on threads of their own. So many hashes run at once and so many wait; what comes
/// beyond that is refused at once.
pub struct BcryptHasher {
    cost: u32,
    dummy: PasswordHash,
    workers: Workers,
}

impl BcryptHasher {
    /// A hasher of this cost (4 to 31, each step doubling the time), of which `parallel` hashes run at once, at least
    /// one, and `waiting` more may be in line.
    pub fn new(cost: u32, parallel: usize, waiting: usize) -> Self {
        Self { cost, dummy: dummy(cost), workers: Workers::new(parallel, waiting) }
    }

    /// How busy it is.
    pub fn figures(&self) -> HasherFigures {
        let Workers { parallel, admitted, .. } = self.workers;
        let running = parallel.saturating_sub(self.workers.running.available_permits());
        let within = admitted.saturating_sub(self.workers.admission.available_permits());
        HasherFigures {
            running,
            waiting: within.saturating_sub(running),
            most_waiting: admitted.saturating_sub(parallel),
            done: self.workers.done.load(Ordering::Relaxed),
            refused: self.workers.refused.load(Ordering::Relaxed),
        }
    }
}

/// How busy a [`BcryptHasher`] is.
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
    /// Hashes that were refused since the start, because too many waited.
    pub refused: u64,
}

/// How many hashes to run at once on this machine: one fewer than it has cores, so that one stays free to serve
/// requests; at least one.
pub fn default_parallelism() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get).saturating_sub(1).max(1)
}

/// A well-formed hash that costs as much to verify as a real one. Salt and digest are all zeros (`.` in bcrypt's
/// base 64), so that none had to be computed; no password is known to hash to that, and a match would not count.
fn dummy(cost: u32) -> PasswordHash {
    PasswordHash::new(format!("$2b${cost:02}${}", ".".repeat(22 + 31)))
}

/// Whether the attempt is the hashed password, by one hash whatever the answer.
fn matches(attempt: &str, hash: &PasswordHash) -> Result<bool> {
    // bcrypt ignores what follows the 72nd byte or a NUL: such an attempt is no password, however its beginning looks.
    let is_whole = attempt.len() <= Password::MAX_BYTES && !attempt.contains('\0');
    let matches = bcrypt::verify(attempt, hash.as_str()).map_err(Error::internal)?;
    Ok(matches && is_whole)
}

#[async_trait]
impl PasswordHasher for BcryptHasher {
    async fn hash(&self, password: &Password) -> Result<PasswordHash> {
        let (password, cost) = (password.clone(), self.cost);
        // Not `non_truncating_hash`, which refuses 72 bytes already; no `Password` is longer.
        let hash = self.workers.run(move || bcrypt::hash(password.expose(), cost)).await?;
        hash.map(PasswordHash::new).map_err(Error::internal)
    }

    async fn verify(&self, attempt: &PasswordAttempt, hash: Option<PasswordHash>) -> Result<bool> {
        let is_known = hash.is_some();
        let (attempt, hash) = (attempt.clone(), hash.unwrap_or_else(|| self.dummy.clone()));
        let matches = self.workers.run(move || matches(attempt.expose(), &hash)).await??;
        Ok(matches && is_known)
    }
}

/// Runs blocking work: so much at once, so much in line.
struct Workers {
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
    fn new(parallel: usize, waiting: usize) -> Self {
        let parallel = parallel.clamp(1, Semaphore::MAX_PERMITS);
        let admitted = parallel.saturating_add(waiting).min(Semaphore::MAX_PERMITS);
        Self {
            admission: Arc::new(Semaphore::new(admitted)),
            running: Arc::new(Semaphore::new(parallel)),
            parallel,
            admitted,
            done: Arc::default(),
            refused: AtomicU64::new(0),
        }
    }

    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let admitted = Arc::clone(&self.admission).try_acquire_owned().map_err(|_| {
            self.refused.fetch_add(1, Ordering::Relaxed);
            Error::unavailable("too many passwords are waiting to be hashed")
        })?;
        let turn = Arc::clone(&self.running).acquire_owned().await.map_err(Error::internal)?;
        let (reply, answer) = oneshot::channel();
        let done = Arc::clone(&self.done);
        let run = move || {
            // Held by the work itself: it goes on when the request that asked for it is cancelled.
            let permits = (admitted, turn);
            yield_to_others();
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
fn yield_to_others() {
    // Elsewhere priorities are those of processes.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, PRIORITY) {
        tracing::debug!(%error, "passwords are hashed with ordinary priority");
    }
}

#[cfg(test)]
mod tests {
    use std::{
        str::FromStr,
        sync::{
            atomic::{AtomicBool, AtomicUsize, Ordering},
            mpsc,
        },
    };

    use bcrypt::HashParts;
    use tokio::task;

    use super::*;

    /// The lowest there is: these tests are not about time.
    const COST: u32 = 4;

    fn hasher() -> BcryptHasher {
        BcryptHasher::new(COST, 2, 100)
    }

    fn password(text: &str) -> Password {
        Password::parse(text).unwrap()
    }

    fn attempt(text: &str) -> PasswordAttempt {
        PasswordAttempt::parse(text).unwrap()
    }

    fn cost_of(hash: &PasswordHash) -> u32 {
        HashParts::from_str(hash.as_str()).unwrap().get_cost()
    }

    #[tokio::test]
    async fn a_password_matches_its_own_hash_alone() {
        let hasher = hasher();
        let hash = hasher.hash(&password("correct horse")).await.unwrap();
        assert!(hasher.verify(&attempt("correct horse"), Some(hash.clone())).await.unwrap());
        for wrong in ["Correct horse", "correct horse ", "correct hors", "x"] {
            assert!(!hasher.verify(&attempt(wrong), Some(hash.clone())).await.unwrap(), "{wrong}");
        }
    }

    #[tokio::test]
    async fn every_hash_has_its_own_salt_and_the_configured_cost() {
        let hasher = BcryptHasher::new(5, 2, 100);
        let one = hasher.hash(&password("password")).await.unwrap();
        let other = hasher.hash(&password("password")).await.unwrap();
        assert!(one != other);
        assert_eq!((cost_of(&one), cost_of(&other)), (5, 5));
    }

    #[test]
    fn an_unknown_account_costs_as_much_as_a_known_one() {
        for cost in [4, 12, 31] {
            assert_eq!(cost_of(&BcryptHasher::new(cost, 1, 0).dummy), cost);
        }
        assert!(!matches("password", &dummy(COST)).unwrap());
    }

    #[tokio::test]
    async fn without_a_hash_the_answer_is_no() {
        let mut hasher = hasher();
        // Even if somebody found a password of the dummy.
        hasher.dummy = hasher.hash(&password("password")).await.unwrap();
        assert!(!hasher.verify(&attempt("password"), None).await.unwrap());
    }

    #[tokio::test]
    async fn all_72_bytes_count_and_more_never_match() {
        let hasher = hasher();
        let longest = "é".repeat(36);
        let hash = hasher.hash(&password(&longest)).await.unwrap();
        for (tried, expected) in [
            (longest.clone(), true),
            (format!("{longest}x"), false),
            ("é".repeat(35), false),
            (format!("{}xx", "é".repeat(35)), false),
            (longest.repeat(1000), false),
        ] {
            assert_eq!(hasher.verify(&attempt(&tried), Some(hash.clone())).await.unwrap(), expected, "{tried}");
        }
    }

    #[tokio::test]
    async fn an_attempt_with_nul_never_matches() {
        let hasher = hasher();
        let hash = hasher.hash(&password("password")).await.unwrap();
        // bcrypt repeats the key with a NUL between: to it, this is the same password.
        assert!(bcrypt::verify("password\0password", hash.as_str()).unwrap());
        for tried in ["password\0password", "password\0", "\0password"] {
            assert!(!hasher.verify(&attempt(tried), Some(hash.clone())).await.unwrap(), "{tried:?}");
        }
    }

    #[tokio::test]
    async fn a_malformed_stored_hash_is_an_internal_error() {
        for malformed in ["", "password", "$2b$04$short", "$1$04$....................................................."]
        {
            let failed = hasher().verify(&attempt("password"), Some(PasswordHash::new(malformed.to_owned()))).await;
            assert!(matches!(failed, Err(Error::Internal(_))), "{malformed}");
        }
    }

    #[tokio::test]
    async fn what_finds_no_place_in_line_is_refused_at_once() {
        let workers = Arc::new(Workers::new(1, 1));
        let (release, released) = mpsc::channel::<()>();
        let running = tokio::spawn({
            let workers = Arc::clone(&workers);
            async move { workers.run(move || released.recv().is_ok()).await }
        });
        let in_line = tokio::spawn({
            let workers = Arc::clone(&workers);
            async move { workers.run(|| "served").await }
        });
        while workers.admission.available_permits() > 0 {
            task::yield_now().await;
        }
        assert!(matches!(workers.run(|| ()).await, Err(Error::Unavailable(_))));
        release.send(()).unwrap();
        assert!(running.await.unwrap().unwrap());
        assert_eq!(in_line.await.unwrap().unwrap(), "served");
        assert!(workers.run(|| ()).await.is_ok());
    }

    #[tokio::test]
    async fn a_hasher_without_a_line_still_hashes_one_at_a_time() {
        let hasher = BcryptHasher::new(COST, 0, 0);
        assert!(hasher.hash(&password("password")).await.is_ok());
        let taken = Arc::clone(&hasher.workers.admission).try_acquire_owned().unwrap();
        assert!(matches!(hasher.hash(&password("password")).await, Err(Error::Unavailable(_))));
        assert!(matches!(hasher.verify(&attempt("x"), None).await, Err(Error::Unavailable(_))));
        drop(taken);
        assert!(hasher.hash(&password("password")).await.is_ok());
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
                    workers.run(work).await
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        assert!((1..=2).contains(&most.load(Ordering::SeqCst)));
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
                workers.run(work).await
            }
        });
        started.await.unwrap();
        cancelled.abort();
        assert!(cancelled.await.unwrap_err().is_cancelled());

        assert_eq!(workers.running.available_permits(), 0);
        release.send(()).unwrap();
        assert!(workers.run(move || done.load(Ordering::SeqCst)).await.unwrap());
    }

    #[tokio::test]
    async fn a_panic_fails_its_own_request_alone() {
        let workers = Workers::new(1, 0);
        assert!(matches!(workers.run(|| panic!("on purpose")).await, Err::<(), _>(Error::Internal(_))));
        assert!(workers.run(|| ()).await.is_ok());
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_hash_gives_way_to_everything_else() {
        let priority = || rustix::process::getpriority_process(None).unwrap();
        let before = priority();
        assert_eq!(Workers::new(1, 0).run(priority).await.unwrap(), PRIORITY);
        assert_eq!(priority(), before, "this thread's own");
    }

    #[test]
    fn one_core_is_left_to_serve_requests() {
        let cores = thread::available_parallelism().unwrap().get();
        assert_eq!(default_parallelism(), if cores == 1 { 1 } else { cores - 1 });
    }
}
