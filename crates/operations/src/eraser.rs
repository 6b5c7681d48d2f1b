//! Erases the data of deleted accounts in the background.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agora_database::{Database, ExclusiveJob};
use agora_domain::Result;
use agora_domain::deletion::{Erasure, ErasurePosition};
use tokio::time::sleep;

use crate::sweep::warn;

/// The time between two polls for deleted accounts, unless the interval of sweeps is shorter.
const INTERVAL: Duration = Duration::from_secs(5);

/// The time until a retry after a failure.
const RETRY: Duration = Duration::from_secs(10);

/// The shortest pause between two batches, which leaves the database to requests.
const PAUSE: Duration = Duration::from_millis(5);

/// Erases the data of deleted accounts. Of several nodes on one database, only one erases at a time.
pub struct Eraser {
    /// The database, whose lock allows one node to erase at a time.
    pub database: Arc<Database>,
    /// The use case that erases a batch.
    pub erasure: Erasure,
    /// The time between two sweeps.
    pub sweep_interval: Duration,
}

impl Eraser {
    /// Runs until it is dropped. A failure is logged and retried after 10 seconds.
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

    /// Erases until no deleted account is left, or returns at once if another node is erasing. After each batch it pauses for as
    /// long as the batch took.
    async fn erase(&self) -> Result<()> {
        if self.erasure.next_unerased().await?.is_none() {
            return Ok(());
        }
        let Some(_lock) = self.database.lock(ExclusiveJob::Erasure).await? else { return Ok(()) };
        // Once the store has failed, images are left to the sweep: waiting for it would delay the erasure of all accounts.
        let mut has_store = true;
        while let Some(user) = self.erasure.next_unerased().await? {
            let (mut things, mut from, started) = (0, ErasurePosition::default(), Instant::now());
            loop {
                let begun = Instant::now();
                let erased = self.erasure.erase(user, from).await?;
                has_store = has_store && self.erasure.delete_images(erased.images).await;
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
