//! Compares the notifications after random acts with a model of the rules.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agora_domain::clock::Timestamp;
use agora_domain::comments::{Comment, NewComment, Reply};
use agora_domain::id::{CommentId, NotificationId, PostId, RelationId, UserId};
use agora_domain::notices::{Notice, NotificationKind, Subject};
use agora_domain::notifications::{Notification, NotificationPolicy, NotificationSettings, SHOWN_ACTORS};
use agora_domain::page::PageRequest;
use agora_domain::posts::{PostEdit, Visibility};
use agora_domain::relation::NewRelation;
use uuid::Uuid;

use super::DAY;
use super::scenario::{KINDS, member};
use crate::Repositories;
use crate::world::{ANYBODY, World, at, comment_text, entities, pseudo_random};

const STEPS: usize = 1_200;
const USERS: usize = 4;

/// A notification in the model.
struct ModelNotification {
    id: NotificationId,
    recipient: UserId,
    kind: NotificationKind,
    subject: Subject,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// The actors by act, in the order of the acts.
    actors: BTreeMap<Uuid, UserId>,
    withdrawn: BTreeSet<UserId>,
    read: bool,
}

/// A like or a follow: its kind, its target and its actor.
type Relation = (NotificationKind, Uuid, UserId);

#[derive(Default)]
struct Model {
    notifications: Vec<ModelNotification>,
    relations: BTreeMap<Relation, (RelationId, Timestamp)>,
    posts: BTreeMap<PostId, (UserId, Visibility)>,
    /// The post, the author and the top of the thread of each comment.
    comments: BTreeMap<CommentId, (PostId, UserId, CommentId)>,
    settings: BTreeMap<UserId, NotificationSettings>,
}

const fn is_gathered(kind: NotificationKind) -> bool {
    matches!(kind, NotificationKind::Like | NotificationKind::CommentLike | NotificationKind::Follow)
}

const fn day(at: Timestamp) -> i64 {
    at.unix_millis().div_euclid(DAY)
}

impl Model {
    fn follows(&self, follower: UserId, followed: UserId) -> bool {
        self.relations.contains_key(&(NotificationKind::Follow, followed.uuid(), follower))
    }

    /// Adds an act to a notification, unless it is the recipient's own or the recipient's settings exclude it.
    fn notify(&mut self, act: Uuid, notice: Notice) {
        let Notice { id, kind, recipient, actor, subject, at } = notice;
        let settings = self.settings.get(&recipient).copied().unwrap_or_default();
        if actor == recipient || !settings.get(kind).admits(self.follows(recipient, actor)) {
            return;
        }
        let same = |it: &&mut ModelNotification| {
            (it.recipient, it.kind, it.subject, day(it.created_at)) == (recipient, kind, subject, day(at))
        };
        match self.notifications.iter_mut().filter(|_| is_gathered(kind)).find(same) {
            Some(notification) => {
                notification.actors.insert(act, actor);
                if !notification.withdrawn.contains(&actor) {
                    notification.read = false;
                    notification.updated_at = notification.updated_at.max(at);
                }
            }
            None => self.notifications.push(ModelNotification {
                id,
                recipient,
                kind,
                subject,
                created_at: at,
                updated_at: at,
                actors: [(act, actor)].into(),
                withdrawn: BTreeSet::new(),
                read: false,
            }),
        }
    }

    fn withdraw(&mut self, relation: Relation) {
        let Some((id, _)) = self.relations.remove(&relation) else { return };
        for notification in &mut self.notifications {
            if notification.actors.remove(&id.uuid()).is_some() {
                notification.withdrawn.insert(relation.2);
            }
        }
    }

    fn may_view(&self, viewer: UserId, post: PostId) -> bool {
        self.posts.get(&post).is_some_and(|(author, visibility)| {
            viewer == *author
                || *visibility == Visibility::Public
                || *visibility == Visibility::Followers && self.follows(viewer, *author)
        })
    }

    /// Returns the notifications that a recipient sees, in order.
    fn shown(&self, recipient: UserId) -> Vec<&ModelNotification> {
        let is_shown = |notification: &&ModelNotification| {
            let is_visible = match notification.subject {
                Subject::Recipient => true,
                Subject::Post(post) => self.may_view(recipient, post),
                Subject::Comment(post, comment) => {
                    self.may_view(recipient, post) && self.comments.contains_key(&comment)
                }
            };
            notification.recipient == recipient && !notification.actors.is_empty() && is_visible
        };
        let mut shown: Vec<&ModelNotification> = self.notifications.iter().filter(is_shown).collect();
        shown.sort_by_key(|it| std::cmp::Reverse((it.updated_at, it.id)));
        shown
    }
}

/// The fields of a notification that are compared with the model.
type ComparedFields = (NotificationId, NotificationKind, Timestamp, Timestamp, bool, u64, Vec<UserId>);

