//! The use case of live updates.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::streams::{Stream, Streams};
use super::{Delivery, EndReason, EventAudience, EventLog, Message, Position, StreamFigures};
use crate::accounts::{Caller, SessionRepository};
use crate::clock::Clock;
use crate::error::Result;
use crate::notifications::NotificationRepository;

/// How many events are read from the log at a time.
pub(super) const BATCH: usize = 1_000;

/// The most users, or sessions, in one query.
pub(super) const QUERY_CHUNK: usize = 500;

/// The number of parts into which the streams are divided, so that heartbeats are spread over time.
pub const HEARTBEAT_PARTS: u64 = 15;

/// The ports of [`LiveUpdates`].
pub struct EventPorts {
    /// Reads the events.
    pub log: Arc<dyn EventLog>,
    /// Looks up who may receive them.
    pub audience: Arc<dyn EventAudience>,
    /// Counts unread notifications.
    pub notifications: Arc<dyn NotificationRepository>,
    /// Checks that the sessions of listeners are still valid.
    pub sessions: Arc<dyn SessionRepository>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// Delivers events to the streams of this node.
///
/// A single task calls [`dispatch`](Self::dispatch), [`heartbeat`](Self::heartbeat) and [`check`](Self::check) in a loop, never
/// two of them concurrently.
pub struct LiveUpdates {
    pub(super) ports: EventPorts,
    pub(super) streams: Streams,
}

/// The result of one call of [`LiveUpdates::dispatch`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dispatched {
    /// The ages of those events that matched a stream.
    pub ages: Vec<Duration>,
    /// Whether the log has more events to dispatch.
    pub is_more: bool,
}

impl LiveUpdates {
    /// Creates live updates without any stream.
    pub fn new(ports: EventPorts) -> Self {
        Self { ports, streams: Streams::default() }
    }

    /// Delivers a batch of the events since the last call.
    ///
    /// # Errors
    /// Those of the log: then nothing was delivered, and the next call tries again. Those of the other ports: then every stream
    /// that the events match is sent [`Message::Reset`], and the events are skipped.
    pub async fn dispatch(&self) -> Result<Dispatched> {
        if self.streams.is_empty() {
            return Ok(Dispatched::default());
        }
        self.log().refresh().await?;
        let claimed = self.streams.claimed();
        let Some(events) = self.log().after(claimed, BATCH) else {
            self.reset_all();
            return Ok(Dispatched::default());
        };
        if events.is_empty() {
            return Ok(Dispatched::default());
        }
        let (matched, up_to) = self.streams.claim(claimed.epoch, events);
        let delivered =
            self.deliver(claimed.epoch, &matched, |stream, delivery| self.streams.send(stream, delivery)).await;
        if let Err(error) = delivered {
            self.reset(matched.into_iter().flat_map(|(_, streams)| streams), up_to);
            return Err(error);
        }
        let ages = matched.into_iter().map(|(logged, _)| logged.age).collect();
        Ok(Dispatched { ages, is_more: self.log().end().is_after(up_to) })
    }

    /// Skips to the end of the log and resets every attached stream, after the log has lost events that were not delivered yet.
    fn reset_all(&self) {
        let end = self.log().end();
        self.streams.skip_to(end);
        self.reset(self.streams.attached(0, 1), end);
    }

    fn reset(&self, streams: impl IntoIterator<Item = Arc<Stream>>, position: Position) {
        let reset = Arc::new(Delivery { position, message: Message::Reset });
        let mut reset_already = HashSet::new();
        for stream in streams {
            if reset_already.insert(Arc::as_ptr(&stream)) {
                self.streams.send(&stream, &reset);
            }
        }
    }

    /// Sends a heartbeat to one of the [`HEARTBEAT_PARTS`] parts of the streams, with the position up to which they have received
    /// everything.
    pub fn heartbeat(&self, part: u64) {
        let position = self.streams.claimed();
        let heartbeat = Arc::new(Delivery { position, message: Message::Heartbeat });
        for stream in self.streams.attached(part % HEARTBEAT_PARTS, HEARTBEAT_PARTS) {
            // A stream resumed from another node may be ahead of this one; the heartbeat must not move its position back.
            let resumed_at = stream.position();
            if resumed_at.epoch != position.epoch || !position.is_before(resumed_at) {
                self.streams.send(&stream, &heartbeat);
            }
        }
    }

    /// Ends the streams whose session or token is no longer valid, and updates the roles of the other listeners.
    ///
    /// # Errors
    /// Those of the sessions.
    pub async fn check(&self) -> Result<()> {
        let now = self.ports.clock.now();
        let streams = self.streams.all();
        for some in streams.chunks(QUERY_CHUNK) {
            let ids = some.iter().map(|stream| stream.listener().session().id).collect();
            let states = self.ports.sessions.find_all(ids).await?;
            let states: HashMap<_, _> = states.into_iter().map(|state| (state.session.id, state)).collect();
            for stream in some {
                let state = states.get(&stream.listener().session().id).copied();
                match state.and_then(Caller::of).map(Caller::member) {
                    Some(Ok(_)) if stream.expires_at <= now => self.streams.end(stream, EndReason::TokenExpired),
                    Some(Ok(listener)) => stream.set_listener(listener),
                    _ => self.streams.end(stream, EndReason::SessionEnded),
                }
            }
        }
        Ok(())
    }

    /// Drops events that are past their retention.
    ///
    /// # Errors
    /// Those of the log.
    pub async fn trim(&self) -> Result<()> {
        self.log().trim().await
    }

    /// Ends every stream because the service is shutting down.
    pub fn close(&self) {
        self.streams.close();
    }

    /// Returns the totals of what the streams were sent.
    pub fn figures(&self) -> StreamFigures {
        self.streams.figures()
    }

    pub(super) fn log(&self) -> &dyn EventLog {
        &*self.ports.log
    }
}
