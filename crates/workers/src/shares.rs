//! Shares of what many wait for: how much of a queue one client may take up.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agora_domain::id::UserId;
use agora_domain::limits::{ClientAddress, Requester};

/// Bounds how many places of a queue each account and each client address has at once.
///
/// An address of this machine has no share of its own: behind a proxy that is not trusted, all clients have that one.
#[derive(Debug)]
pub(crate) struct QueueShares {
    accounts: Arc<Shares<UserId>>,
    addresses: Arc<Shares<ClientAddress>>,
}

impl QueueShares {
    /// Shares of so many places for each account and for each address.
    pub(crate) fn new(per_account: usize, per_address: usize) -> Self {
        Self { accounts: Shares::new(per_account), addresses: Shares::new(per_address) }
    }

    /// Takes a place until the result is dropped; `None` when the requester's account or address has all of its share.
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

/// A place in a queue, counted as its requester's until it is dropped.
#[derive(Debug)]
pub(crate) struct QueuePlace {
    _account: Option<QueueEntry<UserId>>,
    _address: Option<QueueEntry<ClientAddress>>,
}

/// How many places each key has. A key that has none is not kept.
#[derive(Debug)]
struct Shares<K> {
    most: usize,
    taken: Mutex<HashMap<K, usize>>,
}

impl<K: Copy + Eq + Hash> Shares<K> {
    fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, taken: Mutex::default() })
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<K, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_acquire(self: &Arc<Self>, key: K) -> Option<QueueEntry<K>>
    where
        K: Copy + Eq + Hash,
    {
        let mut taken = self.taken();
        let count = taken.get(&key).copied().unwrap_or_default();
        if count >= self.most {
            return None;
        }
        taken.insert(key, count + 1);
        Some(QueueEntry { key, shares: Arc::clone(self) })
    }
}

#[derive(Debug)]
struct QueueEntry<K: Copy + Eq + Hash> {
    key: K,
    shares: Arc<Shares<K>>,
}

impl<K: Copy + Eq + Hash> Drop for QueueEntry<K> {
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
    fn an_account_has_its_share_wherever_it_calls_from() {
        let shares = QueueShares::new(2, 5);
        let held = acquire_all(&shares, &requester(Some(1), "127.0.0.1"));
        assert_eq!(held.len(), 2);
        assert!(shares.try_acquire(&requester(Some(1), "198.51.100.7")).is_none());
        assert_eq!(acquire_all(&shares, &requester(Some(2), "127.0.0.1")).len(), 2);
        drop(held);
        assert_eq!(acquire_all(&shares, &requester(Some(1), "198.51.100.7")).len(), 2);
    }

    #[test]
    fn an_address_has_its_share_whoever_calls_from_it() {
        let shares = QueueShares::new(2, 5);
        let held: Vec<_> =
            (1..9).flat_map(|account| acquire_all(&shares, &requester(Some(account), "198.51.100.7"))).collect();
        assert_eq!(held.len(), 5);
        assert!(shares.try_acquire(&requester(None, "198.51.100.7")).is_none());
        assert_eq!(acquire_all(&shares, &requester(None, "198.51.100.8")).len(), 5);
    }

    #[test]
    fn this_machine_has_no_share_as_an_address() {
        for requester in [requester(None, "127.0.0.1"), Requester::local()] {
            assert_eq!(acquire_all(&QueueShares::new(2, 5), &requester).len(), 100);
        }
    }

    #[test]
    fn nothing_is_kept_of_those_who_have_no_place() {
        let shares = QueueShares::new(2, 2);
        for n in 0..100 {
            drop(acquire_all(&shares, &requester(Some(n), &format!("198.51.100.{n}"))));
        }
        // One that is refused for its address leaves none of its account either.
        let held = acquire_all(&shares, &requester(None, "198.51.100.7"));
        assert!(shares.try_acquire(&requester(Some(1), "198.51.100.7")).is_none());
        drop(held);
        assert!(shares.accounts.taken().is_empty() && shares.addresses.taken().is_empty());
    }
}
