//! The memory that large bodies, of requests or of answers, may take together, and what those of one client address may
//! have of it.

use std::sync::Arc;
use std::time::Duration;

use agora_domain::limits::ClientAddress;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::core::weak_map::Entry;
use crate::core::{ApiError, RejectionCounter, WeakMap};

/// How many bodies wait for room; one more is refused.
const WAITING: usize = 256;

/// How long a body waits for room.
const PATIENCE: Duration = Duration::from_secs(15);

/// Of the room and of the line, the bodies of one address have this part at most; but one always has room.
const SHARE: usize = 2;

const KIBIBYTE: usize = 1024;

/// Bounds the memory of large bodies. Small ones need none: the limit on requests in flight bounds them.
///
/// A client that sends or reads slowly has its memory for long, so no address has all of it: what is beyond its share
/// waits until others of its own are done, and not before those of other addresses. Addresses of this machine have no
/// such limit.
pub(crate) struct MemoryBudget {
    whole: Room,
    shares: Arc<WeakMap<ClientAddress, Room>>,
    refused: RejectionCounter,
}

/// Memory, of which there is a permit for each KiB, and the line of those who wait for it.
#[derive(Debug)]
struct Room {
    free: Arc<Semaphore>,
    size: usize,
    line: Semaphore,
}

impl Room {
    fn new(kibibytes: usize, waiting: usize) -> Self {
        let size = kibibytes.clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
        Self { free: Arc::new(Semaphore::new(size)), size, line: Semaphore::new(waiting) }
    }

    /// Returns as many permits as so much memory needs: all there are when it is more.
    fn permits(&self, kibibytes: usize) -> u32 {
        u32::try_from(kibibytes.min(self.size)).unwrap_or(u32::MAX)
    }

    async fn acquire(&self, kibibytes: usize) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).acquire_many_owned(self.permits(kibibytes)).await.ok()
    }

    fn try_acquire(&self, kibibytes: usize) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).try_acquire_many_owned(self.permits(kibibytes)).ok()
    }
}

/// The memory that a body has, until it is dropped.
#[derive(Debug)]
pub(crate) struct MemoryPermit {
    room: OwnedSemaphorePermit,
    share: Option<(OwnedSemaphorePermit, Arc<Entry<ClientAddress, Room>>)>,
}

impl MemoryPermit {
    /// Gives back what is beyond so many bytes.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let kept = bytes.div_ceil(KIBIBYTE);
        for permit in [Some(&mut self.room), self.share.as_mut().map(|(permit, _)| permit)].into_iter().flatten() {
            let rest = permit.num_permits().saturating_sub(kept);
            drop(permit.split(rest));
        }
    }
}

impl MemoryBudget {
    /// Creates a budget of so many bytes, which the log calls by this name.
    pub(crate) fn new(bytes: usize, name: &'static str) -> Self {
        let whole = Room::new(bytes / KIBIBYTE, WAITING);
        Self { whole, shares: Arc::default(), refused: RejectionCounter::new(name) }
    }

    /// Returns how many bytes are taken.
    pub(crate) fn held(&self) -> usize {
        self.whole.size.saturating_sub(self.whole.free.available_permits()) * KIBIBYTE
    }

    /// Returns how many bodies wait for room.
    pub(crate) fn waiting(&self) -> usize {
        WAITING.saturating_sub(self.whole.line.available_permits())
    }

