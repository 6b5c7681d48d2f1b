//! Has the streams of events told what happens.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agora_domain::events::{Dispatched, HEARTBEAT_PARTS, LiveUpdates};
use tokio::time::sleep;

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

/// How many times as long as a delivery took the next one waits, where there is more to deliver: up to a tick, or
/// as long as it took. So writes go on beside a thousand streams.
const REST_FACTOR: u32 = 4;

/// How often one more part of the streams is told that they are there: each every 15 s (contract: Live updates).
const HEARTBEAT: Duration = Duration::from_millis(15_000 / HEARTBEAT_PARTS);

/// How often it is seen whether listeners may still listen: within 5 s (contract, sessions).
const CHECK: Duration = Duration::from_millis(2_500);

/// How often events that are old are dropped.
const TRIM: Duration = Duration::from_secs(30);

/// The least time between two lines of the log about failures.
const WARN: Duration = Duration::from_secs(10);

/// What is done once in a while.
struct Every(Duration, Option<Instant>);

impl Every {
    fn new(interval: Duration) -> Self {
        Self(interval, None)
    }

    /// Returns whether it is time, and begins to wait for the next one.
    fn is_due(&mut self) -> bool {
        let is_due = self.1.is_none_or(|last| last.elapsed() >= self.0);
        if is_due {
            self.1 = Some(Instant::now());
        }
        is_due
    }

    /// Returns how often it was time since the last call.
    fn due(&mut self) -> u64 {
        let last = *self.1.get_or_insert_with(Instant::now);
        let times = last.elapsed().div_duration_f64(self.0) as u32;
        self.1 = Some(last + self.0 * times);
        times.into()
    }
}

impl LiveFeed {
    /// Runs until it is dropped. A failure is logged, and tried again.
    pub async fn run(&self) {
        let [mut heartbeat, mut check, mut trim, mut warning] = [HEARTBEAT, CHECK, TRIM, WARN].map(Every::new);
        let mut part = 0;
        loop {
            let begun = Instant::now();
            let told = self.live.dispatch().await;
            let took = begun.elapsed();
            let mut failed = None;
            let mut pause = TICK.saturating_sub(took);
            match told {
                Ok(Dispatched { ages, is_more }) => {
                    if let Some(lag) = &self.lag {
                        ages.into_iter().for_each(|age| lag(age + took));
                    }
                    if is_more {
                        pause = (took * REST_FACTOR).min(TICK.max(took));
                    }
                }
                Err(error) => failed = Some(error),
            }
            // Whatever failed, and however long it took: what is between gives up on streams that are silent for long.
            for _ in 0..heartbeat.due() {
                self.live.heartbeat(part);
                part += 1;
            }
            if check.is_due() {
                failed = self.live.check().await.err().or(failed);
            }
            if trim.is_due() {
                failed = self.live.trim().await.err().or(failed);
            }
            if let Some(error) = failed.filter(|_| warning.is_due()) {
                warn("could not tell the streams of events what happened", &error);
            }
            sleep(pause).await;
        }
    }
}
