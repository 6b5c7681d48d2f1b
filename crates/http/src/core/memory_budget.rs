//! A budget for the memory of large bodies, of requests or of responses, shared fairly between client addresses.

use std::sync::Arc;
use std::time::Duration;

use agora_domain::limits::ClientAddress;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::core::weak_map::Entry;
use crate::core::{ApiError, RejectionCounter, WeakMap};

/// The most bodies that may wait for memory. One more is refused.
const MAX_WAITING: usize = 256;

/// How long a body waits for memory before it is refused.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(15);

/// The part of the memory, and of the places in the queue, that the bodies of one address may hold: one in this many. A single
/// body larger than that is admitted while its address holds nothing else.
const ADDRESS_SHARE: usize = 2;

const KIBIBYTE: usize = 1024;

/// Bounds the memory of large bodies. Small ones need no permit: the limit on requests in flight bounds them.
///
/// A client that sends or reads slowly holds its memory for long, so no address gets all of it. A body beyond the share of
/// its address waits for other bodies of that address only, and does not delay those of other addresses. Loopback
/// addresses are exempt.
pub(crate) struct MemoryBudget {
    total: Pool,
    by_address: Arc<WeakMap<ClientAddress, Pool>>,
    refused: RejectionCounter,
}

/// An amount of memory, with one permit for each KiB, and a bounded queue of those who wait for it.
#[derive(Debug)]
struct Pool {
    permits: Arc<Semaphore>,
    size: usize,
    queue: Semaphore,
}

impl Pool {
    fn new(kibibytes: usize, max_waiting: usize) -> Self {
        let size = kibibytes.clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
        Self { permits: Arc::new(Semaphore::new(size)), size, queue: Semaphore::new(max_waiting) }
    }

    /// Returns the number of permits for this much memory, capped at the size of the pool.
    fn permits(&self, kibibytes: usize) -> u32 {
        u32::try_from(kibibytes.min(self.size)).unwrap_or(u32::MAX)
    }

    async fn acquire(&self, kibibytes: usize) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).acquire_many_owned(self.permits(kibibytes)).await.ok()
    }

    fn try_acquire(&self, kibibytes: usize) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).try_acquire_many_owned(self.permits(kibibytes)).ok()
    }
}

/// The memory reserved for one body, released when it is dropped.
#[derive(Debug)]
pub(crate) struct MemoryPermit {
    total: OwnedSemaphorePermit,
    address: Option<(OwnedSemaphorePermit, Arc<Entry<ClientAddress, Pool>>)>,
}

impl MemoryPermit {
    /// Releases all but `bytes` of the memory.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let kept = bytes.div_ceil(KIBIBYTE);
        for permit in [Some(&mut self.total), self.address.as_mut().map(|(permit, _)| permit)].into_iter().flatten() {
            let rest = permit.num_permits().saturating_sub(kept);
            drop(permit.split(rest));
        }
    }
}

impl MemoryBudget {
    /// Creates a budget of `bytes`. `name` is what the log calls it.
    pub(crate) fn new(bytes: usize, name: &'static str) -> Self {
        let total = Pool::new(bytes / KIBIBYTE, MAX_WAITING);
        Self { total, by_address: Arc::default(), refused: RejectionCounter::new(name) }
    }

    /// Returns how many bytes are reserved.
    pub(crate) fn held(&self) -> usize {
        self.total.size.saturating_sub(self.total.permits.available_permits()) * KIBIBYTE
    }

    /// Returns how many bodies wait for memory.
    pub(crate) fn waiting(&self) -> usize {
        MAX_WAITING.saturating_sub(self.total.queue.available_permits())
    }