fn actual(notification: &Notification) -> ComparedFields {
    let actors = notification.actors.iter().map(|actor| actor.id).collect();
    (
        notification.id,
        notification.kind,
        notification.created_at,
        notification.updated_at,
        notification.read,
        notification.count,
        actors,
    )
}

fn expected(notification: &ModelNotification) -> ComparedFields {
    let actors = notification.actors.values().rev().take(SHOWN_ACTORS).copied().collect();
    (
        notification.id,
        notification.kind,
        notification.created_at,
        notification.updated_at,
        notification.read,
        notification.actors.len() as u64,
        actors,
    )
}

/// The repositories and the model. Each method performs the same act in both.
struct Comparison {
    db: Repositories,
    w: Arc<World>,
    model: Model,
    users: [UserId; USERS],
    now: Timestamp,
}

impl Comparison {
    fn notice(&self, kind: NotificationKind, recipient: UserId, actor: UserId, subject: Subject) -> Notice {
        Notice { id: self.w.id(), kind, recipient, actor, subject, at: self.now }
    }

    /// Turns a like or a follow on or off.
    async fn set(&mut self, on: bool, kind: NotificationKind, recipient: UserId, actor: UserId, subject: Subject) {
        let notice = self.notice(kind, recipient, actor, subject);
        let stored_notice = Some(notice).filter(|_| actor != recipient);
        let relation = NewRelation { id: self.w.id(), at: self.now, notice: stored_notice };
        let Comparison { db, model, .. } = self;
        let target = match subject {
            Subject::Recipient => recipient.uuid(),
            Subject::Post(post) => post.uuid(),
            Subject::Comment(_, comment) => comment.uuid(),
        };
        match (subject, on) {
            (Subject::Recipient, true) => db.follows.set(actor, recipient, relation).await.unwrap(),
            (Subject::Recipient, false) => db.follows.unset(actor, recipient).await.unwrap(),
            (Subject::Post(post), true) => db.posts.set_like(post, actor, relation).await.unwrap(),
            (Subject::Post(post), false) => db.posts.unset_like(post, actor).await.map(drop).unwrap(),
            (Subject::Comment(_, comment), true) => db.comments.set_like(comment, actor, relation).await.unwrap(),
            (Subject::Comment(_, comment), false) => db.comments.unset_like(comment, actor).await.map(drop).unwrap(),
        }
        let key = (kind, target, actor);
        if !on {
            model.withdraw(key);
        } else if let Entry::Vacant(place) = model.relations.entry(key) {
            place.insert((relation.id, self.now));
            model.notify(relation.id.uuid(), notice);
        }
    }

    /// Comments on a post, or replies to one of its comments, with or without a mention.
    async fn comment(&mut self, post: PostId, author: UserId, answered: Option<CommentId>, mentioned: Option<UserId>) {
        let id: CommentId = self.w.id();
        let content = comment_text("Indeed");
        let comment =
            Comment { id, post, author, content, created_at: self.now, updated_at: self.now, is_hidden: false };
        let mut recipients = BTreeMap::new();
        let reply_to = answered.map(|answered| (self.model.comments[&answered].1, NotificationKind::Reply));
        let mention = mentioned.map(|mentioned| (mentioned, NotificationKind::Mention));
        let on_post = (self.model.posts[&post].0, NotificationKind::Comment);
        for (recipient, kind) in reply_to.into_iter().chain(mention).chain([on_post]) {
            if recipient != author {
                recipients.entry(recipient).or_insert(kind);
            }
        }
        let notices: Vec<Notice> = recipients
            .into_iter()
            .map(|(recipient, kind)| self.notice(kind, recipient, author, Subject::Comment(post, id)))
            .collect();
        let reply = answered.map(|to| Reply { thread: self.model.comments[&to].2, to });
        let new = NewComment { comment, reply, entities: entities(""), notices: notices.clone() };
        self.db.comments.create(&new, None).await.unwrap();
        self.model.comments.insert(id, (post, author, reply.map_or(id, |reply| reply.thread)));
        notices.into_iter().for_each(|notice| self.model.notify(id.uuid(), notice));
    }

    /// Compares what each recipient sees.
    async fn compare(&self, step: usize) {
        for user in self.users {
            let visible = member(user);
            let found = self.db.notifications.list(visible, &[], PageRequest::FIRST).await.unwrap().items;
            let shown = self.model.shown(user);
            let found: Vec<ComparedFields> = found.iter().map(actual).collect();
            assert_eq!(found, shown.iter().map(|it| expected(it)).collect::<Vec<_>>(), "step {step}");
            let unread = shown.iter().filter(|it| !it.read).count() as u64;
            assert_eq!(self.db.notifications.count_unread(visible).await.unwrap(), unread, "step {step}");
        }
    }
}

