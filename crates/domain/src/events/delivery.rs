//! Delivery: which message of an event each matching stream receives, if any.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use futures_util::future::try_join_all;

use super::service::{LiveUpdates, QUERY_CHUNK};
use super::streams::{Matched, Stream};
use super::{
    CommentState, Delivery, Event, LoggedEvent, Message, Part, Position, PostChange, PostState, Topic, Topics,
};
use crate::accounts::Member;
use crate::comments::CommentAccess;
use crate::error::{Error, Resource, Result};
use crate::id::{CommentId, PostId, UserId};
use crate::notifications::NotificationState;
use crate::posts::{PostAccess, Visibility, VisibleTo};
use crate::relation::Standing;

/// How many recipients' unread notifications are counted concurrently.
const COUNT_CONCURRENCY: usize = 8;

/// Pairs of users.
type Pairs = HashSet<(UserId, UserId)>;

/// The relations between listeners and authors that were looked up for a batch of events.
#[derive(Default)]
struct Relations {
    /// Follower, then followed.
    follows: Pairs,
    /// Listener, then a user who blocks the listener or is blocked by the listener.
    blocks: Pairs,
    /// Muter, then muted.
    mutes: Pairs,
}

impl Relations {
    fn standing(&self, listener: UserId, other: UserId) -> Standing {
        let pair = (listener, other);
        Standing::of(self.follows.contains(&pair), self.blocks.contains(&pair))
    }

    fn access(&self, post: &PostState, listener: UserId) -> PostAccess {
        let PostState { id, author, visibility, is_hidden, .. } = *post;
        PostAccess { id, author, visibility, is_hidden, standing: self.standing(listener, author) }
    }

    fn comment_access(&self, comment: &CommentState, post: PostAccess, listener: UserId) -> CommentAccess {
        let CommentState { id, author, parent, is_hidden, hidden_thread } = *comment;
        let standing = self.standing(listener, author);
        CommentAccess { id, author, parent, standing, is_hidden, hidden_thread, post }
    }
}

impl LiveUpdates {
    /// Checks that a listener may view every post among the topics.
    pub(super) async fn ensure_may_view(&self, listener: &Member, topics: &Topics) -> Result<()> {
        let ids: Vec<_> = topics.posts().collect();
        if ids.is_empty() {
            return Ok(());
        }
        let found = self.ports.audience.find_posts(ids.clone()).await?;
        let found: HashMap<_, _> = found.into_iter().map(|state| (state.id, state)).collect();
        let authors: BTreeSet<_> = found.values().map(|state| state.author).collect();
        let listeners = BTreeSet::from([listener.id()]);
        let (follows, blocks) = (self.follows(&listeners, &authors).await?, self.blocks(&listeners, &authors).await?);
        let relations = Relations { follows, blocks, ..Relations::default() };
        for id in ids {
            let state = found.get(&id).ok_or(Error::NotFound(Resource::Post))?;
            relations.access(state, listener.id()).ensure_may_view(listener)?;
        }
        Ok(())
    }

    /// Sends the streams that these events match their messages, in the order of the events. On an error nothing is sent.
    pub(super) async fn deliver(
        &self,
        epoch: u64,
        matched: &[Matched],
        mut send: impl FnMut(&Stream, &Arc<Delivery>),
    ) -> Result<()> {
        let posts = self.post_states(matched).await?;
        let comments = self.comment_states(matched).await?;
        let relations = self.relations_of(matched, &posts).await?;
        let notifications = self.notification_states(matched).await?;
        for (LoggedEvent { number, event, .. }, streams) in matched {
            let post = post_state(*event, &posts);
            let comment = commented(*event).and_then(|id| comments.get(&id));
            for part in [Part::Feed, Part::Rest] {
                let mut delivery: Option<Arc<Delivery>> = None;
                for stream in streams {
                    let position = Position { epoch, number: *number, part };
                    let message = message(*event, part, stream, (post.as_ref(), comment), &relations, &notifications);
                    let Some(message) = message.filter(|_| position.is_after(stream.position())) else { continue };
                    // Listeners with the same message share one allocation.
                    let shared = delivery.take().filter(|it| it.message == message);
                    let shared = shared.unwrap_or_else(|| Arc::new(Delivery { position, message }));
                    send(stream, &shared);
                    delivery = Some(shared);
                }
            }
        }
        Ok(())
    }

