//! The use case of live updates.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::mem;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;

use super::streams::{Matched, Stream, Streams};
use super::{
    Delivery, EndReason, Event, EventAudience, EventLog, LoggedEvent, Message, Outlet, Part, Position, PostChange,
    PostState, StreamFigures, Topic, Topics,
};
use crate::accounts::{Caller, Member, SessionRepository};
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, Resource, Result};
use crate::id::{PostId, UserId};
use crate::notifications::{NotificationRepository, NotificationState};
use crate::posts::{PostAccess, Visibility, VisibleTo};

/// How many events are taken at a time.
const BATCH: usize = 500;

/// How many posts, and how many users, are asked about at once.
const ASKED_AT_ONCE: usize = 500;

/// How many recipients' notifications are counted at once.
const COUNTED_AT_ONCE: usize = 8;

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
    ports: EventPorts,
    streams: Streams,
}

/// Where a stream begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// With what happens from now on.
    Now,
    /// Behind a place up to which its listener was told everything; `None` where that place cannot be read.
    After(Option<Position>),
}

/// What decides who is told of an event about a post.
struct Facts {
    author: UserId,
    visibility: Visibility,
    is_author_enabled: bool,
    like_count: u64,
}

impl From<PostState> for Facts {
    fn from(state: PostState) -> Self {
        let PostState { author, visibility, is_author_enabled, like_count, .. } = state;
        Self { author, visibility, is_author_enabled, like_count }
    }
}

/// Who follows whom, as far as it was asked for.
type Follows = HashSet<(UserId, UserId)>;

/// What is to be told, in order.
type Told = Vec<(Arc<Stream>, Arc<Delivery>)>;

impl LiveUpdates {
    /// Creates it without a stream.
    pub fn new(ports: EventPorts) -> Self {
        Self { ports, streams: Streams::default() }
    }

