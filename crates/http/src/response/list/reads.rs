//! Limits on how many entries of lists are read at once.

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::core::ApiError;
use crate::request::List;

/// The number of entries of one kind of list that may be in memory at once, per worker thread.
const ENTRIES_PER_WORKER: usize = 1000;

/// The permits that a part takes besides those for its entries. They stand for what is read with the entries, such as the post
/// of comments.
const EXTRA_PERMITS: u32 = 10;

/// Limits how many entries are being read or wait to be rendered. A database can be faster than the workers that render its
/// results, so that without a limit every request in flight could hold a part of a list in memory.
///
/// Each kind of list has its own limit, so that no kind waits for another whose queries are slow.
pub(crate) struct ListReads([Semaphore; List::ALL.len()]);

impl ListReads {
    /// Creates the limits for a number of worker threads.
    pub(crate) fn new(workers: usize) -> Self {
        let entries = workers.max(1).saturating_mul(ENTRIES_PER_WORKER).min(Semaphore::MAX_PERMITS);
        Self(List::ALL.map(|_| Semaphore::new(entries)))
    }

    /// Waits until this many entries may be read. They count until the permit is dropped.
    pub(crate) async fn acquire(&self, list: List, entries: usize) -> Result<SemaphorePermit<'_>, ApiError> {
        let reads = List::ALL.iter().zip(&self.0).find(|(it, _)| **it == list).map(|(_, reads)| reads);
        let permits = u32::try_from(entries).unwrap_or(u32::MAX).saturating_add(EXTRA_PERMITS);
        // The semaphore is never closed, so acquiring does not fail.
        reads.ok_or(ApiError::Busy)?.acquire_many(permits).await.map_err(|_| ApiError::Busy)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::task::unconstrained;

    use super::*;

    #[tokio::test]
    async fn each_kind_of_list_has_its_own_limit() {
        let reads = ListReads::new(2);
        let acquire = |list, entries| unconstrained(reads.acquire(list, entries)).now_or_never().and_then(Result::ok);
        let held: Vec<_> = (0..100).map_while(|_| acquire(List::Products, 100)).collect();
        assert_eq!(held.len(), 18);
        assert!(acquire(List::Products, 20).is_none());
        let others: Vec<_> = (0..100).map_while(|_| acquire(List::Posts, 20)).collect();
        assert_eq!(others.len(), 66);
        drop(held);
        assert!(acquire(List::Products, 100).is_some());
    }
}
