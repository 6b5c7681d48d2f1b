//! Fair use of a queue: how much of it one account or client address may occupy.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agora_domain::id::UserId;
use agora_domain::limits::{ClientAddress, Requester};

/// Limits how many jobs each account and each client address has in a queue at once.
///
/// Loopback addresses are not limited: behind a proxy that is not configured as trusted, all clients have that address.
#[derive(Debug)]
pub(crate) struct QueueShares {
    accounts: Arc<Shares<UserId>>,
    addresses: Arc<Shares<ClientAddress>>,
}

impl QueueShares {
    /// Creates shares with a limit for each account and one for each address.
    pub(crate) fn new(per_account: usize, per_address: usize) -> Self {
        Self { accounts: Shares::new(per_account), addresses: Shares::new(per_address) }
    }

    /// Acquires a place in the queue, held until the result is dropped; `None` if the share of the requester's account or address
    /// is full.
    pub(crate) fn try_acquire(&self, requester: &Requester) -> Option<QueuePlace> {
        let account = requester.account.map(|account| self.accounts.try_acquire(account));
        let address = Some(requester.address).filter(|address| !address.is_loopback());
        let address = address.map(|address| self.addresses.try_acquire(address));
        match (account, address) {
            (Some(None), _) | (_, Some(None)) => None,
            (account, address) => Some(QueuePlace { _account: account.flatten(), _address: address.flatten() }),
        }
    }
}

/// A place in the queue, counted against the requester's shares until it is dropped.
#[derive(Debug)]
pub(crate) struct QueuePlace {
    _account: Option<KeyPlace<UserId>>,
    _address: Option<KeyPlace<ClientAddress>>,
}

/// A count of places by key, up to a limit. A key with none is removed from the map.
#[derive(Debug)]
struct Shares<K> {
    limit: usize,
    taken: Mutex<HashMap<K, usize>>,
}

impl<K: Copy + Eq + Hash> Shares<K> {
    fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, taken: Mutex::default() })
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<K, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_acquire(self: &Arc<Self>, key: K) -> Option<KeyPlace<K>>
    where
        K: Copy + Eq + Hash,
    {
        let mut taken = self.taken();
        let count = taken.get(&key).copied().unwrap_or_default();
        if count >= self.limit {
            return None;
        }
        taken.insert(key, count + 1);
        Some(KeyPlace { key, shares: Arc::clone(self) })
    }
}

#[derive(Debug)]
struct KeyPlace<K: Copy + Eq + Hash> {
    key: K,
    shares: Arc<Shares<K>>,
}

impl<K: Copy + Eq + Hash> Drop for KeyPlace<K> {
    fn drop(&mut self) {
        let mut taken = self.shares.taken();
        match taken.get_mut(&self.key) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(taken.remove(&self.key)),
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn requester(account: Option<u128>, address: &str) -> Requester {
        Requester {
            account: account.map(|n| UserId::new(Uuid::from_u128(n))),
            address: ClientAddress::of(address.parse().unwrap()),
        }
    }

    fn acquire_all(shares: &QueueShares, requester: &Requester) -> Vec<QueuePlace> {
        (0..100).map_while(|_| shares.try_acquire(requester)).collect()
    }

    #[test]
    fn the_share_of_an_account_spans_all_its_addresses() {
        let shares = QueueShares::new(2, 5);
        let held = acquire_all(&shares, &requester(Some(1), "127.0.0.1"));
        assert_eq!(held.len(), 2);
        assert!(shares.try_acquire(&requester(Some(1), "198.51.100.7")).is_none());
        assert_eq!(acquire_all(&shares, &requester(Some(2), "127.0.0.1")).len(), 2);
        drop(held);
        assert_eq!(acquire_all(&shares, &requester(Some(1), "198.51.100.7")).len(), 2);
    }

    #[test]
    fn the_share_of_an_address_spans_all_its_accounts() {
        let shares = QueueShares::new(2, 5);
        let held: Vec<_> =
            (1..9).flat_map(|account| acquire_all(&shares, &requester(Some(account), "198.51.100.7"))).collect();
        assert_eq!(held.len(), 5);
        assert!(shares.try_acquire(&requester(None, "198.51.100.7")).is_none());
        assert_eq!(acquire_all(&shares, &requester(None, "198.51.100.8")).len(), 5);
    }

    #[test]
    fn loopback_addresses_are_not_limited() {
        for requester in [requester(None, "127.0.0.1"), Requester::local()] {
            assert_eq!(acquire_all(&QueueShares::new(2, 5), &requester).len(), 100);
        }
    }

    #[test]
    fn keys_without_a_place_are_removed() {
        let shares = QueueShares::new(2, 2);
        for n in 0..100 {
            drop(acquire_all(&shares, &requester(Some(n), &format!("198.51.100.{n}"))));
        }
        // A requester that is refused for its address does not leave its account in the map.
        let held = acquire_all(&shares, &requester(None, "198.51.100.7"));
        assert!(shares.try_acquire(&requester(Some(1), "198.51.100.7")).is_none());
        drop(held);
        assert!(shares.accounts.taken().is_empty() && shares.addresses.taken().is_empty());
    }
}
