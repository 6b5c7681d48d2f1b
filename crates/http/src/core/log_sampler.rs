//! Tells the log of what an attack, or a dependency that is away, has happen thousands of times a second: of the first by
//! itself, then every ten seconds of how many more there were.

use std::{
    collections::HashMap,
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::runtime::Handle;

/// Between two lines about the same.
const INTERVAL: Duration = Duration::from_secs(10);

/// Refusals of one kind.
pub(crate) struct Notice {
    what: &'static str,
    /// All since the start.
    total: AtomicU64,
    lately: Arc<Lately>,
}

impl Notice {
    /// About too many of `what`.
    pub(crate) fn new(what: &'static str) -> Self {
        Self { what, total: AtomicU64::new(0), lately: Lately::new(Self::log) }
    }

    /// How many refusals there were since the start.
    pub(crate) fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// Counts a refusal, of which the log is told.
    pub(crate) fn tell(&self) {
        self.total.fetch_add(1, Ordering::Relaxed);
        if self.lately.is_first(self.what) {
            Self::log(self.what, 1);
        }
    }

    fn log(what: &str, refused: u64) {
        tracing::warn!(refused, "refused, with 503: too many {what}");
    }
}

/// Failures of requests by their causes. The first of each is told by whoever met it.
pub(crate) struct Failures(Arc<Lately>);

impl Default for Failures {
    fn default() -> Self {
        Self(Lately::new(Self::log))
    }
}

impl Failures {
    /// Counts a failure: whether it is to be told by itself.
    pub(crate) fn is_first(&self, cause: &str) -> bool {
        self.0.is_first(cause)
    }

    fn log(causes: &str, requests: u64) {
        tracing::error!(status = 503, requests, causes, "so many more requests failed alike");
    }
}

/// What happened lately, by its name.
struct Lately {
    /// Tells of so many more.
    tell: fn(&str, u64),
    /// How many there were, not yet told, of each that was told lately.
    untold: Mutex<HashMap<String, u64>>,
}

impl Lately {
    /// How many names are told apart at a time: what causes say, such as the answer of another server, can differ each
    /// time.
    const NAMES: usize = 64;

    /// What all others count as.
    const OTHERS: &'static str = "more causes than are told apart";

    fn new(tell: fn(&str, u64)) -> Arc<Self> {
        Arc::new(Self { tell, untold: Mutex::default() })
    }

    fn untold(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one. The first is to be told by itself, and others are told of from now on.
    fn is_first(self: &Arc<Self>, name: &str) -> bool {
        let Some(watch) = self.count(name) else { return false };
        // Without a runtime there is nobody to wait for others: each is the first.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(watch.run());
        }
        true
    }

    /// Counts one. For the first, this gives what tells of the others, which must run meanwhile.
    fn count(self: &Arc<Self>, name: &str) -> Option<Watch> {
        let mut untold = self.untold();
        let is_one_too_many = untold.len() >= Self::NAMES && !untold.contains_key(name);
        let name = if is_one_too_many { Self::OTHERS } else { name };
        if let Some(count) = untold.get_mut(name) {
            *count = count.saturating_add(1);
            return None;
        }
        untold.insert(name.to_owned(), 0);
        Some(Watch { lately: Arc::clone(self), name: name.to_owned() })
    }
}

/// Tells of those of a name together. Once it is gone, the next one is told by itself again.
struct Watch {
    lately: Arc<Lately>,
    name: String,
}

impl Watch {
    /// Tells every ten seconds how many there were, until there are none.
    async fn run(self) {
        loop {
            tokio::time::sleep(INTERVAL).await;
            let count = self.lately.untold().get_mut(self.name.as_str()).map_or(0, mem::take);
            if count == 0 {
                break;
            }
            (self.lately.tell)(&self.name, count);
        }
    }
}

/// When the service stops as well, which ends what runs.
impl Drop for Watch {
    fn drop(&mut self) {
        let count = self.lately.untold().remove(self.name.as_str()).unwrap_or_default();
        if count > 0 {
            (self.lately.tell)(&self.name, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use tracing::subscriber::DefaultGuard;

    use super::*;

    /// What the log of this thread has.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Log {
        fn begin() -> (Self, DefaultGuard) {
            let log = Self::default();
            let writer = log.clone();
            let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).with_ansi(false).finish();
            (log, tracing::subscriber::set_default(subscriber))
        }

        /// The lines since this was last asked.
        fn lines(&self) -> Vec<String> {
            let text = String::from_utf8(mem::take(&mut *self.0.lock().unwrap())).unwrap();
            text.lines().map(str::to_owned).collect()
        }
    }

    /// Lets what runs in the background do what it can.
    async fn settle() {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_refusal_is_told_by_itself_and_how_many_more_every_ten_seconds() {
        let (log, _guard) = Log::begin();
        let notice = Notice::new("things");
        let expect = |refused: u64| {
            let lines = log.lines();
            let [line] = &lines[..] else { panic!("{lines:?}") };
            assert!(line.contains("WARN") && line.contains("too many things"), "{line}");
            assert!(line.contains(&format!("refused={refused}")), "{line}");
        };
        notice.tell();
        expect(1);
        settle().await;
        // A burst that is over is told as well.
        for more in [839, 3] {
            (0..more).for_each(|_| notice.tell());
            assert_eq!(log.lines(), [""; 0]);
            tokio::time::sleep(INTERVAL + Duration::from_millis(1)).await;
            expect(more);
        }
        // When there were none for as long, the next is told by itself.
        tokio::time::sleep(INTERVAL + Duration::from_millis(1)).await;
        assert_eq!(log.lines(), [""; 0]);
        notice.tell();
        expect(1);
        assert_eq!(notice.total(), 1 + 839 + 3 + 1);
    }

    #[tokio::test(start_paused = true)]
    async fn of_failures_alike_the_first_is_told_by_itself_and_how_many_more_every_ten_seconds() {
        let (log, _guard) = Log::begin();
        let failures = Failures::default();
        assert!(failures.is_first("full"));
        settle().await;
        for more in [3, 500] {
            assert!((0..more).all(|_| !failures.is_first("full")));
            assert_eq!(log.lines(), [""; 0]);
            tokio::time::sleep(INTERVAL + Duration::from_millis(1)).await;
            let lines = log.lines();
            let [line] = &lines[..] else { panic!("{lines:?}") };
            assert!(line.contains(&format!("requests={more} causes=\"full\"")), "{line}");
        }
        // Another cause is another matter.
        assert!(failures.is_first("gone"));
        // When there were none for as long, the next is told by itself.
        tokio::time::sleep(INTERVAL + Duration::from_millis(1)).await;
        assert!(log.lines().is_empty() && failures.is_first("full"));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_not_told_is_told_at_the_end() {
        let (log, _guard) = Log::begin();
        let failures = Failures::default();
        let watch = tokio::spawn(failures.0.count("full").expect("the first").run());
        tokio::task::yield_now().await;
        assert!(!failures.is_first("full"));
        watch.abort();
        assert!(watch.await.unwrap_err().is_cancelled());
        let lines = log.lines();
        assert!(matches!(&lines[..], [line] if line.contains("requests=1")), "{lines:?}");
        assert!(failures.is_first("full"));
    }

    #[test]
    fn a_flood_of_causes_takes_bounded_memory_and_few_lines() {
        let (log, _guard) = Log::begin();
        let Failures(lately) = Failures::default();
        let told: Vec<_> = (0..10_000).filter_map(|n| lately.count(&format!("cause {n}"))).collect();
        assert_eq!((told.len(), lately.untold().len()), (Lately::NAMES + 1, Lately::NAMES + 1));
        assert!(lately.count("cause 1").is_none(), "one of those that are told apart");
        drop(told);
        let lines = log.lines().into_iter().filter(|line| line.contains("requests=")).collect::<Vec<_>>();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines.iter().any(|line| line.contains(&format!("requests={}", 10_000 - Lately::NAMES - 1))));
        assert!(lately.untold().is_empty());
    }
}
