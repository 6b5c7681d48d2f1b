//! What is done every minute in the background.

use std::time::Duration;

use agora_domain::Result;
use tokio::time::{MissedTickBehavior, interval};

use crate::sweep::warn;
use crate::unending::unending;

const INTERVAL: Duration = Duration::from_secs(60);

/// Does this at once and then every minute, until it is dropped. Several nodes on one database may do so at once. A failure is logged
/// in these words, and tried again the next time.
pub async fn every_minute<W: Future<Output = Result<()>>>(failed: &str, work: impl Fn() -> W) {
    unending(failed, || async {
        let mut interval = interval(INTERVAL);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            interval.tick().await;
            if let Err(error) = work().await {
                warn(failed, &error);
            }
        }
    })
    .await;
}
