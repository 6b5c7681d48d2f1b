//! The open streams of this node, and which of them an event matches.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Delivery, EndReason, Event, LoggedEvent, Message, Outlet, Position, Topic, Topics};
use crate::accounts::Member;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::id::{PostId, UserId};
use crate::limits::{Allowance, Limit};

/// The most streams of one account on one node (`contract`: Live updates).
pub const MAX_STREAMS_PER_ACCOUNT: usize = 10;

/// The most streams of one node (`contract`: Live updates).
pub const MAX_STREAMS: usize = 10_000;

/// The most matched events in a batch: fewer than the queue of a stream holds.
const MAX_MATCHED: usize = 128;

/// The approximate limit of a batch in pairs of an event and a stream that it matches.
const MAX_PAIRS: usize = 10_000;

/// The seconds after which an account with too many streams is told to retry.
const RETRY_SECONDS: u32 = 5;

/// A stream, and its listener.
pub(super) struct Stream {
    id: u64,
    pub(super) topics: Topics,
    /// When the listener's token expires.
    pub(super) expires_at: Timestamp,
    listener: Mutex<Member>,
    /// The position up to which the listener has received everything by replay, before the stream was attached.
    position: Mutex<Position>,
    outlet: Arc<dyn Outlet>,
}

impl Stream {
    /// Returns the listener, with the roles of the last check.
    pub(super) fn listener(&self) -> Member {
        *lock(&self.listener)
    }

    /// Returns the position up to which the listener has received everything by replay, before the stream was attached.
    pub(super) fn position(&self) -> Position {
        *lock(&self.position)
    }

    /// Sets the position up to which the listener has received everything by replay.
    pub(super) fn set_position(&self, position: Position) {
        *lock(&self.position) = position;
    }

    /// Updates the listener's roles.
    pub(super) fn set_listener(&self, listener: Member) {
        *lock(&self.listener) = listener;
    }
}

/// The key by which the streams that an event matches are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Channel {
    Notifications(UserId),
    Feed,
    Public,
    Post(PostId),
}

impl Channel {
    fn of(topic: Topic, listener: UserId) -> Self {
        match topic {
            Topic::Notifications => Self::Notifications(listener),
            Topic::Feed => Self::Feed,
            Topic::Public => Self::Public,
            Topic::Post(id) => Self::Post(id),
        }
    }

    fn of_event(event: Event) -> impl Iterator<Item = Self> {
        let (first, second) = match event {
            Event::PostCreated(..) => (Some(Self::Feed), Some(Self::Public)),
            Event::PostUpdated(post)
            | Event::PostDeleted(post, ..)
            | Event::Commented(post, ..)
            | Event::Liked(post) => (Some(Self::Post(post)), None),
            Event::Notified(recipient, ..) => (Some(Self::Notifications(recipient)), None),
            Event::Unknown => (None, None),
        };
        [first, second].into_iter().flatten()
    }
}

/// An event, and the streams that it matches. Not each of their listeners may see it.
pub(super) type Matched = (LoggedEvent, Vec<Arc<Stream>>);

/// The streams of this node.
#[derive(Default)]
pub(super) struct Streams {
    state: Mutex<State>,
    figures: Counts,
}

#[derive(Default)]
struct Counts {
    deliveries: AtomicU64,
    resets: AtomicU64,
    ended: [AtomicU64; EndReason::ALL.len()],
}

/// The number of open streams on this node, and the totals since its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamFigures {
    /// Open streams.
    pub open: usize,
    /// Messages sent, excluding heartbeats and resets.
    pub deliveries: u64,
    /// Resets sent.
    pub resets: u64,
    /// Streams ended by the service, by reason.
    pub ended: BTreeMap<EndReason, u64>,
}

#[derive(Default)]
struct State {
    open: HashMap<u64, Open>,
    /// The ids of the attached streams, by channel.
    channels: BTreeMap<Channel, BTreeSet<u64>>,
    /// The number of open streams, by account.
    accounts: HashMap<UserId, usize>,
    next_id: u64,
    /// The position up to which events were claimed for the attached streams. Meaningless while no stream is open.
    claimed: Position,
    is_closed: bool,
}