pub async fn random_acts_produce_the_notifications_of_the_model(db: Repositories) {
    let w = Arc::new(World::new(&db));
    let users = w.users::<USERS>().await;
    let mut comparison = Comparison { db: db.clone(), w: Arc::clone(&w), model: Model::default(), users, now: at(0) };
    let mut random = pseudo_random();
    let mut roll = |sides: usize| usize::try_from(random(i64::try_from(sides).unwrap())).unwrap();
    for step in 0..STEPS {
        // A day has about forty steps, and the clock is sometimes set back.
        comparison.now = comparison.now.plus_millis(match roll(10) {
            0 => -(DAY / 40),
            n => i64::try_from(n).unwrap() * DAY / 200,
        });
        let (user, other) = (users[roll(USERS)], users[roll(USERS)]);
        let posts: Vec<PostId> = comparison.model.posts.keys().copied().collect();
        let comments: Vec<CommentId> = comparison.model.comments.keys().copied().collect();
        let post = (!posts.is_empty()).then(|| posts[roll(posts.len())]);
        let comment = (!comments.is_empty()).then(|| comments[roll(comments.len())]);
        match (roll(40), post, comment) {
            (0..4, ..) => {
                let mut new = w.new_post(user);
                new.visibility = Visibility::ALL[roll(3).saturating_sub(1)];
                let mention = comparison.notice(NotificationKind::Mention, other, user, Subject::Post(new.id));
                let mention = Notice { at: new.created_at, ..mention };
                let notices: Vec<Notice> = Some(mention).filter(|_| other != user).into_iter().collect();
                db.posts.create(&new, &notices, None).await.unwrap();
                comparison.model.posts.insert(new.id, (user, new.visibility));
                notices.into_iter().for_each(|notice| comparison.model.notify(new.id.uuid(), notice));
            }
            (4..14, Some(post), _) => {
                let author = comparison.model.posts[&post].0;
                comparison.set(roll(3) > 0, NotificationKind::Like, author, user, Subject::Post(post)).await;
            }
            (14..18, ..) if user != other => {
                comparison.set(roll(3) > 0, NotificationKind::Follow, other, user, Subject::Recipient).await;
            }
            (18..23, Some(post), comment) => {
                let mentioned = Some(other).filter(|_| roll(2) == 0);
                let on_post = |id: &CommentId| comparison.model.comments[id].0 == post;
                let answered = comment.filter(on_post).filter(|_| roll(2) == 0);
                comparison.comment(post, user, answered, mentioned).await;
            }
            (23..30, _, Some(comment)) => {
                let (post, author, _) = comparison.model.comments[&comment];
                let subject = Subject::Comment(post, comment);
                comparison.set(roll(3) > 0, NotificationKind::CommentLike, author, user, subject).await;
            }
            (30..32, Some(post), _) => {
                let visibility = Visibility::ALL[roll(3)];
                let edit = PostEdit { visibility: Some(visibility), ..PostEdit::default() };
                db.posts.edit(post, ANYBODY, &edit, w.now()).await.unwrap();
                comparison.model.posts.get_mut(&post).unwrap().1 = visibility;
            }
            (32, Some(post), _) if roll(3) == 0 => {
                db.posts.delete(post, w.now()).await.unwrap();
                comparison.model.posts.remove(&post);
                comparison.model.comments.retain(|_, (on, ..)| *on != post);
            }
            (33, _, Some(comment)) => {
                db.comments.delete(comment).await.unwrap();
                comparison.model.comments.retain(|id, (.., thread)| *id != comment && *thread != comment);
            }
            (34..36, ..) => {
                let kind = KINDS[roll(KINDS.len())];
                let policy = NotificationPolicy::ALL[roll(4).saturating_sub(1)];
                let chosen = comparison.model.settings.entry(user).or_default();
                *chosen = chosen.with(kind, policy);
                assert_eq!(db.notifications.change_settings(user, &[(kind, policy)]).await.unwrap(), *chosen);
            }
            (36..39, ..) => {
                let shown: Vec<_> = comparison.model.shown(user).iter().map(|it| (it.updated_at, it.id)).collect();
                if let Some(up_to) = (!shown.is_empty()).then(|| shown[roll(shown.len())]) {
                    db.notifications.mark_read(user, up_to.1, None).await.unwrap();
                    // Including those that the recipient does not see.
                    let is_older = |it: &&mut ModelNotification| {
                        it.recipient == user && !it.actors.is_empty() && (it.updated_at, it.id) <= up_to
                    };
                    let read = comparison.model.notifications.iter_mut().filter(is_older);
                    read.for_each(|it| it.read = true);
                }
            }
            _ => {}
        }
        if step % 10 == 0 {
            comparison.compare(step).await;
        }
    }
    comparison.compare(STEPS).await;
}
