//! Background tasks that run every minute.

use std::time::Duration;

use agora_domain::Result;
use tokio::time::{MissedTickBehavior, interval};

use crate::restart::restart_on_panic;
use crate::sweep::warn;

const INTERVAL: Duration = Duration::from_secs(60);

/// Runs `work` at once and then every minute, until it is dropped. Several nodes on one database may do so at the same time. A
/// failure is logged with the message `failed` and retried a minute later.
pub async fn every_minute<W: Future<Output = Result<()>>>(failed: &str, work: impl Fn() -> W) {
    restart_on_panic(failed, || async {
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