struct Open {
    stream: Arc<Stream>,
    is_attached: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Streams {
    pub(super) fn is_empty(&self) -> bool {
        lock(&self.state).open.is_empty()
    }

    /// Adds a stream. It receives no events until it is [attached](Self::attach). `end` is the end of the log.
    pub(super) fn add(
        &self,
        listener: Member,
        expires_at: Timestamp,
        topics: Topics,
        outlet: Arc<dyn Outlet>,
        end: Position,
    ) -> Result<Arc<Stream>> {
        let state = &mut *lock(&self.state);
        if state.is_closed {
            return Err(Error::unavailable("the service stops"));
        }
        if state.open.len() >= MAX_STREAMS {
            return Err(Error::unavailable("too many streams of events are open"));
        }
        if state.open.is_empty() {
            state.claimed = end;
        }
        let of_account = state.accounts.entry(listener.id()).or_default();
        if *of_account >= MAX_STREAMS_PER_ACCOUNT {
            let limit = Limit { most: MAX_STREAMS_PER_ACCOUNT as u32, period_seconds: RETRY_SECONDS };
            return Err(Error::TooMany(Allowance { limit, remaining: 0, reset_seconds: RETRY_SECONDS }));
        }
        *of_account += 1;
        let id = state.next_id;
        state.next_id += 1;
        let (listener, position) = (Mutex::new(listener), Mutex::new(state.claimed));
        let stream = Arc::new(Stream { id, topics, expires_at, listener, position, outlet });
        state.open.insert(id, Open { stream: Arc::clone(&stream), is_attached: false });
        Ok(stream)
    }

    /// Attaches a stream, so that it receives further events, if its position has caught up with the attached streams. Otherwise
    /// returns their position, up to which it has to catch up.
    pub(super) fn attach(&self, stream: &Stream) -> Option<Position> {
        let state = &mut *lock(&self.state);
        // A stream that was ended meanwhile needs no replay.
        if !state.open.contains_key(&stream.id) {
            return None;
        }
        let (claimed, position) = (state.claimed, stream.position());
        if claimed.epoch != position.epoch || claimed.complete() > position.complete() {
            return Some(claimed);
        }
        if let Some(open) = state.open.get_mut(&stream.id) {
            open.is_attached = true;
            let listener = stream.listener().id();
            for topic in stream.topics.iter() {
                state.channels.entry(Channel::of(topic, listener)).or_default().insert(stream.id);
            }
        }
        None
    }

    /// Returns the position up to which events were claimed.
    pub(super) fn claimed(&self) -> Position {
        lock(&self.state).claimed
    }

    /// Claims the first of `events`, which come next on the log. Returns those that match streams, with the streams, and the
    /// position up to which events were claimed. The batch is limited, so that neither the lock nor the thread is held for long.
    pub(super) fn claim(&self, epoch: u64, events: Vec<LoggedEvent>) -> (Vec<Matched>, Position) {
        let state = &mut *lock(&self.state);
        let (mut matched, mut pairs) = (Vec::new(), 0);
        for logged in events {
            let mut ids = BTreeSet::new();
            for channel in Channel::of_event(logged.event) {
                ids.extend(state.channels.get(&channel).into_iter().flatten());
            }
            let streams: Vec<_> = ids.iter().filter_map(|id| Some(Arc::clone(&state.open.get(id)?.stream))).collect();
            state.claimed = Position::after(epoch, logged.number);
            pairs += streams.len();
            if !streams.is_empty() {
                matched.push((logged, streams));
            }
            if pairs >= MAX_PAIRS || matched.len() >= MAX_MATCHED {
                break;
            }
        }
        (matched, state.claimed)
    }

    /// Skips all events up to a position.
    pub(super) fn skip_to(&self, position: Position) {
        lock(&self.state).claimed = position;
    }

    /// Returns every stream, attached or not.
    pub(super) fn all(&self) -> Vec<Arc<Stream>> {
        lock(&self.state).open.values().map(|open| Arc::clone(&open.stream)).collect()
    }

    /// Returns the attached streams whose id modulo `parts` is `part`.
    pub(super) fn attached(&self, part: u64, parts: u64) -> Vec<Arc<Stream>> {
        let state = lock(&self.state);
        let of_part = state.open.values().filter(|open| open.is_attached && open.stream.id % parts == part);
        of_part.map(|open| Arc::clone(&open.stream)).collect()
    }

    /// Sends a stream a message, or ends the stream if its queue is full.
    pub(super) fn send(&self, stream: &Stream, delivery: &Arc<Delivery>) {
        if !stream.outlet.send(Arc::clone(delivery)) {
            return self.end(stream, EndReason::TooSlow);
        }
        self.count(delivery.message);
    }

    /// Counts a message that a stream was sent.
    pub(super) fn count(&self, message: Message) {
        match message {
            Message::Heartbeat => {}
            Message::Reset => drop(self.figures.resets.fetch_add(1, Relaxed)),
            _ => drop(self.figures.deliveries.fetch_add(1, Relaxed)),
        }
    }

    /// Ends a stream, unless it has ended already.
    pub(super) fn end(&self, stream: &Stream, reason: EndReason) {
        if self.remove(stream) {
            stream.outlet.end(reason);
            let index = EndReason::ALL.iter().position(|each| *each == reason);
            if let Some(count) = index.and_then(|index| self.figures.ended.get(index)) {
                count.fetch_add(1, Relaxed);
            }
        }
    }

    /// Removes a stream; returns whether it was present.
    pub(super) fn remove(&self, stream: &Stream) -> bool {
        let state = &mut *lock(&self.state);
        if state.open.remove(&stream.id).is_none() {
            return false;
        }
        let listener = stream.listener().id();
        for topic in stream.topics.iter() {
            let channel = Channel::of(topic, listener);
            if let Some(ids) = state.channels.get_mut(&channel) {
                ids.remove(&stream.id);
                if ids.is_empty() {
                    state.channels.remove(&channel);
                }
            }
        }
        if let Some(count) = state.accounts.get_mut(&listener) {
            *count -= 1;
            if *count == 0 {
                state.accounts.remove(&listener);
            }
        }
        true
    }

    /// Ends every stream, and rejects new ones from now on.
    pub(super) fn close(&self) {
        lock(&self.state).is_closed = true;
        for stream in self.all() {
            self.end(&stream, EndReason::ShuttingDown);
        }
    }

    pub(super) fn figures(&self) -> StreamFigures {
        let Counts { deliveries, resets, ended } = &self.figures;
        StreamFigures {
            open: lock(&self.state).open.len(),
            deliveries: deliveries.load(Relaxed),
            resets: resets.load(Relaxed),
            ended: EndReason::ALL.into_iter().zip(ended.iter().map(|count| count.load(Relaxed))).collect(),
        }
    }
}
