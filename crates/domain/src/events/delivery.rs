//! Who is told of what happens.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use futures_util::future::try_join_all;

use super::service::{LiveUpdates, QUERY_CHUNK};
use super::streams::{Matched, Stream};
use super::{Delivery, Event, LoggedEvent, Message, Part, Position, PostChange, PostState, Topic, Topics};
use crate::accounts::Member;
use crate::error::{Error, Resource, Result};
use crate::id::{PostId, UserId};
use crate::notifications::NotificationState;
use crate::posts::{PostAccess, Visibility, VisibleTo};

/// How many recipients' notifications are counted at once.
const COUNTED_AT_ONCE: usize = 8;

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
            access(state, listener.id(), &follows).ensure_may_view(listener)?;
        }
        Ok(())
    }

    /// Gives those whom these events may concern what they tell them, in their order. Nobody is given anything when it fails.
    pub(super) async fn deliver(
        &self,
        epoch: u64,
        matched: &[Matched],
        mut send: impl FnMut(&Stream, &Arc<Delivery>),
    ) -> Result<()> {
        let posts = self.post_states(matched).await?;
        let follows = self.follows_of(matched, &posts).await?;
        let notified = self.notified(matched).await?;
        for (LoggedEvent { number, event, .. }, streams) in matched {
            let post = post_state(*event, &posts);
            for part in [Part::Feed, Part::Rest] {
                let mut delivery: Option<Arc<Delivery>> = None;
                for stream in streams {
                    let position = Position { epoch, number: *number, part };
                    let message = message(*event, part, stream, post.as_ref(), &follows, &notified);
                    let Some(message) = message.filter(|_| position.is_after(stream.position())) else { continue };
                    let same = delivery.take().filter(|it| it.message == message);
                    let same = same.unwrap_or_else(|| Arc::new(Delivery { position, message }));
                    send(stream, &same);
                    delivery = Some(same);
                }
            }
        }
        Ok(())
    }

    /// Returns the states of the posts that the events are about and that are there.
    async fn post_states(&self, matched: &[Matched]) -> Result<HashMap<PostId, PostState>> {
        let is_there = |event: &Event| !matches!(event, Event::PostDeleted(..));
        let ids = matched.iter().map(|(logged, _)| logged.event).filter(is_there).filter_map(|event| event.post());
        let ids: Vec<_> = ids.collect::<BTreeSet<_>>().into_iter().collect();
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let found = self.ports.audience.find_posts(ids).await?;
        Ok(found.into_iter().map(|state| (state.id, state)).collect())
    }

    /// Returns who of the listeners follows whom of the authors, where that decides.
    async fn follows_of(&self, matched: &[Matched], posts: &HashMap<PostId, PostState>) -> Result<Follows> {
        let (mut listeners, mut authors) = (BTreeSet::new(), BTreeSet::new());
        for (logged, streams) in matched {
            let Some(post) = post_state(logged.event, posts) else { continue };
            let is_new = matches!(logged.event, Event::PostCreated(..));
            let asks = |stream: &&Arc<Stream>| {
                if is_new { stream.topics.contains(Topic::Feed) } else { post.visibility == Visibility::Followers }
            };
            let asking: Vec<_> = streams.iter().filter(asks).map(|stream| stream.listener().id()).collect();
            if !asking.is_empty() {
                authors.insert(post.author);
                listeners.extend(asking);
            }
        }
        self.follows(&listeners, &authors).await
    }

    async fn follows(&self, listeners: &BTreeSet<UserId>, authors: &BTreeSet<UserId>) -> Result<Follows> {
        let (listeners, authors): (Vec<_>, Vec<_>) =
            (listeners.iter().copied().collect(), authors.iter().copied().collect());
        let mut follows = Follows::new();
        for authors in authors.chunks(QUERY_CHUNK) {
            for listeners in listeners.chunks(QUERY_CHUNK) {
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

/// Returns the state of the post that an event is about, which the event has with it where the post is gone.
fn post_state(event: Event, posts: &HashMap<PostId, PostState>) -> Option<PostState> {
    match event {
        Event::PostDeleted(id, author, visibility) => {
            Some(PostState { id, author, visibility, is_author_enabled: true, like_count: 0 })
        }
        event => posts.get(&event.post()?).copied(),
    }
}

fn access(post: &PostState, listener: UserId, follows: &Follows) -> PostAccess {
    let PostState { id, author, visibility, .. } = *post;
    PostAccess { id, author, visibility, viewer_follows: follows.contains(&(listener, author)) }
}

/// Returns what a part of an event tells the listener of a stream; nothing when the listener may not know.
fn message(
    event: Event,
    part: Part,
    stream: &Stream,
    post: Option<&PostState>,
    follows: &Follows,
    notified: &HashMap<UserId, NotificationState>,
) -> Option<Message> {
    let listener = stream.listener();
    if let Event::Notified(recipient, id, kind) = event {
        let state = notified.get(&recipient).filter(|state| part == Part::Rest && state.seen.contains(&id))?;
        return Some(Message::Notification(id, kind, state.unread));
    }
    let post = post?;
    let id = post.id;
    let access = access(post, listener.id(), follows);
    access.ensure_may_view(&listener).ok()?;
    match (event, part) {
        (Event::PostCreated(_, author), Part::Feed) => {
            (stream.topics.contains(Topic::Feed) && access.viewer_follows).then_some(Message::Feed(id, author))
        }
        (Event::PostCreated(_, author), Part::Rest) => {
            let is_public = post.visibility == Visibility::Public && post.is_author_enabled;
            (is_public && stream.topics.contains(Topic::Public)).then_some(Message::Public(id, author))
        }
        (_, Part::Feed) => None,
        (Event::PostUpdated(_), Part::Rest) => Some(Message::Post(id, PostChange::Updated)),
        (Event::PostDeleted(..), Part::Rest) => Some(Message::Post(id, PostChange::Deleted)),
        (Event::Commented(_, comment), Part::Rest) => Some(Message::Comment(id, comment)),
        (Event::Liked(_), Part::Rest) => Some(Message::Like(id, post.like_count)),
        (Event::Notified(..) | Event::Unknown, Part::Rest) => None,
    }
}
