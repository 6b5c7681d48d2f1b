//! Has the streams of events told what happens.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agora_domain::events::{HEARTBEAT_PARTS, LiveUpdates};
use tokio::time::{MissedTickBehavior, interval};

use crate::sweep::warn;

/// Told how long after it happened something was handed to the streams.
pub type LagMeter = Arc<dyn Fn(Duration) + Send + Sync>;

/// Reads what happened and hands it to the streams, sees whether their listeners still may listen, and drops what is old.
pub struct LiveFeed {
    /// The streams.
    pub live: Arc<LiveUpdates>,
    /// Measures how late they are told.
    pub lag: Option<LagMeter>,
}

/// The time between two looks at what happened: a tenth of what it may take on another node.
const TICK: Duration = Duration::from_millis(100);

/// After how many ticks one more part of the streams is told that they are there: each every 15 s (contract: Live updates).
const HEARTBEAT_TICKS: u64 = 150 / HEARTBEAT_PARTS;

/// After how many ticks it is seen whether listeners may still listen: within 5 s (contract, sessions).
const CHECK_TICKS: u64 = 25;

/// After how many ticks events that are old are dropped.
const TRIM_TICKS: u64 = 300;

/// The least time between two lines of the log about the same failure.
const WARN_INTERVAL: Duration = Duration::from_secs(10);

impl LiveFeed {
    /// Runs until it is dropped. A failure is logged, and tried again.
    pub async fn run(self) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut warned: Option<Instant> = None;
        for tick in 0_u64.. {
            ticks.tick().await;
            let begun = Instant::now();
            let mut failed = None;
            match self.live.dispatch().await {
                Ok(ages) => {
                    let took = begun.elapsed();
                    if let Some(lag) = &self.lag {
                        ages.into_iter().for_each(|age| lag(age + took));
                    }
                }
                Err(error) => failed = Some(error),
            }
            if tick % HEARTBEAT_TICKS == 0 {
                // Whatever failed: what is between gives up on streams that are silent for long.
                self.live.heartbeat(tick / HEARTBEAT_TICKS);
            }
            if tick % CHECK_TICKS == 0 {
                failed = self.live.check().await.err().or(failed);
            }
            if tick % TRIM_TICKS == 0 {
                failed = self.live.trim().await.err().or(failed);
            }
            if let Some(error) = failed.filter(|_| warned.is_none_or(|at| at.elapsed() > WARN_INTERVAL)) {
                warn("could not tell the streams of events what happened", &error);
                warned = Some(Instant::now());
            }
        }
    }
}