    /// Returns how many bodies were refused since the start.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.total()
    }

    /// Waits until there is room for so many bytes of this client; for all there is when they are more.
    ///
    /// # Errors
    /// [`ApiError::Busy`] when too many wait, or there is no room in time.
    pub(crate) async fn acquire(&self, client: ClientAddress, bytes: usize) -> Result<MemoryPermit, ApiError> {
        let acquired = self.wait(client, bytes).await;
        acquired.ok_or_else(|| {
            self.refused.count();
            ApiError::Busy
        })
    }

    /// Takes the same if it is there; `None` when it would have to be waited for.
    pub(crate) fn try_acquire(&self, client: ClientAddress, bytes: usize) -> Option<MemoryPermit> {
        let kibibytes = bytes.div_ceil(KIBIBYTE);
        let share = match self.share(client) {
            Some(share) => Some((share.try_acquire(kibibytes)?, share)),
            None => None,
        };
        Some(MemoryPermit { room: self.whole.try_acquire(kibibytes)?, share })
    }

    fn share(&self, client: ClientAddress) -> Option<Arc<Entry<ClientAddress, Room>>> {
        let make = || Room::new(self.whole.size / SHARE, WAITING / SHARE);
        (!client.is_loopback()).then(|| self.shares.get_or_insert_with(client, make))
    }

    async fn wait(&self, client: ClientAddress, bytes: usize) -> Option<MemoryPermit> {
        let kibibytes = bytes.div_ceil(KIBIBYTE);
        let share = self.share(client);
        let _in_own_line = match &share {
            Some(share) => Some(share.line.try_acquire().ok()?),
            None => None,
        };
        let _in_line = self.whole.line.try_acquire().ok()?;
        let acquire = async {
            // First of its own, so that nobody else waits for what is more than that.
            let share = match &share {
                Some(share) => Some((share.acquire(kibibytes).await?, Arc::clone(share))),
                None => None,
            };
            Some(MemoryPermit { room: self.whole.acquire(kibibytes).await?, share })
        };
        timeout(PATIENCE, acquire).await.ok().flatten()
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

    /// Takes room without waiting.
    fn take(budget: &MemoryBudget, address: &str, mebibytes: usize) -> Option<MemoryPermit> {
        // However much of it there was before: tokio has tasks take turns.
        unconstrained(budget.wait(client(address), mebibytes * MEBIBYTE)).now_or_never().flatten()
    }

    #[tokio::test]
    async fn an_address_has_half_of_the_room_and_others_have_the_rest() {
        let budget = budget();
        let held: Vec<_> = (0..6).map_while(|_| take(&budget, "198.51.100.7", 5)).collect();
        assert_eq!(held.len(), 3);
        let others: Vec<_> = (8..14).map_while(|n| take(&budget, &format!("198.51.100.{n}"), 5)).collect();
        assert_eq!(others.len(), 3);
        // A network of IPv6 is one address.
        drop(others);
        let network: Vec<_> = (1..7).map_while(|n| take(&budget, &format!("2001:db8::{n}"), 5)).collect();
        assert_eq!(network.len(), 3);
    }

    #[tokio::test]
    async fn what_is_there_is_taken_at_once_and_what_is_not_needed_given_back() {
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
    async fn nobody_takes_what_others_wait_for() {
        let budget = budget();
        let mut held: Vec<_> = (0..32).map_while(|_| take(&budget, "127.0.0.1", 1)).collect();
        let mut waits = Box::pin(unconstrained(budget.wait(client("127.0.0.1"), 2 * MEBIBYTE)));
        assert!((&mut waits).now_or_never().is_none());
        held.pop();
        assert!(budget.try_acquire(client("127.0.0.1"), MEBIBYTE).is_none());
        held.pop();
        assert!((&mut waits).now_or_never().flatten().is_some());
    }

    #[tokio::test]
    async fn this_machine_may_have_all_of_it() {
        let budget = budget();
        for address in ["127.0.0.1", "::1"] {
            assert_eq!((0..10).map_while(|_| take(&budget, address, 5)).count(), 10, "one after another");
            let held: Vec<_> = (0..10).map_while(|_| take(&budget, address, 5)).collect();
            assert_eq!(held.len(), 6);
        }
    }

    #[tokio::test]
    async fn a_body_of_more_than_a_share_has_room_alone() {
        let budget = budget();
        for mebibytes in [20, 32, 100] {
            let held = take(&budget, "198.51.100.7", mebibytes).expect("room");
            assert!(take(&budget, "198.51.100.7", 1).is_none());
            assert_eq!(take(&budget, "198.51.100.8", 5).is_some(), mebibytes == 20);
            drop(held);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_beyond_a_share_waits_for_its_own_and_keeps_nobody_else_waiting() {
        let budget = budget();
        let held = [10, 6].map(|mebibytes| take(&budget, "198.51.100.7", mebibytes).expect("room"));
        let begun = Instant::now();
        let mut waits = Box::pin(budget.wait(client("198.51.100.7"), 5 * MEBIBYTE));
        assert!((&mut waits).now_or_never().is_none());
        assert!(take(&budget, "198.51.100.8", 16).is_some());
        drop(held);
        assert!(waits.await.is_some());
        let _held = take(&budget, "198.51.100.7", 16).expect("room");
        assert!(budget.wait(client("198.51.100.7"), MEBIBYTE).await.is_none());
        assert_eq!(begun.elapsed(), PATIENCE);
    }

    #[tokio::test]
    async fn the_bodies_of_an_address_have_half_of_the_line_too() {
        let budget = budget();
        let _held = ["198.51.100.7", "198.51.100.8"].map(|address| take(&budget, address, 16).expect("room"));
        let mut line = Vec::new();
        for address in ["198.51.100.7", "198.51.100.8", "198.51.100.9"] {
            let before = line.len();
            for _ in 0..WAITING {
                let mut waits = Box::pin(unconstrained(budget.wait(client(address), MEBIBYTE)));
                // One that is refused is so at once.
                if (&mut waits).now_or_never().is_none() {
                    line.push(waits);
                }
            }
            let expected = if before < WAITING { WAITING / SHARE } else { 0 };
            assert_eq!(line.len() - before, expected, "{address}");
        }
    }

    #[tokio::test]
    async fn nothing_is_kept_of_an_address_whose_bodies_are_gone() {
        let budget = budget();
        for n in 0..1000 {
            let address = format!("198.51.{}.{}", n / 250, n % 250);
            let held = [take(&budget, &address, 5), take(&budget, &address, 5)];
            assert!(held.iter().all(Option::is_some), "{address}");
            assert!(take(&budget, &address, 16).is_none());
            assert_eq!(budget.shares.len(), 1);
        }
        assert_eq!(budget.shares.len(), 0);
        assert_eq!(budget.whole.free.available_permits(), budget.whole.size);
    }
}