    /// Returns the states of the posts that the events are about and that still exist.
    async fn post_states(&self, matched: &[Matched]) -> Result<HashMap<PostId, PostState>> {
        let exists = |event: &Event| !matches!(event, Event::PostDeleted(..));
        let ids = matched.iter().map(|(logged, _)| logged.event).filter(exists).filter_map(|event| event.post());
        let ids: Vec<_> = ids.collect::<BTreeSet<_>>().into_iter().collect();
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let found = self.ports.audience.find_posts(ids).await?;
        Ok(found.into_iter().map(|state| (state.id, state)).collect())
    }

    /// Returns the states of the comments that the events are about and that still exist.
    async fn comment_states(&self, matched: &[Matched]) -> Result<HashMap<CommentId, CommentState>> {
        let ids: BTreeSet<_> = matched.iter().filter_map(|(logged, _)| commented(logged.event)).collect();
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let found = self.ports.audience.find_comments(ids.into_iter().collect()).await?;
        Ok(found.into_iter().map(|state| (state.id, state)).collect())
    }

    /// Returns those relations of the listeners to the authors that decide who receives the events.
    async fn relations_of(&self, matched: &[Matched], posts: &HashMap<PostId, PostState>) -> Result<Relations> {
        let (mut followers, mut followed) = (BTreeSet::new(), BTreeSet::new());
        let (mut viewers, mut viewed) = (BTreeSet::new(), BTreeSet::new());
        let (mut muters, mut muted) = (BTreeSet::new(), BTreeSet::new());
        for (logged, streams) in matched {
            let Some(post) = post_state(logged.event, posts) else { continue };
            let is_new = matches!(logged.event, Event::PostCreated(..));
            viewers.extend(streams.iter().map(|stream| stream.listener().id()));
            viewed.insert(post.author);
            if let Event::Commented(.., author) = logged.event {
                viewed.insert(author);
            }
            if is_new {
                muters.extend(streams.iter().map(|stream| stream.listener().id()));
                muted.insert(post.author);
            }
            let must_follow = |stream: &&Arc<Stream>| {
                if is_new { stream.topics.contains(Topic::Feed) } else { post.visibility == Visibility::Followers }
            };
            let asking: Vec<_> = streams.iter().filter(must_follow).map(|stream| stream.listener().id()).collect();
            if !asking.is_empty() {
                followed.insert(post.author);
                followers.extend(asking);
            }
        }
        Ok(Relations {
            follows: self.follows(&followers, &followed).await?,
            blocks: self.blocks(&viewers, &viewed).await?,
            mutes: pairs(&muters, &muted, |some, others| self.ports.audience.find_mutes(some, others)).await?,
        })
    }

    async fn follows(&self, listeners: &BTreeSet<UserId>, authors: &BTreeSet<UserId>) -> Result<Pairs> {
        pairs(listeners, authors, |some, others| self.ports.audience.find_follows(some, others)).await
    }

    async fn blocks(&self, listeners: &BTreeSet<UserId>, others: &BTreeSet<UserId>) -> Result<Pairs> {
        pairs(listeners, others, |some, others| self.ports.audience.find_blocks(some, others)).await
    }

    /// Returns, by recipient, which of the notifications the recipient sees and how many are unread.
    async fn notification_states(&self, matched: &[Matched]) -> Result<HashMap<UserId, NotificationState>> {
        let mut recipients: BTreeMap<UserId, (Member, BTreeSet<_>)> = BTreeMap::new();
        for (logged, streams) in matched {
            if let (Event::Notified(recipient, id, _), Some(stream)) = (logged.event, streams.first()) {
                let listener = stream.listener();
                recipients.entry(recipient).or_insert_with(|| (listener, BTreeSet::new())).1.insert(id);
            }
        }
        let recipients: Vec<_> = recipients.into_iter().collect();
        let mut states = HashMap::with_capacity(recipients.len());
        for some in recipients.chunks(COUNT_CONCURRENCY) {
            let found = some.iter().map(async |(recipient, (listener, ids))| {
                let ids = ids.iter().copied().collect();
                Ok::<_, Error>((*recipient, self.ports.notifications.find_state(VisibleTo::of(listener), ids).await?))
            });
            states.extend(try_join_all(found).await?);
        }
        Ok(states)
    }
}

