//! Tells the log of refusals, of which an attack makes thousands a second, in a line now and then.

use std::{
    collections::HashMap,
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Between two lines about the same.
const INTERVAL: Duration = Duration::from_secs(10);

/// Refusals of one kind.
pub(crate) struct Notice {
    what: &'static str,
    refused: AtomicU64,
    /// All since the start.
    total: AtomicU64,
    told: Mutex<Option<Instant>>,
}

impl Notice {
    /// About too many of `what`.
    pub(crate) const fn new(what: &'static str) -> Self {
        Self { what, refused: AtomicU64::new(0), total: AtomicU64::new(0), told: Mutex::new(None) }
    }

    /// How many refusals there were since the start.
    pub(crate) fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// Counts a refusal. The first is logged, then how many there were, every ten seconds at most.
    pub(crate) fn tell(&self) {
        if let Some(refused) = self.count(Instant::now()) {
            tracing::warn!(refused, "refused, with 503: too many {}", self.what);
        }
    }

    /// Counts a refusal: how many there were since the last line, if it is time for another.
    fn count(&self, now: Instant) -> Option<u64> {
        self.refused.fetch_add(1, Ordering::Relaxed);
        self.total.fetch_add(1, Ordering::Relaxed);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.is_some_and(|told| now.saturating_duration_since(told) < INTERVAL) {
            return None;
        }
        *told = Some(now);
        Some(self.refused.swap(0, Ordering::Relaxed))
    }
}

/// Failures of requests by their causes, of which each is told by itself once, and then how often it was met.
#[derive(Default)]
pub(crate) struct Failures {
    /// How many there were, not yet told, of each cause that was told lately.
    untold: Mutex<HashMap<String, u64>>,
}

impl Failures {
    /// How many causes are told apart at a time: what causes say, such as the answer of another server, can differ each
    /// time.
    const CAUSES: usize = 64;

    /// What all others count as.
    const OTHERS: &'static str = "more causes than are told apart";

    fn untold(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a failure. The first of its cause is to be told by itself: then this gives what tells of the others, which
    /// must run meanwhile.
    pub(crate) fn count(self: &Arc<Self>, cause: &str) -> Option<Watch> {
        let mut untold = self.untold();
        let is_one_too_many = untold.len() >= Self::CAUSES && !untold.contains_key(cause);
        let cause = if is_one_too_many { Self::OTHERS } else { cause };
        if let Some(count) = untold.get_mut(cause) {
            *count = count.saturating_add(1);
            return None;
        }
        untold.insert(cause.to_owned(), 0);
        Some(Watch { failures: Arc::clone(self), cause: cause.to_owned() })
    }
}

/// Tells of the failures of a cause together. Once it is gone, the next one is told by itself again.
pub(crate) struct Watch {
    failures: Arc<Failures>,
    cause: String,
}

impl Watch {
    /// Tells every ten seconds how many there were, until there are none.
    pub(crate) async fn run(self) {
        loop {
            tokio::time::sleep(INTERVAL).await;
            let count = self.failures.untold().get_mut(&self.cause).map_or(0, mem::take);
            if count == 0 {
                break;
            }
            self.tell(count);
        }
    }

    fn tell(&self, requests: u64) {
        tracing::error!(status = 503, requests, causes = self.cause, "so many more requests failed alike");
    }
}

/// When the service stops as well, which ends what runs.
impl Drop for Watch {
    fn drop(&mut self) {
        let count = self.failures.untold().remove(&self.cause).unwrap_or_default();
        if count > 0 {
            self.tell(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{io, time::Duration};

    use tracing::subscriber::DefaultGuard;

    use super::*;

    #[test]
    fn the_first_refusal_is_told_at_once_and_others_together() {
        let notice = Notice::new("things");
        let begun = Instant::now();
        assert_eq!(notice.count(begun), Some(1));
        for _ in 0..1000 {
            assert_eq!(notice.count(begun + INTERVAL / 2), None);
        }
        assert_eq!(notice.count(begun + INTERVAL), Some(1001));
    }

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

    #[tokio::test(start_paused = true)]
    async fn of_failures_alike_the_first_is_told_by_itself_and_how_many_more_every_ten_seconds() {
        let (log, _guard) = Log::begin();
        let failures = Arc::new(Failures::default());
        let watch = tokio::spawn(failures.count("full").expect("the first").run());
        for more in [3, 500] {
            for _ in 0..more {
                assert!(failures.count("full").is_none());
            }
            assert_eq!(log.lines(), [""; 0]);
            tokio::time::sleep(INTERVAL + Duration::from_millis(1)).await;
            let lines = log.lines();
            let [line] = &lines[..] else { panic!("{lines:?}") };
            assert!(line.contains(&format!("requests={more} causes=\"full\"")), "{line}");
        }
        // Another cause is another matter.
        assert!(failures.count("gone").is_some());
        // When there were none for as long, the next is told by itself.
        watch.await.unwrap();
        assert!(log.lines().is_empty() && failures.count("full").is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_not_told_is_told_at_the_end() {
        let (log, _guard) = Log::begin();
        let failures = Arc::new(Failures::default());
        let watch = tokio::spawn(failures.count("full").expect("the first").run());
        tokio::task::yield_now().await;
        assert!(failures.count("full").is_none());
        watch.abort();
        assert!(watch.await.unwrap_err().is_cancelled());
        let lines = log.lines();
        assert!(matches!(&lines[..], [line] if line.contains("requests=1")), "{lines:?}");
        assert!(failures.count("full").is_some());
    }

    #[test]
    fn a_flood_of_causes_takes_bounded_memory_and_few_lines() {
        let (log, _guard) = Log::begin();
        let failures = Arc::new(Failures::default());
        let told: Vec<_> = (0..10_000).filter_map(|n| failures.count(&format!("cause {n}"))).collect();
        assert_eq!((told.len(), failures.untold().len()), (Failures::CAUSES + 1, Failures::CAUSES + 1));
        assert!(failures.count("cause 1").is_none(), "one of those that are told apart");
        drop(told);
        let lines = log.lines().into_iter().filter(|line| line.contains("requests=")).collect::<Vec<_>>();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines.iter().any(|line| line.contains(&format!("requests={}", 10_000 - Failures::CAUSES - 1))));
        assert!(failures.untold().is_empty());
    }
}
