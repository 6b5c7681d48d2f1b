//! A map that holds its values weakly.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A map of values that are dropped, and removed, with their last [`Arc`]: it never has more entries than there are holders.
#[derive(Debug)]
pub(crate) struct WeakMap<K: Copy + Eq + Hash, V>(Mutex<HashMap<K, Weak<Entry<K, V>>>>);

/// A value of a [`WeakMap`], with its key.
#[derive(Debug)]
pub(crate) struct Entry<K: Copy + Eq + Hash, V> {
    key: K,
    value: V,
    map: Arc<WeakMap<K, V>>,
}

impl<K: Copy + Eq + Hash, V> Default for WeakMap<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Copy + Eq + Hash, V> WeakMap<K, V> {
    fn lock(&self) -> MutexGuard<'_, HashMap<K, Weak<Entry<K, V>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the value of a key, or inserts the one that `make` returns if nobody holds any.
    pub(crate) fn get_or_insert_with(self: &Arc<Self>, key: K, make: impl FnOnce() -> V) -> Arc<Entry<K, V>> {
        let mut entries = self.lock();
        if let Some(entry) = entries.get(&key).and_then(Weak::upgrade) {
            return entry;
        }
        let entry = Arc::new(Entry { key, value: make(), map: Arc::clone(self) });
        entries.insert(key, Arc::downgrade(&entry));
        entry
    }

    /// Returns the number of entries.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }
}

impl<K: Copy + Eq + Hash, V> Deref for Entry<K, V> {
    type Target = V;

    fn deref(&self) -> &V {
        &self.value
    }
}

impl<K: Copy + Eq + Hash, V> Drop for Entry<K, V> {
    fn drop(&mut self) {
        let mut entries = self.map.lock();
        // A new entry may have been inserted under the key already.
        if entries.get(&self.key).is_some_and(|entry| entry.strong_count() == 0) {
            entries.remove(&self.key);
        }
    }
}