/// Returns all pairs of a query over two sets of users, with at most [`QUERY_CHUNK`] of each set in one query.
async fn pairs<F: Future<Output = Result<Vec<(UserId, UserId)>>>>(
    some: &BTreeSet<UserId>,
    others: &BTreeSet<UserId>,
    find: impl Fn(Vec<UserId>, Vec<UserId>) -> F,
) -> Result<Pairs> {
    let (some, others): (Vec<_>, Vec<_>) = (some.iter().copied().collect(), others.iter().copied().collect());
    let mut found = Pairs::new();
    for others in others.chunks(QUERY_CHUNK) {
        for some in some.chunks(QUERY_CHUNK) {
            found.extend(find(some.to_vec(), others.to_vec()).await?);
        }
    }
    Ok(found)
}

/// Returns the state of the post that an event is about. The event itself has that of a deleted post.
fn post_state(event: Event, posts: &HashMap<PostId, PostState>) -> Option<PostState> {
    match event {
        Event::PostDeleted(id, author, visibility) => {
            Some(PostState { id, author, visibility, is_hidden: false, is_author_enabled: true, like_count: 0 })
        }
        event => posts.get(&event.post()?).copied(),
    }
}

/// Returns the comment that an event is about.
const fn commented(event: Event) -> Option<CommentId> {
    match event {
        Event::Commented(_, comment, _) => Some(comment),
        _ => None,
    }
}

/// Returns the message of one part of an event for a stream; `None` if it has none or the listener may not see it.
fn message(
    event: Event,
    part: Part,
    stream: &Stream,
    (post, comment): (Option<&PostState>, Option<&CommentState>),
    relations: &Relations,
    notifications: &HashMap<UserId, NotificationState>,
) -> Option<Message> {
    let listener = stream.listener();
    if let Event::Notified(recipient, id, kind) = event {
        let state = notifications.get(&recipient).filter(|state| part == Part::Rest && state.seen.contains(&id))?;
        return Some(Message::Notification(id, kind, state.unread));
    }
    let post = post?;
    let id = post.id;
    let access = relations.access(post, listener.id());
    access.ensure_may_view(&listener).ok()?;
    let mutes = relations.mutes.contains(&(listener.id(), post.author));
    match (event, part) {
        (Event::PostCreated(_, author), Part::Feed) => {
            let is_in_feed = access.standing == Standing::Follower && !mutes;
            (stream.topics.contains(Topic::Feed) && is_in_feed).then_some(Message::Feed(id, author))
        }
        (Event::PostCreated(_, author), Part::Rest) => {
            let is_shown = post.visibility == Visibility::Public && !post.is_hidden;
            let is_public = is_shown && post.is_author_enabled && !mutes;
            (is_public && stream.topics.contains(Topic::Public)).then_some(Message::Public(id, author))
        }
        (_, Part::Feed) => None,
        (Event::PostUpdated(_), Part::Rest) => Some(Message::Post(id, PostChange::Updated)),
        (Event::PostDeleted(..), Part::Rest) => Some(Message::Post(id, PostChange::Deleted)),
        (Event::Commented(..), Part::Rest) => {
            let comment = comment?;
            relations.comment_access(comment, access, listener.id()).ensure_may_view(&listener).ok()?;
            Some(Message::Comment(id, comment.id))
        }
        (Event::Liked(_), Part::Rest) => Some(Message::Like(id, post.like_count)),
        (Event::Notified(..) | Event::Unknown, Part::Rest) => None,
    }
}
