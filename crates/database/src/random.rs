//! Numbers that nobody else has.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Returns a random number, good enough to tell processes and attempts apart: what std seeds its tables with.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
