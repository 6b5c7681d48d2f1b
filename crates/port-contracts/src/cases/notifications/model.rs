//! Whatever is done in whatever order, every recipient is told what a model of the rules says.

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
use super::telling::{KINDS, member};
use crate::Repositories;
use crate::world::{ANYBODY, World, at, comment_text, dice, entities};

const STEPS: usize = 1_200;
const USERS: usize = 4;

/// What a recipient was told, as the model has it.
struct Told {
    id: NotificationId,
    recipient: UserId,
    kind: NotificationKind,
    subject: Subject,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// Each act with whose it is, in their order.
    actors: BTreeMap<Uuid, UserId>,
    withdrawn: BTreeSet<UserId>,
    read: bool,
}

/// A like or a follow: what it is of and whose.
type Relation = (NotificationKind, Uuid, UserId);

#[derive(Default)]
struct Model {
    told: Vec<Told>,
    relations: BTreeMap<Relation, (RelationId, Timestamp)>,
    posts: BTreeMap<PostId, (UserId, Visibility)>,
    /// Each with its post, its author and the comment at the top of its thread.
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

    /// Tells of an act, unless it is the recipient's own or the recipient does not want to be told.
    fn tell(&mut self, act: Uuid, notice: Notice) {
        let Notice { id, kind, recipient, actor, subject, at } = notice;
        let settings = self.settings.get(&recipient).copied().unwrap_or_default();
        if actor == recipient || !settings.get(kind).admits(self.follows(recipient, actor)) {
            return;
        }
        let same = |told: &&mut Told| {
            (told.recipient, told.kind, told.subject, day(told.created_at)) == (recipient, kind, subject, day(at))
        };
        match self.told.iter_mut().filter(|_| is_gathered(kind)).find(same) {
            Some(told) => {
                told.actors.insert(act, actor);
                if !told.withdrawn.contains(&actor) {
                    told.read = false;
                    told.updated_at = told.updated_at.max(at);
                }
            }
            None => self.told.push(Told {
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
        for told in &mut self.told {
            if told.actors.remove(&id.uuid()).is_some() {
                told.withdrawn.insert(relation.2);
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

    /// Returns what a recipient is shown, in order.
    fn shown(&self, recipient: UserId) -> Vec<&Told> {
        let is_shown = |told: &&Told| {
            let is_visible = match told.subject {
                Subject::Recipient => true,
                Subject::Post(post) => self.may_view(recipient, post),
                Subject::Comment(post, comment) => {
                    self.may_view(recipient, post) && self.comments.contains_key(&comment)
                }
            };
            told.recipient == recipient && !told.actors.is_empty() && is_visible
        };
        let mut shown: Vec<&Told> = self.told.iter().filter(is_shown).collect();
        shown.sort_by_key(|told| std::cmp::Reverse((told.updated_at, told.id)));
        shown
    }
}

/// What of a notification the model says.
type Seen = (NotificationId, NotificationKind, Timestamp, Timestamp, bool, u64, Vec<UserId>);

fn seen(told: &Notification) -> Seen {
    let actors = told.actors.iter().map(|actor| actor.id).collect();
    (told.id, told.kind, told.created_at, told.updated_at, told.read, told.count, actors)
}

fn expected(told: &Told) -> Seen {
    let actors = told.actors.values().rev().take(SHOWN_ACTORS).copied().collect();
    (told.id, told.kind, told.created_at, told.updated_at, told.read, told.actors.len() as u64, actors)
}

/// The repositories and the model, in which the same is done.
struct Both {
    db: Repositories,
    w: Arc<World>,
    model: Model,
    users: [UserId; USERS],
    now: Timestamp,
}

impl Both {
    fn notice(&self, kind: NotificationKind, recipient: UserId, actor: UserId, subject: Subject) -> Notice {
        Notice { id: self.w.id(), kind, recipient, actor, subject, at: self.now }
    }

    /// Turns a like or a follow on or off.
    async fn set(&mut self, on: bool, kind: NotificationKind, recipient: UserId, actor: UserId, subject: Subject) {
        let notice = self.notice(kind, recipient, actor, subject);
        let told = Some(notice).filter(|_| actor != recipient);
        let relation = NewRelation { id: self.w.id(), at: self.now, notice: told };
        let Both { db, model, .. } = self;
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
            model.tell(relation.id.uuid(), notice);
        }
    }

    /// Comments on a post, or answers one of its comments, mentioning somebody or not.
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
        notices.into_iter().for_each(|notice| self.model.tell(id.uuid(), notice));
    }

    /// Compares what each recipient is shown.
    async fn compare(&self, step: usize) {
        for user in self.users {
            let visible = member(user);
            let found = self.db.notifications.list(visible, &[], PageRequest::FIRST).await.unwrap().items;
            let shown = self.model.shown(user);
            let found: Vec<Seen> = found.iter().map(seen).collect();
            assert_eq!(found, shown.iter().map(|told| expected(told)).collect::<Vec<_>>(), "step {step}");
            let unread = shown.iter().filter(|told| !told.read).count() as u64;
            assert_eq!(self.db.notifications.count_unread(visible).await.unwrap(), unread, "step {step}");
        }
    }
}

pub async fn whatever_happens_everybody_is_told_what_the_model_says(db: Repositories) {
    let w = Arc::new(World::new(&db));
    let users = w.users::<USERS>().await;
    let mut both = Both { db: db.clone(), w: Arc::clone(&w), model: Model::default(), users, now: at(0) };
    let mut dice = dice();
    let mut roll = |sides: usize| usize::try_from(dice(i64::try_from(sides).unwrap())).unwrap();
    for step in 0..STEPS {
        // A day has about forty steps, and the clock is set back now and then.
        both.now = both.now.plus_millis(match roll(10) {
            0 => -(DAY / 40),
            n => i64::try_from(n).unwrap() * DAY / 200,
        });
        let (user, other) = (users[roll(USERS)], users[roll(USERS)]);
        let posts: Vec<PostId> = both.model.posts.keys().copied().collect();
        let comments: Vec<CommentId> = both.model.comments.keys().copied().collect();
        let post = (!posts.is_empty()).then(|| posts[roll(posts.len())]);
        let comment = (!comments.is_empty()).then(|| comments[roll(comments.len())]);
        match (roll(40), post, comment) {
            (0..4, ..) => {
                let mut new = w.new_post(user);
                new.visibility = Visibility::ALL[roll(3).saturating_sub(1)];
                let mention = both.notice(NotificationKind::Mention, other, user, Subject::Post(new.id));
                let mention = Notice { at: new.created_at, ..mention };
                let notices: Vec<Notice> = Some(mention).filter(|_| other != user).into_iter().collect();
                db.posts.create(&new, &notices, None).await.unwrap();
                both.model.posts.insert(new.id, (user, new.visibility));
                notices.into_iter().for_each(|notice| both.model.tell(new.id.uuid(), notice));
            }
            (4..14, Some(post), _) => {
                let author = both.model.posts[&post].0;
                both.set(roll(3) > 0, NotificationKind::Like, author, user, Subject::Post(post)).await;
            }
            (14..18, ..) if user != other => {
                both.set(roll(3) > 0, NotificationKind::Follow, other, user, Subject::Recipient).await;
            }
            (18..23, Some(post), comment) => {
                let mentioned = Some(other).filter(|_| roll(2) == 0);
                let on_post = |id: &CommentId| both.model.comments[id].0 == post;
                let answered = comment.filter(on_post).filter(|_| roll(2) == 0);
                both.comment(post, user, answered, mentioned).await;
            }
            (23..30, _, Some(comment)) => {
                let (post, author, _) = both.model.comments[&comment];
                let subject = Subject::Comment(post, comment);
                both.set(roll(3) > 0, NotificationKind::CommentLike, author, user, subject).await;
            }
            (30..32, Some(post), _) => {
                let visibility = Visibility::ALL[roll(3)];
                let edit = PostEdit { visibility: Some(visibility), ..PostEdit::default() };
                db.posts.edit(post, ANYBODY, &edit, w.now()).await.unwrap();
                both.model.posts.get_mut(&post).unwrap().1 = visibility;
            }
            (32, Some(post), _) if roll(3) == 0 => {
                db.posts.delete(post, w.now()).await.unwrap();
                both.model.posts.remove(&post);
                both.model.comments.retain(|_, (on, ..)| *on != post);
            }
            (33, _, Some(comment)) => {
                db.comments.delete(comment).await.unwrap();
                both.model.comments.retain(|id, (.., thread)| *id != comment && *thread != comment);
            }
            (34..36, ..) => {
                let kind = KINDS[roll(KINDS.len())];
                let policy = NotificationPolicy::ALL[roll(4).saturating_sub(1)];
                let chosen = both.model.settings.entry(user).or_default();
                *chosen = chosen.with(kind, policy);
                assert_eq!(db.notifications.change_settings(user, &[(kind, policy)]).await.unwrap(), *chosen);
            }
            (36..39, ..) => {
                let shown: Vec<_> = both.model.shown(user).iter().map(|told| (told.updated_at, told.id)).collect();
                if let Some(up_to) = (!shown.is_empty()).then(|| shown[roll(shown.len())]) {
                    db.notifications.mark_read(user, up_to.1, None).await.unwrap();
                    // Those out of sight as well.
                    let is_older = |told: &&mut Told| {
                        told.recipient == user && !told.actors.is_empty() && (told.updated_at, told.id) <= up_to
                    };
                    let read = both.model.told.iter_mut().filter(is_older);
                    read.for_each(|told| told.read = true);
                }
            }
            _ => {}
        }
        if step % 10 == 0 {
            both.compare(step).await;
        }
    }
    both.compare(STEPS).await;
}
