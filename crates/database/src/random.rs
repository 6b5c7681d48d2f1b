//! Random numbers for identification.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Returns a random number, good enough to distinguish processes and attempts: it comes from the seed of std's hash maps.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
