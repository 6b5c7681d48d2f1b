//! Measures calls of the database, and logs slow ones.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agora_domain::{Error, Result};
use tracing::Span;
use tracing::field::Empty;

use crate::mutex::lock;

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallOutcome {
    /// It was carried out, or rejected by a rule or a constraint.
    Answered,
    /// The database is unreachable or overloaded, or there is a defect.
    Failed,
    /// The caller stopped waiting. On SQLite, and for work of PostgreSQL's pool, the call may be carried out all the same.
    Abandoned,
}

/// Receives a measurement of every call of the database. It runs in the task of the caller, so it MUST be quick.
pub trait CallMeter: Send + Sync {
    /// Records that a call ended. There are a few dozen operation names. The time includes the wait in the queue.
    fn ended(&self, operation: &'static str, time: Duration, outcome: CallOutcome);
}

/// How calls are measured and logged. By default they are not even timed.
#[derive(Clone, Default)]
pub struct QueryInstrumentation {
    /// The receiver of measurements.
    pub meter: Option<Arc<dyn CallMeter>>,
    /// The duration from which on a call is logged as slow.
    pub slow: Option<Duration>,
}

/// The minimum time between two log lines about slow calls: when the database is overloaded, every call is slow.
const MIN_LOG_INTERVAL: Duration = Duration::from_millis(100);

/// The instrumentation of a database's calls.
#[derive(Default)]
pub(crate) struct Calls {
    instrumentation: QueryInstrumentation,
    /// The number of slow calls not logged since the last log line.
    unlogged: AtomicU64,
    logged: Mutex<Option<Instant>>,
}

impl Calls {
    pub(crate) fn new(instrumentation: QueryInstrumentation) -> Self {
        Self { instrumentation, ..Self::default() }
    }

    /// Begins a call. `operation` is the name of a query function with its module, such as `posts.find`.
    pub(crate) fn begin(&self, operation: &'static str) -> Call<'_> {
        let is_timed = self.instrumentation.meter.is_some() || self.instrumentation.slow.is_some();
        let started = is_timed.then(Instant::now);
        Call { calls: self, operation, started, outcome: CallOutcome::Abandoned, span: span(operation) }
    }

    fn ended(&self, operation: &'static str, time: Duration, outcome: CallOutcome) {
        if let Some(meter) = &self.instrumentation.meter {
            meter.ended(operation, time, outcome);
        }
        if self.instrumentation.slow.is_some_and(|slow| time >= slow)
            && let Some(unlogged) = self.sample_slow(Instant::now())
        {
            let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            tracing::warn!(operation, milliseconds, ?outcome, unlogged, "slow database call");
        }
    }

    /// Returns `None` if a slow call must not be logged now, else the number of slow calls that were not logged before it.
    fn sample_slow(&self, now: Instant) -> Option<u64> {
        let mut logged = lock(&self.logged);
        if logged.is_some_and(|logged| now.saturating_duration_since(logged) < MIN_LOG_INTERVAL) {
            self.unlogged.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        *logged = Some(now);
        Some(self.unlogged.swap(0, Ordering::Relaxed))
    }
}

/// A call in progress. Dropping it without [`Call::end`] counts it as abandoned.
pub(crate) struct Call<'a> {
    calls: &'a Calls,
    operation: &'static str,
    started: Option<Instant>,
    outcome: CallOutcome,
    span: Span,
}

/// Returns the tracing span of a call. Only calls within a request have one: background work queries the database all the time.
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
    /// Ends the call, and returns the result unchanged.
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
        if let Some(started) = self.started {
            self.calls.ended(self.operation, started.elapsed(), self.outcome);
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
    fn every_call_is_measured_however_it_ends() {
        let meter = Arc::new(RecordedCalls::default());
        let calls =
            Calls::new(QueryInstrumentation { meter: Some(Arc::clone(&meter) as Arc<dyn CallMeter>), slow: None });
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
        assert_eq!(*meter.0.lock().unwrap(), expected);
    }

    #[test]
    fn many_slow_calls_are_logged_in_a_few_lines() {
        let (calls, started) = (Calls::default(), Instant::now());
        assert_eq!(calls.sample_slow(started), Some(0));
        for _ in 0..1000 {
            assert_eq!(calls.sample_slow(started + MIN_LOG_INTERVAL / 2), None);
        }
        assert_eq!(calls.sample_slow(started + MIN_LOG_INTERVAL), Some(1000));
    }
}
