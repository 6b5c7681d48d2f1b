//! Turns of those who write one row.

use std::sync::Arc;
use std::time::Duration;

use agora_domain::{Error, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use uuid::Uuid;

/// How many groups rows are in: few enough to be there from the start, and so many that hardly a row is in a group with one that is
/// written by many.
const GROUPS: u128 = 1024;

/// Bounds how many connections of a pool write one row at a time, or wait for its lock: however many like the same post at once, the
/// others are left to whoever writes anything else.
pub(super) struct RowTurns {
    groups: Box<[Arc<Semaphore>]>,
    wait: Duration,
}

impl RowTurns {
    /// Creates the turns at a pool of so many connections, which are waited for no longer than this.
    pub(super) fn new(connections: usize, wait: Duration) -> Self {
        // With two, the next statement is there when the one before ends.
        let turns = (connections / 4).max(2);
        Self { groups: (0..GROUPS).map(|_| Arc::new(Semaphore::new(turns))).collect(), wait }
    }

    /// Waits for a turn at a row, which lasts until the permit is dropped: by the write itself, which goes on when the request that waits
    /// for it goes away.
    ///
    /// # Errors
    /// [`Error::Unavailable`], when too many write it.
    pub(super) async fn acquire(&self, row: Uuid) -> Result<OwnedSemaphorePermit> {
        // The end of an identifier is drawn by chance.
        let group = usize::try_from(row.as_u128() % GROUPS).ok().and_then(|group| self.groups.get(group));
        let group = group.ok_or_else(|| Error::internal("there is no such group of rows"))?;
        let turn = timeout(self.wait, Arc::clone(group).acquire_owned()).await;
        turn.map_err(|_| Error::unavailable("too many write the same row of the database"))?.map_err(Error::internal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_row_is_written_by_a_quarter_and_others_beside_it() {
        let turns = RowTurns::new(8, Duration::from_millis(20));
        let (hot, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let [one, _two] = [turns.acquire(hot).await.unwrap(), turns.acquire(hot).await.unwrap()];
        assert!(matches!(turns.acquire(hot).await, Err(Error::Unavailable(_))));
        drop(turns.acquire(other).await.unwrap());
        drop(one);
        drop(turns.acquire(hot).await.unwrap());
    }
}
