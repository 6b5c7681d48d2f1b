//! A limit on how many connections write the same row at once.

use std::sync::Arc;
use std::time::Duration;

use agora_domain::{Error, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use uuid::Uuid;

/// How many groups rows are divided into, each with one semaphore: few enough to create all of them up front, and many enough
/// that hardly any row shares a group with a row that many write.
const GROUPS: u128 = 1024;

/// Limits how many connections of a pool write one row at a time or wait for its lock. However many users like the same post
/// at once, the remaining connections stay free for other writes.
pub(super) struct RowWriteLimit {
    groups: Box<[Arc<Semaphore>]>,
    wait: Duration,
}

impl RowWriteLimit {
    /// Creates the limit for a pool of this many connections; a permit is waited for no longer than `wait`.
    pub(super) fn new(connections: usize, wait: Duration) -> Self {
        // With two permits, the next statement already waits at the server when the one before ends.
        let permits = (connections / 4).max(2);
        Self { groups: (0..GROUPS).map(|_| Arc::new(Semaphore::new(permits))).collect(), wait }
    }

    /// Acquires a permit to write a row. The write itself holds it until it ends, since it goes on if its request is cancelled.
    ///
    /// # Errors
    /// [`Error::Unavailable`], when too many write the row and no permit is released in time.
    pub(super) async fn acquire(&self, row: Uuid) -> Result<OwnedSemaphorePermit> {
        // The last bits of an identifier are random.
        let group = usize::try_from(row.as_u128() % GROUPS).ok().and_then(|group| self.groups.get(group));
        let group = group.ok_or_else(|| Error::internal("no such group of rows"))?;
        let permit = timeout(self.wait, Arc::clone(group).acquire_owned()).await;
        permit
            .map_err(|_| Error::unavailable("too many requests are waiting to write the same database row"))?
            .map_err(Error::internal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_row_gets_a_quarter_of_the_connections_and_other_rows_are_not_affected() {
        let limit = RowWriteLimit::new(8, Duration::from_millis(20));
        let (hot, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let [one, _two] = [limit.acquire(hot).await.unwrap(), limit.acquire(hot).await.unwrap()];
        assert!(matches!(limit.acquire(hot).await, Err(Error::Unavailable(_))));
        drop(limit.acquire(other).await.unwrap());
        drop(one);
        drop(limit.acquire(hot).await.unwrap());
    }
}
