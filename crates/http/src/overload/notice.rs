//! Tells the log of refusals, of which an attack makes thousands a second, in a line now and then.

use std::{
    sync::{
        Mutex, PoisonError,
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

#[cfg(test)]
mod tests {
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
}
