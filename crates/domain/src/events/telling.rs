//! Who is told of what happens.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Deref;
use std::sync::Arc;

use futures_util::future::try_join_all;

use super::service::{ASKED_AT_ONCE, LiveUpdates};
use super::streams::{Matched, Stream};
use super::{Delivery, Event, LoggedEvent, Message, Part, Position, PostChange, PostState, Topic, Topics};
use crate::accounts::Member;
use crate::error::{Error, Resource, Result};
use crate::id::{PostId, UserId};
use crate::notifications::NotificationState;
use crate::posts::{PostAccess, Visibility, VisibleTo};

/// How many recipients' notifications are counted at once.
const COUNTED_AT_ONCE: usize = 8;

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

impl LiveUpdates {
    /// Checks that a listener may view the posts among the topics.
    pub(super) async fn ensure_may_view(&self, listener: &Member, topics: &Topics) -> Result<()> {
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

    /// Gives those whom these events may concern what they tell them, in their order. Nobody is given anything when it fails.
    pub(super) async fn tell(
        &self,
        epoch: u64,
        matched: &[Matched],
        mut give: impl FnMut(&Stream, &Arc<Delivery>),
    ) -> Result<()> {
        let facts = self.facts(matched).await?;
        let follows = self.follows_of(matched, &facts).await?;
        let notified = self.notified(matched).await?;
        for (LoggedEvent { number, event, .. }, streams) in matched {
            let facts = facts_of(*event, &facts);
            for part in [Part::Feed, Part::Rest] {
                let mut delivery: Option<Arc<Delivery>> = None;
                for stream in streams {
                    let position = Position { epoch, number: *number, part };
                    let message = message(*event, part, stream, facts.as_deref(), &follows, &notified);
                    let Some(message) = message.filter(|_| position.is_after(stream.told())) else { continue };
                    let same = delivery.take().filter(|it| it.message == message);
                    let same = same.unwrap_or_else(|| Arc::new(Delivery { position, message }));
                    give(stream, &same);
                    delivery = Some(same);
                }
            }
        }
        Ok(())
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
        (Event::Notified(..) | Event::Unknown, Part::Rest) => None,
    }
}
