//! How much of lists is read at once.

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::core::ApiError;
use crate::request::List;

/// How many entries of one kind of list are read at once, for each thread that renders them.
const ENTRIES_FOR_EACH_WORKER: usize = 1000;

/// What a part counts besides its entries: what is read with them, such as the post of comments.
const BESIDES: u32 = 10;

/// Bounds how many entries are read and not yet rendered. Databases can be quicker than whoever renders what they give:
/// without a bound, every request in flight could have a part of a list in memory.
///
/// Each kind of list has a bound of its own, so that none waits for another whose queries take long.
pub(crate) struct ListReads([Semaphore; List::EACH.len()]);

impl ListReads {
    /// Creates the bounds for so many threads.
    pub(crate) fn new(workers: usize) -> Self {
        let entries = workers.max(1).saturating_mul(ENTRIES_FOR_EACH_WORKER).min(Semaphore::MAX_PERMITS);
        Self(List::EACH.map(|_| Semaphore::new(entries)))
    }

    /// Waits until so many entries may be read; until the permit is dropped, they are.
    pub(crate) async fn acquire(&self, list: List, entries: usize) -> Result<SemaphorePermit<'_>, ApiError> {
        let reads = List::EACH.iter().zip(&self.0).find(|(it, _)| **it == list).map(|(_, reads)| reads);
        let permits = u32::try_from(entries).unwrap_or(u32::MAX).saturating_add(BESIDES);
        // It is never closed.
        reads.ok_or(ApiError::Busy)?.acquire_many(permits).await.map_err(|_| ApiError::Busy)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::task::unconstrained;

    use super::*;

    #[tokio::test]
    async fn each_kind_of_list_has_a_bound_of_its_own() {
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
