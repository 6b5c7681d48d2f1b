//! Counts what is there at once, and lets no more in than a limit.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::core::RejectionCounter;

/// Lets so many in at once.
pub(crate) struct ConcurrencyLimit {
    free: Arc<Semaphore>,
    limit: usize,
    refused: RejectionCounter,
}

/// A place within a limit, until it is dropped.
pub(crate) struct Permit {
    _permit: OwnedSemaphorePermit,
}

impl ConcurrencyLimit {
    /// Creates a limit for `limit` at once. `what` they are, and the setting that limits them, is for the log.
    pub(crate) fn new(limit: usize, what: &'static str) -> Self {
        let limit = limit.min(Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(limit)), limit, refused: RejectionCounter::new(what) }
    }

    /// Returns a place within; none when all are taken.
    pub(crate) fn enter(&self) -> Option<Permit> {
        match Arc::clone(&self.free).try_acquire_owned() {
            Ok(permit) => Some(Permit { _permit: permit }),
            Err(_) => {
                self.refused.count();
                None
            }
        }
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
