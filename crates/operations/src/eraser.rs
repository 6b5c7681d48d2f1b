//! Erases what belonged to deleted accounts, in the background.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agora_database::{Database, Turn};
use agora_domain::Result;
use agora_domain::deletion::{Erasure, ErasurePosition};
use tokio::time::sleep;

use crate::sweep::warn;

/// The time between two looks at whether there is something to do, unless sweeps are more frequent.
const INTERVAL: Duration = Duration::from_secs(5);

/// The time until it is tried again after a failure.
const RETRY: Duration = Duration::from_secs(10);

/// The least time that the database is left to others between two batches.
const PAUSE: Duration = Duration::from_millis(5);

/// Erases what belonged to deleted accounts; of several nodes on one database, one at a time.
pub struct Eraser {
    /// The database, of which one node erases at a time.
    pub database: Arc<Database>,
    /// Erases.
    pub erasure: Erasure,
    /// The time between two sweeps.
    pub sweep_interval: Duration,
}

impl Eraser {
    /// Runs until it is dropped. A failure is logged, and tried again later.
    pub async fn run(&self) {
        loop {
            let pause = match self.erase().await {
                Ok(()) => INTERVAL.min(self.sweep_interval),
                Err(error) => {
                    warn("could not erase a deleted account", &error);
                    RETRY
                }
            };
            sleep(pause).await;
        }
    }

    /// Erases until nothing is left, unless another node does. It leaves the database to others as long as it takes.
    async fn erase(&self) -> Result<()> {
        if self.erasure.next_unerased().await?.is_none() {
            return Ok(());
        }
        let Some(_lock) = self.database.lock(Turn::Erasure).await? else { return Ok(()) };
        while let Some(user) = self.erasure.next_unerased().await? {
            let (mut things, mut from, started) = (0, ErasurePosition::default(), Instant::now());
            loop {
                let begun = Instant::now();
                let erased = self.erasure.erase(user, from).await?;
                things += erased.count;
                from = erased.next;
                if erased.is_done {
                    break;
                }
                sleep(begun.elapsed().max(PAUSE)).await;
            }
            tracing::info!(things, seconds = started.elapsed().as_secs(), "erased a deleted account");
        }
        Ok(())
    }
}
