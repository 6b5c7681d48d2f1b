//! Ends mutes in the background.

use std::time::Duration;

use agora_domain::blocks::MuteExpiry;
use tokio::time::{MissedTickBehavior, interval};

use crate::sweep::warn;

/// How late a mute ends at most, while the database answers.
const INTERVAL: Duration = Duration::from_secs(60);

/// Takes back mutes that have ended, until it is dropped. Several nodes on one database may do so at once. A failure is logged,
/// and tried again the next time.
pub async fn end_mutes(expiry: MuteExpiry) {
    let mut interval = interval(INTERVAL);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        interval.tick().await;
        if let Err(error) = expiry.run().await {
            warn("could not end mutes", &error);
        }
    }
}
