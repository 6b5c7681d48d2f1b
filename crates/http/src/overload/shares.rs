//! What each of many has a share of: kept as long as anybody holds it.

use std::{
    collections::HashMap,
    hash::Hash,
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

/// The shares that somebody holds, by whose they are; so there are no more of them than of holders.
#[derive(Debug)]
pub(super) struct Shares<K: Copy + Eq + Hash, T>(Mutex<HashMap<K, Weak<Share<K, T>>>>);

/// The share of one of them.
#[derive(Debug)]
pub(super) struct Share<K: Copy + Eq + Hash, T> {
    key: K,
    value: T,
    all: Arc<Shares<K, T>>,
}

impl<K: Copy + Eq + Hash, T> Default for Shares<K, T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Copy + Eq + Hash, T> Shares<K, T> {
    fn by_key(&self) -> MutexGuard<'_, HashMap<K, Weak<Share<K, T>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The share of this one, which `make` makes if nobody holds it.
    pub(super) fn of(self: &Arc<Self>, key: K, make: impl FnOnce() -> T) -> Arc<Share<K, T>> {
        let mut shares = self.by_key();
        if let Some(share) = shares.get(&key).and_then(Weak::upgrade) {
            return share;
        }
        let share = Arc::new(Share { key, value: make(), all: Arc::clone(self) });
        shares.insert(key, Arc::downgrade(&share));
        share
    }

    /// How many there are.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.by_key().len()
    }
}

impl<K: Copy + Eq + Hash, T> Deref for Share<K, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<K: Copy + Eq + Hash, T> Drop for Share<K, T> {
    fn drop(&mut self) {
        let mut shares = self.all.by_key();
        // It may have a successor already.
        if shares.get(&self.key).is_some_and(|share| share.strong_count() == 0) {
            shares.remove(&self.key);
        }
    }
}