    /// Opens a stream for a listener whose token is valid until `expires_at`.
    ///
    /// # Errors
    /// [`Error::NotFound`] or [`Error::Forbidden`] for a post among the topics; [`Error::TooMany`] when the account has
    /// [`MAX_STREAMS_PER_ACCOUNT`](super::MAX_STREAMS_PER_ACCOUNT) streams; [`Error::Unavailable`] when there are
    /// [`MAX_STREAMS`](super::MAX_STREAMS).
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
            // Another node may have told what this one has not taken in yet.
            Resume::After(Some(told)) => {
                let end = self.log().end();
                end.epoch != told.epoch || end.is_before(told)
            }
            _ => false,
        };
        if is_ahead || self.streams.is_empty() {
            self.log().refresh().await?;
        }
        let stream = self.streams.add(listener, expires_at, topics, outlet, self.log().end())?;
        let (told, reset) = match resume {
            Resume::Now => (self.log().end(), false),
            Resume::After(Some(told)) if self.log().after(told, 0).is_some() => (told, false),
            Resume::After(_) => (self.streams.claimed(), true),
        };
        stream.set_told(told);
        Ok(Subscription { live: Arc::clone(self), stream, begins_at: told, reset, is_attached: false })
    }

    async fn ensure_may_view(&self, listener: &Member, topics: &Topics) -> Result<()> {
        let ids: Vec<_> = topics.posts().collect();
        if ids.is_empty() {
            return Ok(());
        }
        let found = self.ports.audience.find_posts(ids.clone()).await?;
        let found: HashMap<_, _> = found.into_iter().map(|state| (state.id, state)).collect();
        let authors: BTreeSet<_> = found.values().map(|state| state.author).collect();
        let follows = self.follows(&BTreeSet::from([listener.id()]), &authors).await?;
        for id in ids {
            let state = found.get(&id).ok_or(Error::NotFound(Resource::Post))?;
            access(id, &Facts::from(*state), listener.id(), &follows).ensure_may_view(listener)?;
        }
        Ok(())
    }

    /// Tells the streams what happened since the last call; returns how old what was told is.
    ///
    /// # Errors
    /// Those of the log: then nothing was told, and the next call does it. Where it cannot be found out who may be told of
    /// something, those whom it may concern are told that they may have missed something.
    pub async fn dispatch(&self) -> Result<Vec<Duration>> {
        let mut ages = Vec::new();
        if self.streams.is_empty() {
            return Ok(ages);
        }
        self.log().refresh().await?;
        loop {
            let claimed = self.streams.claimed();
            let Some(events) = self.log().after(claimed, BATCH) else {
                self.reset_all();
                return Ok(ages);
            };
            let Some(last) = events.last() else { return Ok(ages) };
            let up_to = Position::after(claimed.epoch, last.number);
            let matched = self.streams.claim(events, up_to);
            match self.tell(claimed.epoch, &matched).await {
                Ok(told) => {
                    for (stream, delivery) in told {
                        self.streams.send(&stream, &delivery);
                    }
                    ages.extend(matched.iter().map(|(logged, _)| logged.age));
                }
                Err(error) => {
                    let concerned = matched.into_iter().flat_map(|(_, streams)| streams);
                    self.reset(concerned, up_to);
                    return Err(error);
                }
            }
        }
    }

    /// The log has lost what came after what was told.
    fn reset_all(&self) {
        let end = self.log().end();
        self.streams.claim(Vec::new(), end);
        self.reset(self.streams.attached(0, 1), end);
    }

    fn reset(&self, streams: impl IntoIterator<Item = Arc<Stream>>, position: Position) {
        let reset = Arc::new(Delivery { position, message: Message::Reset });
        let mut told = HashSet::new();
        for stream in streams {
            if told.insert(Arc::as_ptr(&stream)) {
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
            if !position.is_before(stream.told()) {
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
        for some in streams.chunks(ASKED_AT_ONCE) {
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

    fn log(&self) -> &dyn EventLog {
        &*self.ports.log
    }

    /// Returns what these events tell those whom they may concern.
    async fn tell(&self, epoch: u64, matched: &[Matched]) -> Result<Told> {
        let facts = self.facts(matched).await?;
        let follows = self.follows_of(matched, &facts).await?;
        let notified = self.notified(matched).await?;
        let mut told = Told::new();
        for (LoggedEvent { number, event, .. }, streams) in matched {
            let facts = facts_of(*event, &facts);
            for part in [Part::Feed, Part::Rest] {
                let mut delivery: Option<Arc<Delivery>> = None;
                for stream in streams {
                    let position = Position { epoch, number: *number, part };
                    let message = message(*event, part, stream, facts.as_deref(), &follows, &notified);
                    let Some(message) = message.filter(|_| stream.told().is_before(position)) else { continue };
                    let same = delivery.take().filter(|it| it.message == message);
                    let same = same.unwrap_or_else(|| Arc::new(Delivery { position, message }));
                    told.push((Arc::clone(stream), Arc::clone(&same)));
                    delivery = Some(same);
                }
            }
        }
        Ok(told)
    }

    /// Returns what decides who is told of the events, of the posts that are there.
    async fn facts(&self, matched: &[Matched]) -> Result<HashMap<PostId, Facts>> {
        let is_there = |event: &Event| !matches!(event, Event::PostDeleted(..));
        let ids = matched.iter().map(|(logged, _)| logged.event).filter(is_there).filter_map(|event| event.post());
        let ids: Vec<_> = ids.collect::<BTreeSet<_>>().into_iter().collect();
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let found = self.ports.audience.find_posts(ids).await?;
        Ok(found.into_iter().map(|state| (state.id, state.into())).collect())
    }

    /// Returns who of the listeners follows whom of the authors, where that decides.
    async fn follows_of(&self, matched: &[Matched], facts: &HashMap<PostId, Facts>) -> Result<Follows> {
        let (mut listeners, mut authors) = (BTreeSet::new(), BTreeSet::new());
        for (logged, streams) in matched {
            let Some(facts) = facts_of(logged.event, facts) else { continue };
            let is_new = matches!(logged.event, Event::PostCreated(..));
            let asks = |stream: &&Arc<Stream>| {
                if is_new { stream.topics.contains(Topic::Feed) } else { facts.visibility == Visibility::Followers }
            };
            let asking: Vec<_> = streams.iter().filter(asks).map(|stream| stream.listener().id()).collect();
            if !asking.is_empty() {
                authors.insert(facts.author);
                listeners.extend(asking);
            }
        }
        self.follows(&listeners, &authors).await
    }

    async fn follows(&self, listeners: &BTreeSet<UserId>, authors: &BTreeSet<UserId>) -> Result<Follows> {
        let (listeners, authors): (Vec<_>, Vec<_>) =
            (listeners.iter().copied().collect(), authors.iter().copied().collect());
        let mut follows = Follows::new();
        for authors in authors.chunks(ASKED_AT_ONCE) {
            for listeners in listeners.chunks(ASKED_AT_ONCE) {
                follows.extend(self.ports.audience.find_follows(listeners.to_vec(), authors.to_vec()).await?);
            }
        }
        Ok(follows)
    }

    /// Returns which notifications their recipients see, and how much is unread, by recipient.
    async fn notified(&self, matched: &[Matched]) -> Result<HashMap<UserId, NotificationState>> {
        let mut recipients: BTreeMap<UserId, (Member, BTreeSet<_>)> = BTreeMap::new();
        for (logged, streams) in matched {
            if let (Event::Notified(recipient, id, _), Some(stream)) = (logged.event, streams.first()) {
                let listener = stream.listener();
                recipients.entry(recipient).or_insert_with(|| (listener, BTreeSet::new())).1.insert(id);
            }
        }
        let recipients: Vec<_> = recipients.into_iter().collect();
        let mut states = HashMap::with_capacity(recipients.len());
        for some in recipients.chunks(COUNTED_AT_ONCE) {
            let found = some.iter().map(async |(recipient, (listener, ids))| {
                let ids = ids.iter().copied().collect();
                Ok::<_, Error>((*recipient, self.ports.notifications.find_state(VisibleTo::of(listener), ids).await?))
            });
            states.extend(try_join_all(found).await?);
        }
        Ok(states)
    }
}

fn facts_of(event: Event, facts: &HashMap<PostId, Facts>) -> Option<FactsOf<'_>> {
    match event {
        Event::PostDeleted(_, author, visibility) => {
            Some(FactsOf::Deleted(Facts { author, visibility, is_author_enabled: true, like_count: 0 }))
        }
        event => facts.get(&event.post()?).map(FactsOf::Present),
    }
}

/// Facts that were asked for, or that the event has with it.
enum FactsOf<'a> {
    Present(&'a Facts),
    Deleted(Facts),
}

impl Deref for FactsOf<'_> {
    type Target = Facts;

    fn deref(&self) -> &Facts {
        match self {
            Self::Present(facts) => facts,
            Self::Deleted(facts) => facts,
        }
    }
}

fn access(id: PostId, facts: &Facts, listener: UserId, follows: &Follows) -> PostAccess {
    let Facts { author, visibility, .. } = *facts;
    PostAccess { id, author, visibility, viewer_follows: follows.contains(&(listener, author)) }
}

/// Returns what a part of an event tells the listener of a stream; nothing when the listener may not know.
fn message(
    event: Event,
    part: Part,
    stream: &Stream,
    facts: Option<&Facts>,
    follows: &Follows,
    notified: &HashMap<UserId, NotificationState>,
) -> Option<Message> {
    let listener = stream.listener();
    if let Event::Notified(recipient, id, kind) = event {
        let state = notified.get(&recipient).filter(|state| part == Part::Rest && state.seen.contains(&id))?;
        return Some(Message::Notification(id, kind, state.unread));
    }
    let (id, facts) = (event.post()?, facts?);
    let access = access(id, facts, listener.id(), follows);
    access.ensure_may_view(&listener).ok()?;
    match (event, part) {
        (Event::PostCreated(_, author), Part::Feed) => {
            (stream.topics.contains(Topic::Feed) && access.viewer_follows).then_some(Message::Feed(id, author))
        }
        (Event::PostCreated(_, author), Part::Rest) => {
            let is_public = facts.visibility == Visibility::Public && facts.is_author_enabled;
            (is_public && stream.topics.contains(Topic::Public)).then_some(Message::Public(id, author))
        }
        (_, Part::Feed) => None,
        (Event::PostUpdated(_), Part::Rest) => Some(Message::Post(id, PostChange::Updated)),
        (Event::PostDeleted(..), Part::Rest) => Some(Message::Post(id, PostChange::Deleted)),
        (Event::Commented(_, comment), Part::Rest) => Some(Message::Comment(id, comment)),
        (Event::Liked(_), Part::Rest) => Some(Message::Like(id, facts.like_count)),
        (Event::Notified(..), Part::Rest) => None,
    }
}

/// An open stream, until it is dropped.
pub struct Subscription {
    live: Arc<LiveUpdates>,
    stream: Arc<Stream>,
    begins_at: Position,
    /// Whether the listener is to be told first that it may have missed something.
    reset: bool,
    is_attached: bool,
}

impl Subscription {
    /// Returns where it begins.
    pub fn begins_at(&self) -> Position {
        self.begins_at
    }

    /// Returns some of what the listener has missed; `None` once that is all, and from then on the outlet is given what happens.
    ///
    /// # Errors
    /// Those of the ports.
    pub async fn missed(&mut self) -> Result<Option<Vec<Arc<Delivery>>>> {
        let live = Arc::clone(&self.live);
        if mem::take(&mut self.reset) {
            return Ok(Some(vec![self.give_reset()]));
        }
        while !self.is_attached {
            let Some(claimed) = live.streams.attach(&self.stream) else {
                self.is_attached = true;
                return Ok(None);
            };
            let told = self.stream.told();
            let events = live.log().after(told, BATCH).filter(|_| claimed.epoch == told.epoch);
            let Some(mut events) = events else {
                self.stream.set_told(claimed);
                return Ok(Some(vec![self.give_reset()]));
            };
            events.retain(|logged| logged.number <= claimed.number);
            let up_to = events.last().map_or(claimed, |last| Position::after(told.epoch, last.number));
            let matched: Vec<_> = events.into_iter().filter_map(|logged| self.matched(logged)).collect();
            let missed = live.tell(told.epoch, &matched).await?;
            self.stream.set_told(up_to);
            if !missed.is_empty() {
                let missed = missed.into_iter().map(|(_, delivery)| delivery);
                return Ok(Some(missed.inspect(|delivery| live.streams.count(delivery.message)).collect()));
            }
        }
        Ok(None)
    }

    fn give_reset(&self) -> Arc<Delivery> {
        self.live.streams.count(Message::Reset);
        Arc::new(Delivery { position: self.stream.told(), message: Message::Reset })
    }

    /// Returns the event with this stream, if one of its topics is about it.
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
