//! The counters of rate limits, in bounded memory.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agora_domain::clock::Timestamp;
use agora_domain::limits::{Counted, Counters, Window};
use quick_cache::sync::Cache;

/// Rate limit counters in memory, separate for each node.
///
/// The key of a counter is a keyed digest of what is counted, however long that is, so that memory is bounded. When a cache is
/// full, counters that were used long ago or only once are evicted first.
pub struct BoundedCounters {
    digest: [RandomState; 2],
    /// Two caches, for requests, which every client makes, and for everything else: neither evicts entries of the other.
    windows: [Cache<u128, Arc<Mutex<Option<Window>>>>; 2],
}

impl BoundedCounters {
    /// The approximate capacity of each of the two caches, in windows: 16 MiB at most.
    const CAPACITY: usize = 100_000;

    /// Creates counters that are all zero.
    pub fn new() -> Self {
        Self::with_capacity(Self::CAPACITY)
    }

    fn with_capacity(windows: usize) -> Self {
        Self { digest: [RandomState::new(), RandomState::new()], windows: [Cache::new(windows), Cache::new(windows)] }
    }

    fn windows(&self, counted: &Counted) -> &Cache<u128, Arc<Mutex<Option<Window>>>> {
        let [requests, others] = &self.windows;
        if matches!(counted, Counted::Requests(..) | Counted::AccountRequests(..)) { requests } else { others }
    }

    /// Returns the key of a counter. Clients cannot search for collisions: the keys of the digest are random for each process,
    /// and are never revealed.
    fn digest(&self, counted: &Counted) -> u128 {
        let [high, low] = &self.digest;
        u128::from(high.hash_one(counted)) << 64 | u128::from(low.hash_one(counted))
    }
}

impl Default for BoundedCounters {
    fn default() -> Self {
        Self::new()
    }
}

fn lock(window: &Mutex<Option<Window>>) -> MutexGuard<'_, Option<Window>> {
    window.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Counters for BoundedCounters {
    fn get(&self, counted: &Counted, now: Timestamp) -> Window {
        let known = self.windows(counted).get(&self.digest(counted)).and_then(|window| *lock(&window));
        Window::at(known, counted.limit(), now)
    }

    fn add(&self, counted: &Counted, now: Timestamp) -> Window {
        let new = || Ok::<_, std::convert::Infallible>(Arc::default());
        let Ok(window) = self.windows(counted).get_or_insert_with(&self.digest(counted), new);
        let mut window = lock(&window);
        let one_more = Window::at(*window, counted.limit(), now).with_one_more();
        *window = Some(one_more);
        one_more
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::num::NonZeroU32;
    use std::thread;

    use agora_domain::limits::ClientAddress;

    use super::*;

    const NOW: Timestamp = Timestamp::from_unix_millis(1_752_539_094_124);

    fn logins(address: u32) -> Counted {
        Counted::Logins(ClientAddress::of(Ipv4Addr::from_bits(address).into()))
    }

    #[test]
    fn counters_are_independent() {
        let counters = BoundedCounters::new();
        let one = logins(1);
        let Counted::Logins(client) = one else { unreachable!() };
        for counted in [one, logins(2), Counted::Registrations(client)] {
            assert_eq!(counters.get(&counted, NOW).count, 0);
            assert_eq!(counters.add(&counted, NOW).count, 1);
            assert_eq!(counters.add(&counted, NOW.plus_millis(59_999)), Window { begun: NOW, count: 2 });
            let over = NOW.plus_millis(60_000);
            assert_eq!(counters.get(&counted, over), Window { begun: over, count: 0 });
        }
    }

    #[test]
    fn concurrent_increments_are_not_lost() {
        let counters = BoundedCounters::new();
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..1000).for_each(|_| _ = counters.add(&logins(1), NOW)));
            }
        });
        assert_eq!(counters.get(&logins(1), NOW).count, 8000);
    }

    #[test]
    fn a_flood_of_requests_evicts_no_other_counter() {
        let counters = BoundedCounters::with_capacity(1000);
        counters.add(&logins(0), NOW);
        for address in 1..=100_000 {
            let client = ClientAddress::of(Ipv4Addr::from_bits(address).into());
            counters.add(&Counted::Requests(client, NonZeroU32::MIN), NOW);
        }
        assert_eq!(counters.get(&logins(0), NOW).count, 1);
    }

    #[test]
    fn a_flood_of_addresses_takes_bounded_memory_and_does_not_evict_an_active_counter() {
        let counters = BoundedCounters::with_capacity(1000);
        for address in 1..=100_000 {
            counters.add(&logins(address), NOW);
            if address % 100 == 0 {
                counters.add(&logins(0), NOW);
            }
        }
        let kept = counters.windows(&logins(0)).len();
        assert!(kept <= 1100, "{kept}");
        assert_eq!(counters.get(&logins(0), NOW).count, 1000);
    }
}
