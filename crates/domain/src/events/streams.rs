//! Who listens.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Delivery, EndReason, Event, LoggedEvent, Message, Outlet, Position, Topic, Topics};
use crate::accounts::Member;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::id::{PostId, UserId};
use crate::limits::{Allowance, Limit};

/// The most streams of one account on one node (contract: Live updates).
pub const MAX_STREAMS_PER_ACCOUNT: usize = 10;

/// The most streams of one node (contract: Live updates).
pub const MAX_STREAMS: usize = 10_000;

/// How many events that may concern somebody are delivered at a time: fewer than may wait for a stream.
const MAX_MATCHED: usize = 128;

/// To how many streams, each counted once for each event, about.
const MAX_PAIRS: usize = 10_000;

/// In how many seconds somebody with too many streams is to try again.
const RETRY_SECONDS: u32 = 5;

/// One who listens.
pub(super) struct Stream {
    id: u64,
    pub(super) topics: Topics,
    /// Until when the token is valid.
    pub(super) expires_at: Timestamp,
    listener: Mutex<Member>,
    /// Up to where the listener was told everything before it was attached.
    position: Mutex<Position>,
    outlet: Arc<dyn Outlet>,
}

impl Stream {
    /// Returns who listens, with the roles that were last known.
    pub(super) fn listener(&self) -> Member {
        *lock(&self.listener)
    }

    /// Returns up to where the listener was told everything before it was attached.
    pub(super) fn position(&self) -> Position {
        *lock(&self.position)
    }

    /// Says up to where the listener was told everything.
    pub(super) fn set_position(&self, position: Position) {
        *lock(&self.position) = position;
    }

    /// Changes what is known of the roles of who listens.
    pub(super) fn set_listener(&self, listener: Member) {
        *lock(&self.listener) = listener;
    }
}

/// By what the streams that an event may concern are found.
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

/// An event, and the streams that it may concern.
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

/// What the streams of a node have been told since it was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamFigures {
    /// How many are open.
    pub open: usize,
    /// How many messages were handed to them.
    pub deliveries: u64,
    /// How often one was told that it may have missed something.
    pub resets: u64,
    /// How many were ended, by why.
    pub ended: BTreeMap<EndReason, u64>,
}

#[derive(Default)]
struct State {
    open: HashMap<u64, Open>,
    channels: BTreeMap<Channel, BTreeSet<u64>>,
    accounts: HashMap<UserId, usize>,
    next: u64,
    /// Up to where events were taken for those that are attached: of no meaning while none is open.
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

    /// Adds a stream; it is told nothing until it is attached. `end` is that of the log.
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
        let id = state.next;
        state.next += 1;
        let (listener, position) = (Mutex::new(listener), Mutex::new(state.claimed));
        let stream = Arc::new(Stream { id, topics, expires_at, listener, position, outlet });
        state.open.insert(id, Open { stream: Arc::clone(&stream), is_attached: false });
        Ok(stream)
    }

    /// Attaches a stream to what comes from here on, if it has been told everything that the others have; else returns the position up to which
    /// events were taken for the others.
    pub(super) fn attach(&self, stream: &Stream) -> Option<Position> {
        let state = &mut *lock(&self.state);
        // One that was ended meanwhile is told nothing more, whatever it has missed.
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

    /// Returns up to where events were taken.
    pub(super) fn claimed(&self) -> Position {
        lock(&self.state).claimed
    }

    /// Takes the first of some events, which come next on a log: returns those that may concern somebody, each with whom, and up
    /// to where they were taken. So few that no lock is held, and no thread kept, for long.
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

    /// Leaves out everything up to a place.
    pub(super) fn skip_to(&self, position: Position) {
        lock(&self.state).claimed = position;
    }

    /// Returns every stream, attached or not.
    pub(super) fn all(&self) -> Vec<Arc<Stream>> {
        lock(&self.state).open.values().map(|open| Arc::clone(&open.stream)).collect()
    }

    /// Returns the attached ones, of some parts of all: the part of a stream is the rest of its number.
    pub(super) fn attached(&self, part: u64, parts: u64) -> Vec<Arc<Stream>> {
        let state = lock(&self.state);
        let of_part = state.open.values().filter(|open| open.is_attached && open.stream.id % parts == part);
        of_part.map(|open| Arc::clone(&open.stream)).collect()
    }

    /// Hands a stream a message, or ends it when it has no room.
    pub(super) fn send(&self, stream: &Stream, delivery: &Arc<Delivery>) {
        if !stream.outlet.send(Arc::clone(delivery)) {
            return self.end(stream, EndReason::TooSlow);
        }
        self.count(delivery.message);
    }

    /// Counts a message that a stream was told.
    pub(super) fn count(&self, message: Message) {
        match message {
            Message::Heartbeat => {}
            Message::Reset => drop(self.figures.resets.fetch_add(1, Relaxed)),
            _ => drop(self.figures.deliveries.fetch_add(1, Relaxed)),
        }
    }

    /// Ends a stream, if it has not ended.
    pub(super) fn end(&self, stream: &Stream, reason: EndReason) {
        if self.remove(stream) {
            stream.outlet.end(reason);
            let place = EndReason::ALL.iter().position(|each| *each == reason);
            if let Some(count) = place.and_then(|place| self.figures.ended.get(place)) {
                count.fetch_add(1, Relaxed);
            }
        }
    }

    /// Forgets a stream; returns whether it was there.
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

    /// Ends every stream, and lets none in from now on.
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
