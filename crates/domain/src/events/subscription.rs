//! Opening a stream, and replaying what its listener has missed.

use std::mem;
use std::sync::Arc;

use super::service::{BATCH, LiveUpdates};
use super::streams::{Matched, Stream};
use super::{Delivery, Event, LoggedEvent, Message, Outlet, Position, Topic, Topics};
use crate::accounts::Member;
use crate::clock::Timestamp;
use crate::error::Result;

/// Where a stream begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// With the next event.
    Now,
    /// After the position up to which the listener has received everything; `None` if the client sent one that does not parse.
    After(Option<Position>),
}

impl LiveUpdates {
    /// Opens a stream for a listener whose token is valid until `expires_at`.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) or [`Error::Forbidden`](crate::Error::Forbidden) for a post among the topics;
    /// [`Error::TooMany`](crate::Error::TooMany) when the account has
    /// [`MAX_STREAMS_PER_ACCOUNT`](super::MAX_STREAMS_PER_ACCOUNT) streams; [`Error::Unavailable`](crate::Error::Unavailable)
    /// when the node has [`MAX_STREAMS`](super::MAX_STREAMS), or is shutting down.
    pub async fn open(
        self: &Arc<Self>,
        listener: Member,
        expires_at: Timestamp,
        topics: Topics,
        resume: Resume,
        outlet: Arc<dyn Outlet>,
    ) -> Result<Subscription> {
        self.ensure_may_view(&listener, &topics).await?;
        let is_ahead = match resume {
            // Another node may have delivered events that this one has not read yet.
            Resume::After(Some(position)) => position.is_after(self.log().end()),
            _ => false,
        };
        if is_ahead || self.streams.is_empty() {
            self.log().refresh().await?;
        }
        let stream = self.streams.add(listener, expires_at, topics, outlet, self.log().end())?;
        let (position, reset) = match resume {
            Resume::Now => (self.log().end(), false),
            Resume::After(Some(position)) if self.log().after(position, 0).is_some() => (position, false),
            Resume::After(_) => (self.streams.claimed(), true),
        };
        stream.set_position(position);
        Ok(Subscription::new(self, stream, reset))
    }
}

/// An open stream, which is closed when this is dropped.
pub struct Subscription {
    live: Arc<LiveUpdates>,
    stream: Arc<Stream>,
    begins_at: Position,
    /// Whether the first message is a reset.
    reset: bool,
    is_attached: bool,
}

impl Subscription {
    /// Creates a subscription that continues from the position of the stream.
    pub(super) fn new(live: &Arc<LiveUpdates>, stream: Arc<Stream>, reset: bool) -> Self {
        Self { live: Arc::clone(live), begins_at: stream.position(), stream, reset, is_attached: false }
    }

    /// Returns the position at which the stream begins.
    pub fn begins_at(&self) -> Position {
        self.begins_at
    }

    /// Returns a batch of what the listener has missed; `None` once it has caught up. From then on, new events go to the outlet.
    ///
    /// # Errors
    /// Those of the ports.
    pub async fn replay(&mut self) -> Result<Option<Vec<Arc<Delivery>>>> {
        let live = Arc::clone(&self.live);
        if mem::take(&mut self.reset) {
            return Ok(Some(vec![self.reset_delivery()]));
        }
        while !self.is_attached {
            let Some(claimed) = live.streams.attach(&self.stream) else {
                self.is_attached = true;
                return Ok(None);
            };
            let position = self.stream.position();
            let events = live.log().after(position, BATCH).filter(|_| claimed.epoch == position.epoch);
            let Some(mut events) = events else {
                self.stream.set_position(claimed);
                return Ok(Some(vec![self.reset_delivery()]));
            };
            events.retain(|logged| logged.number <= claimed.number);
            let up_to = events.last().map_or(claimed, |last| Position::after(position.epoch, last.number));
            let matched: Vec<_> = events.into_iter().filter_map(|logged| self.matched(logged)).collect();
            let mut replayed = Vec::new();
            live.deliver(position.epoch, &matched, |_, delivery| replayed.push(Arc::clone(delivery))).await?;
            self.stream.set_position(up_to);
            if !replayed.is_empty() {
                replayed.iter().for_each(|delivery| live.streams.count(delivery.message));
                return Ok(Some(replayed));
            }
        }
        Ok(None)
    }

    fn reset_delivery(&self) -> Arc<Delivery> {
        self.live.streams.count(Message::Reset);
        Arc::new(Delivery { position: self.stream.position(), message: Message::Reset })
    }

    /// Returns the event with this stream, if it matches one of the topics.
    fn matched(&self, logged: LoggedEvent) -> Option<Matched> {
        let topics = &self.stream.topics;
        let is_about = match logged.event {
            Event::PostCreated(..) => topics.contains(Topic::Feed) || topics.contains(Topic::Public),
            Event::Notified(recipient, ..) => {
                recipient == self.stream.listener().id() && topics.contains(Topic::Notifications)
            }
            event => event.post().is_some_and(|post| topics.contains(Topic::Post(post))),
        };
        is_about.then(|| (logged, vec![Arc::clone(&self.stream)]))
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.live.streams.remove(&self.stream);
    }
}
