//! Samples log lines of events that an attack, or an unavailable dependency, causes thousands of times a second: the first
//! is logged, then every ten seconds the number of those that were suppressed.

use std::collections::HashMap;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;

/// The time between two log lines about events of the same name.
const INTERVAL: Duration = Duration::from_secs(10);

/// Counts what one limit rejects, and logs samples of it.
pub(crate) struct RejectionCounter {
    what: &'static str,
    /// All rejections since the start.
    total: AtomicU64,
    sampler: Arc<LogSampler>,
}

impl RejectionCounter {
    /// Creates a counter of rejections. The log says that there were too many of `what`.
    pub(crate) fn new(what: &'static str) -> Self {
        Self { what, total: AtomicU64::new(0), sampler: LogSampler::new(Self::log) }
    }

    /// Returns how many were rejected since the start.
    pub(crate) fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// Counts a rejection.
    pub(crate) fn count(&self) {
        self.total.fetch_add(1, Ordering::Relaxed);
        if self.sampler.is_first(self.what) {
            Self::log(self.what, 1);
        }
    }

    fn log(what: &str, refused: u64) {
        tracing::warn!(refused, "refused, with 503: too many {what}");
    }
}

/// Logs the first event of each name, and then how many were suppressed.
pub(crate) struct LogSampler {
    /// Logs the number of suppressed events of a name.
    log: fn(&str, u64),
    /// The number of suppressed events, by name. A name is here while its reporter runs.
    suppressed: Mutex<HashMap<String, u64>>,
}

impl LogSampler {
    /// The most names that are tracked at a time. Names can be unbounded: the text of a cause, such as the answer of another
    /// server, can differ each time.
    const MAX_NAMES: usize = 64;

    /// The name under which all events beyond [`MAX_NAMES`](Self::MAX_NAMES) are counted.
    const OTHERS: &'static str = "other causes";

    /// Creates a sampler. `log` is called with a name and the number of its suppressed events.
    pub(crate) fn new(log: fn(&str, u64)) -> Arc<Self> {
        Arc::new(Self { log, suppressed: Mutex::default() })
    }

    fn suppressed(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        self.suppressed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an event. Returns whether it is the first of its name: then the caller logs it, and later ones are suppressed.
    pub(crate) fn is_first(self: &Arc<Self>, name: &str) -> bool {
        let Some(reporter) = self.count(name) else { return false };
        // Without a runtime no reporter can run, so every event is the first.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(reporter.run());
        }
        true
    }

    /// Counts an event. For the first of its name, returns the reporter that logs the later ones; events are suppressed for as
    /// long as it lives.
    fn count(self: &Arc<Self>, name: &str) -> Option<Reporter> {
        let mut suppressed = self.suppressed();
        let is_one_too_many = suppressed.len() >= Self::MAX_NAMES && !suppressed.contains_key(name);
        let name = if is_one_too_many { Self::OTHERS } else { name };
        if let Some(count) = suppressed.get_mut(name) {
            *count = count.saturating_add(1);
            return None;
        }
        suppressed.insert(name.to_owned(), 0);
        Some(Reporter { sampler: Arc::clone(self), name: name.to_owned() })
    }
}

/// Logs how many events of a name were suppressed. Once it is dropped, the next event counts as the first again.
struct Reporter {
    sampler: Arc<LogSampler>,
    name: String,
}

impl Reporter {
    /// Logs every ten seconds how many events were suppressed, and ends once there were none.
    async fn run(self) {
        loop {
            tokio::time::sleep(INTERVAL).await;
            let count = self.sampler.suppressed().get_mut(self.name.as_str()).map_or(0, mem::take);
            if count == 0 {
                break;
            }
            (self.sampler.log)(&self.name, count);
        }
    }
}

