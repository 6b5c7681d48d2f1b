//! How long calls of the database take, told to whoever measures, and logged when it was long.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agora_domain::{Error, Result};
use tracing::Span;
use tracing::field::Empty;

use crate::mutex::lock;

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallOutcome {
    /// It was carried out, or refused by a rule or a constraint.
    Answered,
    /// The database is out of reach or overloaded, or there is a defect.
    Failed,
    /// Whoever had called waited no longer. On SQLite, and for work of PostgreSQL's pool, it may be carried out all the
    /// same.
    Abandoned,
}

/// Is told of every call of the database. It is told by whoever called, so it MUST be quick.
pub trait CallMeter: Send + Sync {
    /// A call of this name, one of a few dozen, has ended. Its time is what the caller waited, for its turn as well.
    fn ended(&self, operation: &'static str, time: Duration, outcome: CallOutcome);
}

/// What is to happen with the times of calls. By default nothing: they are not even taken.
#[derive(Clone, Default)]
pub struct QueryInstrumentation {
    /// Who is told of them.
    pub meter: Option<Arc<dyn CallMeter>>,
    /// From which time on a call is logged.
    pub slow: Option<Duration>,
}

/// Between two lines about slow calls at least: when the database is overloaded, every call is slow.
const INTERVAL: Duration = Duration::from_millis(100);

/// The calls of a database.
#[derive(Default)]
pub(crate) struct Calls {
    watch: QueryInstrumentation,
    /// Slow calls since the last line.
    unlogged: AtomicU64,
    logged: Mutex<Option<Instant>>,
}

impl Calls {
    pub(crate) fn new(watch: QueryInstrumentation) -> Self {
        Self { watch, ..Self::default() }
    }

    /// Begins a call: the name of a query function with its module.
    pub(crate) fn begin(&self, operation: &'static str) -> Call<'_> {
        let is_watched = self.watch.meter.is_some() || self.watch.slow.is_some();
        let begun = is_watched.then(Instant::now);
        Call { calls: self, operation, begun, outcome: CallOutcome::Abandoned, span: span(operation) }
    }

    fn ended(&self, operation: &'static str, time: Duration, outcome: CallOutcome) {
        if let Some(meter) = &self.watch.meter {
            meter.ended(operation, time, outcome);
        }
        if self.watch.slow.is_some_and(|slow| time >= slow)
            && let Some(unlogged) = self.log_slow(Instant::now())
        {
            let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            tracing::warn!(operation, milliseconds, ?outcome, unlogged, "a call of the database was slow");
        }
    }

    /// Returns whether a slow call is to be logged now, with how many were not before it.
    fn log_slow(&self, now: Instant) -> Option<u64> {
        let mut logged = lock(&self.logged);
        if logged.is_some_and(|logged| now.saturating_duration_since(logged) < INTERVAL) {
            self.unlogged.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        *logged = Some(now);
        Some(self.unlogged.swap(0, Ordering::Relaxed))
    }
}

/// A call that is under way. One that is dropped was abandoned.
pub(crate) struct Call<'a> {
    calls: &'a Calls,
    operation: &'static str,
    begun: Option<Instant>,
    outcome: CallOutcome,
    span: Span,
}

/// Returns the span of a call, for traces: as part of a request alone, since work in the background asks all the time.
fn span(operation: &'static str) -> Span {
    if Span::current().is_none() {
        return Span::none();
    }
    tracing::info_span!(
        "call",
        otel.name = operation,
        otel.kind = "client",
        otel.status_code = Empty,
        db.operation.name = operation
    )
}

impl Call<'_> {
    /// Ends it; the result as it was.
    pub(crate) fn end<T>(mut self, result: Result<T>) -> Result<T> {
        self.outcome = match &result {
            Err(Error::Unavailable(_) | Error::Internal(_)) => CallOutcome::Failed,
            _ => CallOutcome::Answered,
        };
        if self.outcome == CallOutcome::Failed {
            self.span.record("otel.status_code", "ERROR");
        }
        result
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if let Some(begun) = self.begun {
            self.calls.ended(self.operation, begun.elapsed(), self.outcome);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct RecordedCalls(Mutex<Vec<(&'static str, CallOutcome)>>);

    impl CallMeter for RecordedCalls {
        fn ended(&self, operation: &'static str, _: Duration, outcome: CallOutcome) {
            self.0.lock().unwrap().push((operation, outcome));
        }
    }

    #[test]
    fn every_call_is_told_of_however_it_ends() {
        let told = Arc::new(RecordedCalls::default());
        let calls =
            Calls::new(QueryInstrumentation { meter: Some(Arc::clone(&told) as Arc<dyn CallMeter>), slow: None });
        calls.begin("posts.find").end(Ok(())).unwrap();
        calls.begin("posts.edit").end::<()>(Err(Error::Stale)).unwrap_err();
        calls.begin("posts.list").end::<()>(Err(Error::unavailable("away"))).unwrap_err();
        drop(calls.begin("posts.delete"));
        let expected = [
            ("posts.find", CallOutcome::Answered),
            ("posts.edit", CallOutcome::Answered),
            ("posts.list", CallOutcome::Failed),
            ("posts.delete", CallOutcome::Abandoned),
        ];
        assert_eq!(*told.0.lock().unwrap(), expected);
    }

    #[test]
    fn a_flood_of_slow_calls_is_a_few_lines() {
        let (calls, begun) = (Calls::default(), Instant::now());
        assert_eq!(calls.log_slow(begun), Some(0));
        for _ in 0..1000 {
            assert_eq!(calls.log_slow(begun + INTERVAL / 2), None);
        }
        assert_eq!(calls.log_slow(begun + INTERVAL), Some(1000));
    }
}
