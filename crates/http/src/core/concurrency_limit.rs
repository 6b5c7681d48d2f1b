//! A limit on concurrency, shared fairly between client addresses.

use std::sync::Arc;

use agora_domain::limits::ClientAddress;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::core::weak_map::Entry;
use crate::core::{RejectionCounter, WeakMap};

/// The part of the limit that one address may hold: one in this many. Loopback addresses are exempt.
const ADDRESS_SHARE: usize = 2;

/// Limits how many connections or requests are in progress at once, in total and per client address.
///
/// One address gets at most half of the permits, so that a client that never releases its own cannot lock others out.
pub(crate) struct ConcurrencyLimit {
    permits: Arc<Semaphore>,
    limit: usize,
    by_address: Arc<WeakMap<ClientAddress, AddressPermits>>,
    refused: RejectionCounter,
}

/// A permit of a [`ConcurrencyLimit`], released when it is dropped.
pub(crate) struct Permit {
    _permit: OwnedSemaphorePermit,
    _address: Option<(OwnedSemaphorePermit, Arc<Entry<ClientAddress, AddressPermits>>)>,
}

type AddressPermits = Arc<Semaphore>;

impl ConcurrencyLimit {
    /// Creates a limit of `limit` permits. `what` names for the log what is limited, and the setting that limits it.
    pub(crate) fn new(limit: usize, what: &'static str) -> Self {
        let limit = limit.min(Semaphore::MAX_PERMITS);
        let refused = RejectionCounter::new(what);
        Self { permits: Arc::new(Semaphore::new(limit)), limit, by_address: Arc::default(), refused }
    }

    /// Acquires a permit, or returns `None` if all are in use, or if the client's address holds its share already.
    pub(crate) fn try_acquire(&self, client: ClientAddress) -> Option<Permit> {
        let acquired = self.try_acquire_uncounted(client);
        if acquired.is_none() {
            self.refused.count();
        }
        acquired
    }

    fn try_acquire_uncounted(&self, client: ClientAddress) -> Option<Permit> {
        let make = || Arc::new(Semaphore::new(self.limit.div_ceil(ADDRESS_SHARE)));
        let address = (!client.is_loopback()).then(|| self.by_address.get_or_insert_with(client, make));
        let address = match address {
            Some(address) => Some((AddressPermits::clone(&address).try_acquire_owned().ok()?, address)),
            None => None,
        };
        Some(Permit { _permit: Arc::clone(&self.permits).try_acquire_owned().ok()?, _address: address })
    }

    /// Returns how many permits are in use.
    pub(crate) fn in_use(&self) -> usize {
        self.limit.saturating_sub(self.permits.available_permits())
    }

    /// Returns how many attempts to acquire a permit were refused since the start.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.total()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(address: &str) -> ClientAddress {
        ClientAddress::of(address.parse().unwrap())
    }

    #[test]
    fn admits_up_to_the_limit_and_one_more_after_a_release() {
        let limit = ConcurrencyLimit::new(2, "things");
        let acquire = || limit.try_acquire(client("127.0.0.1"));
        let (one, two) = (acquire(), acquire());
        assert!(one.is_some() && two.is_some());
        assert!(acquire().is_none() && acquire().is_none());
        drop(one);
        let three = acquire();
        assert!(three.is_some() && acquire().is_none());
    }

    #[test]
    fn an_address_gets_half_of_the_permits_and_its_entry_is_removed_with_its_last_permit() {
        for (most, half) in [(1, 1), (2, 1), (5, 3), (8, 4)] {
            let limit = ConcurrencyLimit::new(most, "things");
            let acquire_all =
                |address: &str| (0..100).map_while(|_| limit.try_acquire(client(address))).collect::<Vec<_>>();
            let held = acquire_all("198.51.100.7");
            assert_eq!((held.len(), acquire_all("198.51.100.8").len()), (half, most - half));
            assert_eq!(limit.by_address.len(), 1);
            drop(held);
            assert_eq!(limit.by_address.len(), 0);
            assert_eq!(acquire_all("127.0.0.1").len(), most);
        }
    }
}
