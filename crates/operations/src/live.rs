//! Feeds the event streams of clients.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agora_domain::events::{Dispatched, HEARTBEAT_PARTS, LiveUpdates};
use tokio::time::sleep;

use crate::sweep::warn;

/// Receives the delay between each event and its delivery to the streams.
pub type LagMeter = Arc<dyn Fn(Duration) + Send + Sync>;

/// Delivers new events to the streams, closes the streams of clients whose access has ended, and deletes old events.
pub struct LiveFeed {
    /// The streams.
    pub live: Arc<LiveUpdates>,
    /// Measures the delay of deliveries.
    pub lag: Option<LagMeter>,
}

/// The time between two polls for events: a tenth of the delay that is allowed for events of another node.
const TICK: Duration = Duration::from_millis(100);

/// While more events wait, the pause after a delivery is this many times the delivery's duration, but no longer than a tick or
/// that duration, whichever is longer. So writes proceed even with a thousand streams.
const PAUSE_FACTOR: u32 = 4;

/// The time between two heartbeats, each to one of `HEARTBEAT_PARTS` parts of the streams: every stream gets one every 15 s
/// (contract: Live updates).
const HEARTBEAT: Duration = Duration::from_millis(15_000 / HEARTBEAT_PARTS);

/// How often the access of the streams' clients is checked: a lost one must take effect within 5 s (contract: Live updates).
const CHECK: Duration = Duration::from_millis(2_500);

/// How often old events are deleted.
const TRIM: Duration = Duration::from_secs(30);

/// The shortest time between two log lines about failures.
const WARN: Duration = Duration::from_secs(10);

/// A timer that is polled: an interval, and when it last elapsed.
struct Timer(Duration, Option<Instant>);

impl Timer {
    fn new(interval: Duration) -> Self {
        Self(interval, None)
    }

    /// Returns whether the interval has elapsed, and if so restarts it. The first call returns `true`.
    fn is_due(&mut self) -> bool {
        let is_due = self.1.is_none_or(|last| last.elapsed() >= self.0);
        if is_due {
            self.1 = Some(Instant::now());
        }
        is_due
    }

    /// Returns how many intervals have elapsed since those counted by earlier calls. The first call returns 0.
    fn elapsed_intervals(&mut self) -> u64 {
        let last = *self.1.get_or_insert_with(Instant::now);
        let times = last.elapsed().div_duration_f64(self.0) as u32;
        self.1 = Some(last + self.0 * times);
        times.into()
    }
}

impl LiveFeed {
    /// Runs until it is dropped. A failure is logged and retried.
    pub async fn run(&self) {
        let [mut heartbeat, mut check, mut trim, mut warning] = [HEARTBEAT, CHECK, TRIM, WARN].map(Timer::new);
        let mut part = 0;
        loop {
            let begun = Instant::now();
            let dispatched = self.live.dispatch().await;
            let took = begun.elapsed();
            let mut failed = None;
            let mut pause = TICK.saturating_sub(took);
            match dispatched {
                Ok(Dispatched { ages, is_more }) => {
                    if let Some(lag) = &self.lag {
                        ages.into_iter().for_each(|age| lag(age + took));
                    }
                    if is_more {
                        pause = (took * PAUSE_FACTOR).min(TICK.max(took));
                    }
                }
                Err(error) => failed = Some(error),
            }
            // Sent even after a failure or a slow delivery: proxies in between close streams that are silent for long.
            for _ in 0..heartbeat.elapsed_intervals() {
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
                warn("could not deliver events to the streams", &error);
            }
            sleep(pause).await;
        }
    }
}