/// Logs what is left also when the runtime shuts down, which drops the running task.
impl Drop for Reporter {
    fn drop(&mut self) {
        let count = self.sampler.suppressed().remove(self.name.as_str()).unwrap_or_default();
        if count > 0 {
            (self.sampler.log)(&self.name, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use tracing::subscriber::DefaultGuard;

    use super::*;

    /// The captured log of this thread.
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

        /// Returns the lines since the last call.
        fn lines(&self) -> Vec<String> {
            let text = String::from_utf8(mem::take(&mut *self.0.lock().unwrap())).unwrap();
            text.lines().map(str::to_owned).collect()
        }
    }

    /// Lets background tasks run until they wait.
    async fn settle() {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_rejection_is_logged_immediately_and_the_number_of_later_ones_every_ten_seconds() {
        let (log, _guard) = Log::begin();
        let counter = RejectionCounter::new("things");
        let expect = |refused: u64| {
            let lines = log.lines();
            let [line] = &lines[..] else { panic!("{lines:?}") };
            assert!(line.contains("WARN") && line.contains("too many things"), "{line}");
            assert!(line.contains(&format!("refused={refused}")), "{line}");
        };
        counter.count();
        expect(1);
        settle().await;
        // A burst that is already over is reported too.
        for more in [839, 3] {
            (0..more).for_each(|_| counter.count());
            assert_eq!(log.lines(), [""; 0]);
            tokio::time::sleep(INTERVAL + Duration::from_millis(1)).await;
            expect(more);
        }
        // After an interval without any, the next is the first again.
        tokio::time::sleep(INTERVAL + Duration::from_millis(1)).await;
        assert_eq!(log.lines(), [""; 0]);
        counter.count();
        expect(1);
        assert_eq!(counter.total(), 1 + 839 + 3 + 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_of_identical_failures_is_logged_immediately_and_the_number_of_later_ones_every_ten_seconds() {
        let (log, _guard) = Log::begin();
        let failures = LogSampler::new(|causes, count| tracing::error!(causes, "suppressed {count} more"));
        assert!(failures.is_first("full"));
        settle().await;
        for more in [3, 500] {
            assert!((0..more).all(|_| !failures.is_first("full")));
            assert_eq!(log.lines(), [""; 0]);
            tokio::time::sleep(INTERVAL + Duration::from_millis(1)).await;
            let lines = log.lines();
            let [line] = &lines[..] else { panic!("{lines:?}") };
            let expected = format!("suppressed {more} more");
            assert!(line.contains(&expected) && line.contains("causes=\"full\""), "{line}");
        }
        // Causes are counted separately.
        assert!(failures.is_first("gone"));
        // After an interval without any, the next is the first again.
        tokio::time::sleep(INTERVAL + Duration::from_millis(1)).await;
        assert!(log.lines().is_empty() && failures.is_first("full"));
    }

    #[tokio::test(start_paused = true)]
    async fn suppressed_events_are_logged_when_the_reporter_is_aborted() {
        let (log, _guard) = Log::begin();
        let failures = LogSampler::new(|causes, count| tracing::error!(causes, "suppressed {count} more"));
        let reporter = tokio::spawn(failures.count("full").expect("the first").run());
        tokio::task::yield_now().await;
        assert!(!failures.is_first("full"));
        reporter.abort();
        assert!(reporter.await.unwrap_err().is_cancelled());
        let lines = log.lines();
        assert!(matches!(&lines[..], [line] if line.contains("suppressed 1 more")), "{lines:?}");
        assert!(failures.is_first("full"));
    }

    #[test]
    fn a_flood_of_distinct_causes_takes_bounded_memory_and_few_log_lines() {
        let (log, _guard) = Log::begin();
        let sampler = LogSampler::new(|_, count| tracing::error!("suppressed {count} more"));
        let reporters: Vec<_> = (0..10_000).filter_map(|n| sampler.count(&format!("cause {n}"))).collect();
        let names = LogSampler::MAX_NAMES + 1;
        assert_eq!((reporters.len(), sampler.suppressed().len()), (names, names));
        assert!(sampler.count("cause 1").is_none(), "one of the names that are kept");
        drop(reporters);
        let lines = log.lines().into_iter().filter(|line| line.contains("suppressed ")).collect::<Vec<_>>();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines.iter().any(|line| line.contains(&format!("suppressed {} ", 10_000 - names))));
        assert!(sampler.suppressed().is_empty());
    }
}
