//! Counts of the requests that this node answered in each of the last minutes, and of those that failed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use actix_web::http::StatusCode;
use agora_domain::clock::Timestamp;

/// How many minutes are reported, including the current one.
const MINUTES: u32 = 60;

/// The number of slots in a ring: more than are reported, so that the next minute begins in a slot that is not read.
const SLOTS: u32 = MINUTES + 4;

const MINUTE_MILLIS: i64 = 60_000;

/// The counts of one minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Minute {
    /// When the minute began.
    pub(crate) at: Timestamp,
    /// All requests that were answered.
    pub(crate) requests: u32,
    /// The requests answered with a status of 4xx.
    pub(crate) client_errors: u32,
    /// The requests answered with a status of 5xx.
    pub(crate) server_errors: u32,
}

/// Counts the requests of each minute of the clock in ring buffers, without locks.
pub(crate) struct Traffic {
    begun: Instant,
    begun_at: Timestamp,
    requests: Ring,
    client_errors: Ring,
    server_errors: Ring,
}

impl Traffic {
    /// Creates counters that are all zero.
    pub(crate) fn new(now: Timestamp) -> Self {
        let [requests, client_errors, server_errors] = [(); 3].map(|()| Ring::new());
        Self { begun: Instant::now(), begun_at: now, requests, client_errors, server_errors }
    }

    /// Returns when counting began.
    pub(crate) fn begun_at(&self) -> Timestamp {
        self.begun_at
    }

    /// Returns how long requests have been counted.
    pub(crate) fn age(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Counts a request that was answered just now.
    pub(crate) fn count(&self, status: StatusCode) {
        self.count_in(self.minute(), status);
    }

    fn count_in(&self, minute: u32, status: StatusCode) {
        self.requests.count(minute);
        if status.is_client_error() {
            self.client_errors.count(minute);
        } else if status.is_server_error() {
            self.server_errors.count(minute);
        }
    }

    /// Returns the last minutes, from the oldest to the current one.
    pub(crate) fn minutes(&self) -> Vec<Minute> {
        self.minutes_until(self.minute())
    }

    fn minutes_until(&self, last: u32) -> Vec<Minute> {
        let minutes = last.saturating_sub(MINUTES - 1)..=last;
        let minute = |minute| Minute {
            at: Timestamp::from_unix_millis(i64::from(minute) * MINUTE_MILLIS),
            requests: self.requests.counted(minute),
            client_errors: self.client_errors.counted(minute),
            server_errors: self.server_errors.counted(minute),
        };
        minutes.map(minute).collect()
    }

    /// Returns the number of this minute since 1970.
    fn minute(&self) -> u32 {
        let elapsed = i64::try_from(self.begun.elapsed().as_millis()).unwrap_or(i64::MAX);
        let minute = self.begun_at.plus_millis(elapsed).unix_millis().div_euclid(MINUTE_MILLIS);
        u32::try_from(minute).unwrap_or_default()
    }
}

/// The counts of one kind. Each slot has the number of a minute in its upper 32 bits, and the count of that minute in its lower
/// ones.
struct Ring([AtomicU64; SLOTS as usize]);

impl Ring {
    fn new() -> Self {
        Self([(); SLOTS as usize].map(|()| AtomicU64::new(0)))
    }

    fn slot(&self, minute: u32) -> Option<&AtomicU64> {
        self.0.get((minute % SLOTS) as usize)
    }

    fn count(&self, minute: u32) {
        let Some(slot) = self.slot(minute) else { return };
        let (number, first) = (u64::from(minute), u64::from(minute) << 32 | 1);
        let counted = |found: u64| Some(if found >> 32 == number { found + 1 } else { first });
        // It never fails: `counted` always returns `Some`.
        let _ = slot.fetch_update(Ordering::Relaxed, Ordering::Relaxed, counted);
    }

    fn counted(&self, minute: u32) -> u32 {
        let found = self.slot(minute).map_or(0, |slot| slot.load(Ordering::Relaxed));
        if found >> 32 == u64::from(minute) { (found & u64::from(u32::MAX)) as u32 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const FIRST: u32 = 29_000_000;

    fn traffic() -> Traffic {
        Traffic::new(Timestamp::from_unix_millis(i64::from(FIRST) * MINUTE_MILLIS + 59_000))
    }

    #[test]
    fn requests_are_counted_by_minute_and_status() {
        let traffic = traffic();
        for status in [StatusCode::OK, StatusCode::NOT_FOUND, StatusCode::SERVICE_UNAVAILABLE, StatusCode::OK] {
            traffic.count(status);
        }
        traffic.count_in(FIRST + 1, StatusCode::INTERNAL_SERVER_ERROR);
        let minutes = traffic.minutes_until(FIRST + 1);
        assert_eq!(minutes.len(), 60);
        let counts = |minute: &Minute| (minute.requests, minute.client_errors, minute.server_errors);
        assert_eq!(minutes[58..].iter().map(counts).collect::<Vec<_>>(), [(4, 1, 1), (1, 0, 1)]);
        assert!(minutes[..58].iter().all(|minute| counts(minute) == (0, 0, 0)));
        assert_eq!(minutes[58].at.unix_millis(), i64::from(FIRST) * MINUTE_MILLIS);
    }

    #[test]
    fn a_slot_is_reset_when_its_next_minute_begins() {
        let traffic = traffic();
        for minute in FIRST..FIRST + 3 * SLOTS {
            traffic.count_in(minute, StatusCode::OK);
            let counted = |minute: &Minute| minute.requests;
            let since = usize::try_from(minute - FIRST + 1).unwrap().min(60);
            assert_eq!(traffic.minutes_until(minute).iter().map(counted).sum::<u32>() as usize, since);
        }
        let later = traffic.minutes_until(FIRST + 4 * SLOTS);
        assert!(later.iter().all(|minute| minute.requests == 0));
    }

    #[test]
    fn no_count_is_lost_when_threads_count_concurrently() {
        let traffic = traffic();
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..80_000).for_each(|n| traffic.count_in(FIRST + n / 10_000, StatusCode::NOT_FOUND)));
            }
        });
        let minutes = traffic.minutes_until(FIRST + 7);
        for minute in &minutes[52..] {
            assert_eq!((minute.requests, minute.client_errors), (80_000, 80_000));
        }
    }
}
