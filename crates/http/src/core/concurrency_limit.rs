//! Counts what is there at once, and lets no more in than a limit.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crate::core::RejectionCounter;

/// Lets so many in at once.
pub(crate) struct ConcurrencyLimit {
    within: AtomicUsize,
    limit: usize,
    refused: RejectionCounter,
}

impl ConcurrencyLimit {
    /// A limit for `limit` at once. `what` they are, and the setting that limits them, is for the log.
    pub(crate) fn new(limit: usize, what: &'static str) -> Arc<Self> {
        Arc::new(Self { within: AtomicUsize::new(0), limit, refused: RejectionCounter::new(what) })
    }

    /// A place within, until it is dropped; none when all are taken.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<Permit> {
        // Made before it is known whether it holds, so that it is given back either way.
        let place = Permit(Arc::clone(self));
        if self.within.fetch_add(1, Ordering::Relaxed) < self.limit {
            return Some(place);
        }
        self.refused.count();
        None
    }

    /// How many are within.
    pub(crate) fn within(&self) -> usize {
        self.within.load(Ordering::Relaxed)
    }

    /// How many were refused since the start.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.total()
    }
}

/// A place within a limit.
pub(crate) struct Permit(Arc<ConcurrencyLimit>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.within.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_are_let_in_at_once_and_as_one_leaves_another() {
        let limit = ConcurrencyLimit::new(2, "things");
        let (one, two) = (limit.enter(), limit.enter());
        assert!(one.is_some() && two.is_some());
        assert!(limit.enter().is_none() && limit.enter().is_none());
        drop(one);
        let three = limit.enter();
        assert!(three.is_some() && limit.enter().is_none());
    }
}
