//! Counts what is there at once, and lets no more in than a limit.

use std::sync::Arc;

use agora_domain::limits::ClientAddress;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::core::weak_map::Entry;
use crate::core::{RejectionCounter, WeakMap};

/// Of the limit, one address has this part at most, but for those of this machine.
const SHARE: usize = 2;

/// Lets so many in at once, and half as many from one address: a client that holds on to its places leaves others theirs.
pub(crate) struct ConcurrencyLimit {
    free: Arc<Semaphore>,
    limit: usize,
    /// The places of each address.
    shares: Arc<WeakMap<ClientAddress, Share>>,
    refused: RejectionCounter,
}

/// A place within a limit, until it is dropped.
pub(crate) struct Permit {
    _permit: OwnedSemaphorePermit,
    _share: Option<(OwnedSemaphorePermit, Arc<Entry<ClientAddress, Share>>)>,
}

type Share = Arc<Semaphore>;

impl ConcurrencyLimit {
    /// Creates a limit for `limit` at once. `what` they are, and the setting that limits them, is for the log.
    pub(crate) fn new(limit: usize, what: &'static str) -> Self {
        let limit = limit.min(Semaphore::MAX_PERMITS);
        let refused = RejectionCounter::new(what);
        Self { free: Arc::new(Semaphore::new(limit)), limit, shares: Arc::default(), refused }
    }

    /// Returns a place within; none when all are taken, or as many as one address has by those of the client's.
    pub(crate) fn enter(&self, client: ClientAddress) -> Option<Permit> {
        let entered = self.try_enter(client);
        if entered.is_none() {
            self.refused.count();
        }
        entered
    }

    fn try_enter(&self, client: ClientAddress) -> Option<Permit> {
        let make = || Arc::new(Semaphore::new(self.limit.div_ceil(SHARE)));
        let share = (!client.is_loopback()).then(|| self.shares.get_or_insert_with(client, make));
        let share = match share {
            Some(share) => Some((Share::clone(&share).try_acquire_owned().ok()?, share)),
            None => None,
        };
        Some(Permit { _permit: Arc::clone(&self.free).try_acquire_owned().ok()?, _share: share })
    }

    /// Returns how many are within.
    pub(crate) fn within(&self) -> usize {
        self.limit.saturating_sub(self.free.available_permits())
    }

    /// Returns how many were refused since the start.
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
    fn so_many_are_let_in_at_once_and_as_one_leaves_another() {
        let limit = ConcurrencyLimit::new(2, "things");
        let enter = || limit.enter(client("127.0.0.1"));
        let (one, two) = (enter(), enter());
        assert!(one.is_some() && two.is_some());
        assert!(enter().is_none() && enter().is_none());
        drop(one);
        let three = enter();
        assert!(three.is_some() && enter().is_none());
    }

    #[test]
    fn an_address_has_half_of_the_places_and_nothing_is_kept_of_one_that_has_none() {
        for (most, half) in [(1, 1), (2, 1), (5, 3), (8, 4)] {
            let limit = ConcurrencyLimit::new(most, "things");
            let enter = |address: &str| (0..100).map_while(|_| limit.enter(client(address))).collect::<Vec<_>>();
            let held = enter("198.51.100.7");
            assert_eq!((held.len(), enter("198.51.100.8").len()), (half, most - half));
            assert_eq!(limit.shares.len(), 1);
            drop(held);
            assert_eq!(limit.shares.len(), 0);
            assert_eq!(enter("127.0.0.1").len(), most);
        }
    }
}