    /// Returns how many bodies were refused since the start.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.total()
    }

    /// Waits until `bytes` can be reserved for this client, or the whole budget if `bytes` exceed it.
    ///
    /// # Errors
    /// [`ApiError::Busy`] when too many bodies wait already, or the memory is not available in time.
    pub(crate) async fn acquire(&self, client: ClientAddress, bytes: usize) -> Result<MemoryPermit, ApiError> {
        let acquired = self.acquire_uncounted(client, bytes).await;
        acquired.ok_or_else(|| {
            self.refused.count();
            ApiError::Busy
        })
    }

    /// Reserves the memory if it is available now; `None` if it would have to wait.
    pub(crate) fn try_acquire(&self, client: ClientAddress, bytes: usize) -> Option<MemoryPermit> {
        let kibibytes = bytes.div_ceil(KIBIBYTE);
        let address = match self.address_pool(client) {
            Some(pool) => Some((pool.try_acquire(kibibytes)?, pool)),
            None => None,
        };
        Some(MemoryPermit { total: self.total.try_acquire(kibibytes)?, address })
    }

    /// Returns the share of a client's address; `None` for a loopback address.
    fn address_pool(&self, client: ClientAddress) -> Option<Arc<Entry<ClientAddress, Pool>>> {
        let make = || Pool::new(self.total.size / ADDRESS_SHARE, MAX_WAITING / ADDRESS_SHARE);
        (!client.is_loopback()).then(|| self.by_address.get_or_insert_with(client, make))
    }

    async fn acquire_uncounted(&self, client: ClientAddress, bytes: usize) -> Option<MemoryPermit> {
        let kibibytes = bytes.div_ceil(KIBIBYTE);
        let pool = self.address_pool(client);
        let _in_address_queue = match &pool {
            Some(pool) => Some(pool.queue.try_acquire().ok()?),
            None => None,
        };
        let _in_queue = self.total.queue.try_acquire().ok()?;
        let acquire = async {
            // The share of the address first, so that nobody else waits behind a body that is beyond it.
            let address = match &pool {
                Some(pool) => Some((pool.acquire(kibibytes).await?, Arc::clone(pool))),
                None => None,
            };
            Some(MemoryPermit { total: self.total.acquire(kibibytes).await?, address })
        };
        timeout(ACQUIRE_TIMEOUT, acquire).await.ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::task::unconstrained;
    use tokio::time::Instant;

    use super::*;

    const MEBIBYTE: usize = 1024 * KIBIBYTE;

    fn budget() -> MemoryBudget {
        MemoryBudget::new(32 * MEBIBYTE, "tests")
    }

    fn client(address: &str) -> ClientAddress {
        ClientAddress::of(address.parse().unwrap())
    }

    /// Polls `acquire` once.
    fn acquire_now(budget: &MemoryBudget, address: &str, mebibytes: usize) -> Option<MemoryPermit> {
        // Unconstrained, since tokio's cooperative budget makes even a free permit pending after many polls of one task.
        unconstrained(budget.acquire_uncounted(client(address), mebibytes * MEBIBYTE)).now_or_never().flatten()
    }

    #[tokio::test]
    async fn an_address_gets_half_of_the_memory_and_others_get_the_rest() {
        let budget = budget();
        let held: Vec<_> = (0..6).map_while(|_| acquire_now(&budget, "198.51.100.7", 5)).collect();
        assert_eq!(held.len(), 3);
        let others: Vec<_> = (8..14).map_while(|n| acquire_now(&budget, &format!("198.51.100.{n}"), 5)).collect();
        assert_eq!(others.len(), 3);
        // An IPv6 network counts as one address.
        drop(others);
        let network: Vec<_> = (1..7).map_while(|n| acquire_now(&budget, &format!("2001:db8::{n}"), 5)).collect();
        assert_eq!(network.len(), 3);
    }

    #[tokio::test]
    async fn available_memory_is_acquired_without_waiting_and_shrinking_a_permit_releases_the_rest() {
        for address in ["127.0.0.1", "198.51.100.7"] {
            let budget = budget();
            let mut held: Vec<_> = (0..100).map_while(|_| budget.try_acquire(client(address), MEBIBYTE)).collect();
            assert_eq!(held.len(), if address == "127.0.0.1" { 32 } else { 16 });
            held[0].shrink_to(MEBIBYTE / 2 + 1);
            assert!(budget.try_acquire(client(address), MEBIBYTE / 2).is_none());
            held[0].shrink_to(MEBIBYTE / 2);
            held[0].shrink_to(MEBIBYTE);
            assert_eq!(budget.held(), held.len() * MEBIBYTE - MEBIBYTE / 2);
            assert!(budget.try_acquire(client(address), MEBIBYTE / 2).is_some());
            drop(held);
            assert_eq!(budget.held(), 0);
        }
    }

    #[tokio::test]
    async fn released_memory_goes_to_the_first_in_the_queue() {
        let budget = budget();
        let mut held: Vec<_> = (0..32).map_while(|_| acquire_now(&budget, "127.0.0.1", 1)).collect();
        let mut waits = Box::pin(unconstrained(budget.acquire_uncounted(client("127.0.0.1"), 2 * MEBIBYTE)));
        assert!((&mut waits).now_or_never().is_none());
        held.pop();
        assert!(budget.try_acquire(client("127.0.0.1"), MEBIBYTE).is_none());
        held.pop();
        assert!((&mut waits).now_or_never().flatten().is_some());
    }

    #[tokio::test]
    async fn loopback_addresses_may_use_the_whole_budget() {
        let budget = budget();
        for address in ["127.0.0.1", "::1"] {
            assert_eq!((0..10).map_while(|_| acquire_now(&budget, address, 5)).count(), 10, "one after another");
            let held: Vec<_> = (0..10).map_while(|_| acquire_now(&budget, address, 5)).collect();
            assert_eq!(held.len(), 6);
        }
    }

    #[tokio::test]
    async fn a_body_larger_than_a_share_is_admitted_alone() {
        let budget = budget();
        for mebibytes in [20, 32, 100] {
            let held = acquire_now(&budget, "198.51.100.7", mebibytes).expect("room");
            assert!(acquire_now(&budget, "198.51.100.7", 1).is_none());
            assert_eq!(acquire_now(&budget, "198.51.100.8", 5).is_some(), mebibytes == 20);
            drop(held);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_beyond_the_share_of_its_address_waits_without_delaying_other_addresses() {
        let budget = budget();
        let held = [10, 6].map(|mebibytes| acquire_now(&budget, "198.51.100.7", mebibytes).expect("room"));
        let begun = Instant::now();
        let mut waits = Box::pin(budget.acquire_uncounted(client("198.51.100.7"), 5 * MEBIBYTE));
        assert!((&mut waits).now_or_never().is_none());
        assert!(acquire_now(&budget, "198.51.100.8", 16).is_some());
        drop(held);
        assert!(waits.await.is_some());
        let _held = acquire_now(&budget, "198.51.100.7", 16).expect("room");
        assert!(budget.acquire_uncounted(client("198.51.100.7"), MEBIBYTE).await.is_none());
        assert_eq!(begun.elapsed(), ACQUIRE_TIMEOUT);
    }

    #[tokio::test]
    async fn an_address_gets_half_of_the_places_in_the_queue() {
        let budget = budget();
        let _held = ["198.51.100.7", "198.51.100.8"].map(|address| acquire_now(&budget, address, 16).expect("room"));
        let mut queue = Vec::new();
        for address in ["198.51.100.7", "198.51.100.8", "198.51.100.9"] {
            let before = queue.len();
            for _ in 0..MAX_WAITING {
                let mut waits = Box::pin(unconstrained(budget.acquire_uncounted(client(address), MEBIBYTE)));
                // A refusal is immediate; what is pending is queued.
                if (&mut waits).now_or_never().is_none() {
                    queue.push(waits);
                }
            }
            let expected = if before < MAX_WAITING { MAX_WAITING / ADDRESS_SHARE } else { 0 };
            assert_eq!(queue.len() - before, expected, "{address}");
        }
    }

    #[tokio::test]
    async fn the_entry_of_an_address_is_removed_with_its_last_body() {
        let budget = budget();
        for n in 0..1000 {
            let address = format!("198.51.{}.{}", n / 250, n % 250);
            let held = [acquire_now(&budget, &address, 5), acquire_now(&budget, &address, 5)];
            assert!(held.iter().all(Option::is_some), "{address}");
            assert!(acquire_now(&budget, &address, 16).is_none());
            assert_eq!(budget.by_address.len(), 1);
        }
        assert_eq!(budget.by_address.len(), 0);
        assert_eq!(budget.total.permits.available_permits(), budget.total.size);
    }
}
