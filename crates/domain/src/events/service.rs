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

/// How many events are read at a time.
pub(super) const BATCH: usize = 1_000;

/// How many posts, and how many users, are asked about at once.
pub(super) const QUERY_CHUNK: usize = 500;

/// In how many parts the streams are told that they are there, one after the other.
pub const HEARTBEAT_PARTS: u64 = 15;

/// What live updates work with.
pub struct EventPorts {
    /// What happened.
    pub log: Arc<dyn EventLog>,
    /// Who may be told of it.
    pub audience: Arc<dyn EventAudience>,
    /// What users are told of the acts of others.
    pub notifications: Arc<dyn NotificationRepository>,
    /// Whether those who listen still may.
    pub sessions: Arc<dyn SessionRepository>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// Tells those who listen what happens.
///
/// One task calls [`dispatch`](Self::dispatch), [`heartbeat`](Self::heartbeat) and [`check`](Self::check), one after the
/// other, again and again.
pub struct LiveUpdates {
    pub(super) ports: EventPorts,
    pub(super) streams: Streams,
}

/// What was told at a time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dispatched {
    /// How old the events were, of those that may concern somebody.
    pub ages: Vec<Duration>,
    /// Whether there is more to tell.
    pub is_more: bool,
}

impl LiveUpdates {
    /// Creates it without a stream.
    pub fn new(ports: EventPorts) -> Self {
        Self { ports, streams: Streams::default() }
    }

    /// Tells the streams some of what happened since the last call.
    ///
    /// # Errors
    /// Those of the log: then nothing was told, and the next call does it. Where it cannot be found out who may be told of
    /// something, those whom it may concern are told that they may have missed something.
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

    /// The log has lost what came after what was told.
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

    /// Tells one part of the streams of [`HEARTBEAT_PARTS`] that they are there, and up to where they were told everything.
    pub fn heartbeat(&self, part: u64) {
        let position = self.streams.claimed();
        let heartbeat = Arc::new(Delivery { position, message: Message::Heartbeat });
        for stream in self.streams.attached(part % HEARTBEAT_PARTS, HEARTBEAT_PARTS) {
            // Another node may have told it more than this one has taken in.
            let replayed = stream.position();
            if replayed.epoch != position.epoch || !position.is_before(replayed) {
                self.streams.send(&stream, &heartbeat);
            }
        }
    }

    /// Ends the streams whose listeners may not listen any more.
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

    /// Drops events that are no longer kept.
    ///
    /// # Errors
    /// Those of the log.
    pub async fn trim(&self) -> Result<()> {
        self.log().trim().await
    }

    /// Ends every stream: the service stops.
    pub fn close(&self) {
        self.streams.close();
    }

    /// Returns what the streams were told.
    pub fn figures(&self) -> StreamFigures {
        self.streams.figures()
    }

    pub(super) fn log(&self) -> &dyn EventLog {
        &*self.ports.log
    }
}
