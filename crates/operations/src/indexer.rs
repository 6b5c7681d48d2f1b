//! The index of searches, kept in the background.

use std::time::Duration;

use agora_domain::search::Indexing;
use tokio::time::MissedTickBehavior;

/// Puts into the index of searches what it does not have, and packs what it has. Several nodes on one database may do so at
/// once.
pub struct Indexer {
    /// What is done.
    pub indexing: Indexing,
}

/// The time between two looks at whether there is something to do.
const INTERVAL: Duration = Duration::from_secs(1);

/// After how many things there is a word about the progress.
const LOGGED: usize = 10_000;

impl Indexer {
    /// Runs until it is dropped. A failure is logged, and tried again the next time.
    pub async fn run(self) {
        let mut interval = tokio::time::interval(INTERVAL);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut indexed, mut logged) = (0, 0);
        loop {
            interval.tick().await;
            loop {
                match self.indexing.run().await {
                    Ok((now, is_more)) => {
                        indexed += now;
                        let is_at_end = !is_more && indexed > logged;
                        if indexed >= logged + LOGGED || is_at_end {
                            tracing::info!(indexed, "put what was missing into the index of searches");
                            logged = indexed;
                        }
                        if !is_more {
                            break;
                        }
                    }
                    Err(error) => {
                        let cause = std::error::Error::source(&error);
                        tracing::warn!(%error, cause = ?cause, "the index of searches could not be kept");
                        break;
                    }
                }
            }
        }
    }
}
