//! Notifications, and their settings.

mod model;
mod scenario;

use agora_domain::accounts::Viewer;
use std::sync::Arc;

use agora_domain::clock::Timestamp;
use agora_domain::error::Resource;
use agora_domain::id::{NotificationId, UserId};
use agora_domain::notices::NotificationKind::{self, Comment, CommentLike, Follow, Like, Mention, Reply};
use agora_domain::notifications::{MAX_NOTIFICATIONS, Notification, NotificationPolicy, NotificationSettings};
use agora_domain::page::{PageRequest, PageSize, Position};
use agora_domain::posts::{PostEdit, Visibility, VisibleTo};
use agora_domain::{Error, Result};
use tokio::task::JoinSet;
use uuid::Uuid;

pub use self::model::random_acts_produce_the_notifications_of_the_model;
pub(super) use self::scenario::{KINDS, Scenario, member};
use crate::Repositories;
use crate::run::assert_fails;
use crate::world::{ANYBODY, World, at, preview};

const DAY: i64 = 24 * 60 * 60 * 1000;

async fn list_all(db: &Repositories, user: UserId) -> Vec<Notification> {
    list_kinds(db, member(user), &[]).await
}

async fn list_kinds(db: &Repositories, visible: VisibleTo, kinds: &[NotificationKind]) -> Vec<Notification> {
    db.notifications.list(visible, kinds, PageRequest::FIRST).await.unwrap().items
}

async fn unread(db: &Repositories, user: UserId) -> u64 {
    db.notifications.count_unread(member(user)).await.unwrap()
}

async fn actors(db: &Repositories, user: UserId, id: NotificationId) -> Vec<UserId> {
    let page = db.notifications.list_actors(member(user), id, PageRequest::FIRST).await.unwrap().unwrap();
    page.items.into_iter().map(|actor| actor.id).collect()
}

pub async fn likes_and_follows_of_one_day_share_a_notification(db: Repositories) {
    let w = Arc::new(World::new(&db));
    let ada = w.account("Ada").await.id;
    let actors_of = w.accounts::<5>().await;
    let [.., e] = &actors_of;
    let scenario = Scenario::new(&db, &w, ada).await;
    for kind in [Like, CommentLike, Follow] {
        let day = at(i64::from(kind as u8) * 10 * DAY);
        for (n, actor) in (0..).zip(&actors_of[..4]) {
            scenario.act(kind, actor.id, day.plus_millis(n)).await;
            scenario.act(kind, actor.id, day.plus_millis(n)).await;
        }
        scenario.act(kind, e.id, day.plus_millis(DAY)).await;
        let notifications = list_kinds(&db, member(ada), &[kind]).await;
        let [next, first] = &notifications[..] else { panic!("{kind:?}: {notifications:?}") };
        let shown = |notification: &Notification| notification.actors.clone();
        assert_eq!((next.count, shown(next)), (1, vec![preview(e)]));
        let newest = actors_of[1..4].iter().rev().map(preview).collect::<Vec<_>>();
        assert_eq!((first.count, shown(first), first.read), (4, newest, false), "{kind:?}");
        assert_eq!((first.created_at, first.updated_at), (day, day.plus_millis(3)));
        assert_eq!(first.post.is_some(), kind != Follow);
        assert_eq!(first.comment.is_some(), kind == CommentLike);
        let all: Vec<UserId> = actors_of[..4].iter().rev().map(|actor| actor.id).collect();
        assert_eq!(actors(&db, ada, first.id).await, all);
    }
    assert_eq!(list_all(&db, ada).await.len(), 6);
}

pub async fn undoing_an_act_removes_its_actor(db: Repositories) {
    let w = Arc::new(World::new(&db));
    let [ada, ben, cleo] = w.users().await;
    let scenario = Scenario::new(&db, &w, ada).await;
    for kind in [Like, CommentLike, Follow] {
        let of_kind = async || list_kinds(&db, member(ada), &[kind]).await;
        for (n, actor) in [(0, ben), (1, cleo)] {
            scenario.act(kind, actor, at(n)).await;
        }
        let [before] = &of_kind().await[..] else { panic!("one") };
        scenario.undo(kind, ben).await;
        scenario.undo(kind, ben).await;
        let [after] = &of_kind().await[..] else { panic!("one") };
        assert_eq!((after.count, after.updated_at), (1, before.updated_at), "the order is unchanged");
        assert_eq!(actors(&db, ada, after.id).await, [cleo]);
        scenario.undo(kind, cleo).await;
        assert_eq!(of_kind().await, [], "{kind:?}");
        assert_eq!(db.notifications.list_actors(member(ada), before.id, PageRequest::FIRST).await.unwrap(), None);
    }
    assert_eq!(unread(&db, ada).await, 0);
}

pub async fn toggling_repeatedly_notifies_once(db: Repositories) {
    let w = Arc::new(World::new(&db));
    let [ada, ben, cleo] = w.users().await;
    let scenario = Scenario::new(&db, &w, ada).await;
    for kind in [Like, CommentLike, Follow] {
        let of_kind = async || list_kinds(&db, member(ada), &[kind]).await;
        scenario.act(kind, ben, at(0)).await;
        let [first] = &of_kind().await[..] else { panic!("one") };
        db.notifications.mark_read(ada, first.id, None).await.unwrap();
        for n in 1..4 {
            scenario.undo(kind, ben).await;
            scenario.act(kind, ben, at(n)).await;
        }
        let [again] = &of_kind().await[..] else { panic!("one") };
        assert_eq!((again.id, again.count, again.read, again.updated_at), (first.id, 1, true, at(0)), "{kind:?}");
        scenario.act(kind, cleo, at(9)).await;
        let [grown] = &of_kind().await[..] else { panic!("one") };
        assert_eq!((grown.count, grown.read, grown.updated_at), (2, false, at(9)));
        // An act of a later day makes a new notification, listed before it.
        scenario.undo(kind, ben).await;
        scenario.act(kind, ben, at(DAY)).await;
        assert_eq!(of_kind().await.iter().map(|it| it.count).collect::<Vec<_>>(), [1, 1]);
    }
}

pub async fn each_comment_reply_and_mention_has_its_own_notification(db: Repositories) {
    let w = Arc::new(World::new(&db));
    let (ada, ben) = (w.account("Ada").await, w.account("Ben").await);
    let scenario = Scenario::new(&db, &w, ada.id).await;
    for (n, kind) in (0..).zip([Comment, Reply, Mention, Comment]) {
        scenario.act(kind, ben.id, at(n)).await;
        let newest = &list_all(&db, ada.id).await[0];
        assert_eq!((newest.kind, newest.count, newest.read), (kind, 1, false));
        assert_eq!((newest.created_at, newest.updated_at), (at(n), at(n)));
        assert_eq!(newest.actors, [preview(&ben)]);
        assert_eq!(actors(&db, ada.id, newest.id).await, [ben.id]);
        let post = newest.post.as_ref().unwrap();
        assert_eq!((post.id, post.content.as_str()), (scenario.post, "Good morning"));
        let comment = newest.comment.as_ref().map(|comment| comment.content.as_str());
        assert_eq!(comment, Some("Indeed"));
    }
    let post = scenario.mention(ben.id, at(9)).await;
    let newest = &list_all(&db, ada.id).await[0];
    assert_eq!((newest.kind, newest.post.as_ref().map(|post| post.id)), (Mention, Some(post)));
    assert_eq!(newest.comment, None);
    assert_eq!(list_kinds(&db, member(ada.id), &[Reply, Mention]).await.len(), 3);
    assert_eq!(list_all(&db, ben.id).await, []);
}

pub async fn notifications_about_invisible_or_deleted_content_are_not_shown(db: Repositories) {
    let w = Arc::new(World::new(&db));
    let [ada, ben] = w.users().await;
    // Ben is notified of what Ada does with his comments on her post.
    let post = w.post(ada).await.id;
    let scenario = Scenario::on(&db, &w, ben, post).await;
    for (n, kind) in (0..).zip([CommentLike, Reply, Mention]) {
        scenario.act(kind, ada, at(n)).await;
    }
    let admin = VisibleTo { viewer: Viewer::ordinary(ben), followed: &Visibility::ALL, others: &Visibility::ALL };
    for (visibility, follows, expected) in [
        (Visibility::Public, false, 3),
        (Visibility::Followers, false, 0),
        (Visibility::Followers, true, 3),
        (Visibility::Private, true, 0),
        (Visibility::Public, true, 3),
    ] {
        let edit = PostEdit { visibility: Some(visibility), ..PostEdit::default() };
        db.posts.edit(post, ANYBODY, &edit, w.now()).await.unwrap();
        if follows {
            w.follow(ben, ada).await;
        }
        let listed = list_all(&db, ben).await;
        assert_eq!(listed.len(), expected, "{visibility:?}, {follows}");
        assert_eq!(unread(&db, ben).await, expected as u64);
        assert_eq!(list_kinds(&db, admin, &[]).await.len(), 3, "ADMIN");
    }
    let listed = list_all(&db, ben).await;
    let reply = listed.iter().find(|it| it.kind == Reply).and_then(|it| it.comment.as_ref()).unwrap().id;
    db.comments.delete(reply).await.unwrap();
    assert_eq!(list_all(&db, ben).await.iter().map(|it| it.kind).collect::<Vec<_>>(), [Mention, CommentLike]);
    assert_eq!(unread(&db, ben).await, 2);
    db.posts.delete(post, w.now()).await.unwrap();
    assert_eq!(list_all(&db, ben).await, []);
    assert_eq!(unread(&db, ben).await, 0);
    // It can still be marked as read.
    db.notifications.mark_read(ben, listed[0].id, None).await.unwrap();
}

pub async fn notifications_respect_the_settings_of_the_recipient(db: Repositories) {
    let w = Arc::new(World::new(&db));
    let [ada, ben, cleo] = w.users().await;
    w.follow(ada, cleo).await;
    let scenario = Scenario::new(&db, &w, ada).await;
    assert_eq!(db.notifications.settings(ada).await.unwrap(), NotificationSettings::default());
    for kind in KINDS {
        for (policy, expected) in [
            (NotificationPolicy::None, vec![]),
            (NotificationPolicy::Following, vec![cleo]),
            (NotificationPolicy::Everyone, vec![cleo, ben]),
        ] {
            let chosen = NotificationSettings::default().with(kind, policy);
            assert_eq!(db.notifications.change_settings(ada, &[(kind, policy)]).await.unwrap(), chosen);
            assert_eq!(db.notifications.settings(ada).await.unwrap(), chosen);
            let day = w.now().plus_millis(DAY * (1 + 10 * i64::from(kind as u8) + 2 * i64::from(policy as u8)));
            for actor in [ben, cleo] {
                scenario.act(kind, actor, day).await;
            }
            let listed = list_kinds(&db, member(ada), &[kind]).await;
            let mut listed_actors = vec![];
            for notification in listed.iter().filter(|it| it.created_at == day) {
                listed_actors.extend(actors(&db, ada, notification.id).await);
            }
            listed_actors.sort_unstable();
            let mut expected = expected;
            expected.sort_unstable();
            assert_eq!(listed_actors, expected, "{kind:?}, {policy:?}");
            for actor in [ben, cleo] {
                scenario.undo(kind, actor).await;
            }
        }
    }
    assert_eq!(db.notifications.change_settings(ada, &[]).await.unwrap(), NotificationSettings::default());
}

pub async fn a_read_notification_stays_read_until_an_actor_is_added(db: Repositories) {
    let w = Arc::new(World::new(&db));
    let [ada, ben, cleo] = w.users().await;
    let scenario = Scenario::new(&db, &w, ada).await;
    for (n, kind) in (0..).zip([Like, Comment, Follow, Reply]) {
        scenario.act(kind, ben, at(n)).await;
    }
    let [reply, follow, comment, like] = &list_all(&db, ada).await[..] else { panic!("four") };
    assert_eq!(unread(&db, ada).await, 4);
    let read = async || list_all(&db, ada).await.iter().filter(|it| it.read).map(|it| it.id).collect::<Vec<_>>();
    // Two devices, of which the second lags behind.
    db.notifications.mark_read(ada, follow.id, None).await.unwrap();
    db.notifications.mark_read(ada, like.id, None).await.unwrap();
    assert_eq!(read().await, [follow.id, comment.id, like.id]);
    assert_eq!(unread(&db, ada).await, 1);
    scenario.act(Like, cleo, at(9)).await;
    assert_eq!(list_all(&db, ada).await[0].id, like.id, "it is the newest again");
    assert_eq!(read().await, [follow.id, comment.id]);
    // After a clock was set back, the notification becomes unread without moving up.
    db.notifications.mark_read(ada, like.id, None).await.unwrap();
    scenario.act(Like, w.users::<1>().await[0], at(5)).await;
    let [first, ..] = &list_all(&db, ada).await[..] else { panic!("four") };
    assert_eq!((first.id, first.updated_at, first.read), (like.id, at(9), false));
    assert_eq!(read().await, [reply.id, follow.id, comment.id]);
    for (user, id) in [(ben, like.id), (ada, NotificationId::new(Uuid::nil()))] {
        assert_fails!(db.notifications.mark_read(user, id, None).await, Error::NotFound(Resource::Notification));
        assert_eq!(db.notifications.list_actors(member(user), id, PageRequest::FIRST).await.unwrap(), None);
    }
}

pub async fn a_notification_that_changed_after_it_was_shown_stays_unread(db: Repositories) {
    let w = Arc::new(World::new(&db));
    let [ada, ben, cleo] = w.users().await;
    let scenario = Scenario::new(&db, &w, ada).await;
    for (n, kind) in (0..).zip([Follow, Like]) {
        scenario.act(kind, ben, at(n)).await;
    }
    let shown = list_all(&db, ada).await[0].clone();
    // While the user reads, a comment arrives, and then the notification moves up above it.
    scenario.act(Comment, ben, at(2)).await;
    scenario.act(Like, cleo, at(3)).await;
    let unread = async || list_all(&db, ada).await.iter().filter(|it| !it.read).map(|it| it.kind).collect::<Vec<_>>();
    db.notifications.mark_read(ada, shown.id, Some(shown.updated_at)).await.unwrap();
    assert_eq!(unread().await, [Like, Comment]);
    // A later instant than that of its last change counts as that of its last change.
    scenario.act(Reply, ben, at(4)).await;
    db.notifications.mark_read(ada, shown.id, Some(at(9))).await.unwrap();
    assert_eq!(unread().await, [Reply]);
}

async fn paged<T>(read: impl AsyncFn(PageRequest) -> Result<agora_domain::page::Page<T>>) -> Vec<T> {
    let (mut found, mut from) = (vec![], Some(Position::Start));
    while let Some(place) = from {
        let page = read(PageRequest { from: place, size: PageSize::parse("2").unwrap() }).await.unwrap();
        assert!(page.items.len() <= 2);
        found.extend(page.items);
        from = page.next;
    }
    found
}

pub async fn notifications_and_actors_are_read_page_by_page(db: Repositories) {
    let w = Arc::new(World::new(&db));
    let ada = w.account("Ada").await.id;
    let actors_of = w.users::<5>().await;
    let scenario = Scenario::new(&db, &w, ada).await;
    for (n, actor) in (0..).zip(actors_of) {
        scenario.act(Like, actor, at(n)).await;
        // Some at the same instant.
        scenario.act(Comment, actor, at(n / 2)).await;
    }
    let all = list_all(&db, ada).await;
    assert_eq!(all.len(), 6);
    let in_order = |pair: &[Notification]| (pair[0].updated_at, pair[0].id) > (pair[1].updated_at, pair[1].id);
    assert!(all.windows(2).all(in_order));
    assert_eq!(paged(async |page| db.notifications.list(member(ada), &[], page).await).await, all);
    for kind in [Like, Comment] {
        let of_kind: Vec<_> = all.iter().filter(|it| it.kind == kind).cloned().collect();
        assert_eq!(paged(async |page| db.notifications.list(member(ada), &[kind], page).await).await, of_kind);
        let id = of_kind[0].id;
        let listed = paged(async |page| Ok(db.notifications.list_actors(member(ada), id, page).await?.unwrap()));
        let listed: Vec<UserId> = listed.await.into_iter().map(|actor| actor.id).collect();
        let expected = if kind == Like { actors_of.into_iter().rev().collect() } else { vec![actors_of[4]] };
        assert_eq!(listed, expected);
    }
    // From the end backwards, and beyond it.
    let end = PageRequest { from: Position::End, size: PageSize::parse("4").unwrap() };
    assert_eq!(db.notifications.list(member(ada), &[], end).await.unwrap().items, all[2..]);
    let like = all.iter().find(|it| it.kind == Like).unwrap().id;
    let last = db.notifications.list_actors(member(ada), like, end).await.unwrap().unwrap();
    assert_eq!(last.items.into_iter().map(|actor| actor.id).collect::<Vec<_>>(), [3, 2, 1, 0].map(|n| actors_of[n]));
    let comment = all.iter().find(|it| it.kind == Comment).unwrap().id;
    let alone = db.notifications.list_actors(member(ada), comment, end).await.unwrap().unwrap();
    assert_eq!((alone.items.len(), alone.prev, alone.next), (1, None, None));
}

/// Returns a UUIDv7 of an instant.
fn id_of(at: Timestamp, n: u64) -> Uuid {
    let millis = u64::try_from(at.unix_millis()).unwrap();
    Uuid::from_u64_pair(millis << 16 | 0x7000, 0x8000_0000_0000_0000 | n)
}

pub async fn old_notifications_are_deleted_in_batches(db: Repositories) {
    let w = Arc::new(World::new(&db));
    let ada = w.account("Ada").await.id;
    let scenario = Scenario::new(&db, &w, ada).await;
    let mut others = vec![];
    for n in 0..520 {
        others.push(w.account(&format!("somebody {n}")).await.id);
    }
    // A notification with more actors than a batch deletes, and two others.
    for (n, actor) in (0..).zip(&others) {
        scenario.act_as(Like, *actor, at(0), NotificationId::new(id_of(at(0), n))).await;
    }
    scenario.act_as(Comment, others[0], at(1), NotificationId::new(id_of(at(1), 0))).await;
    scenario.act_as(Comment, others[0], at(DAY), NotificationId::new(id_of(at(DAY), 0))).await;
    assert_eq!(list_all(&db, ada).await.len(), 3);
    let mut deleted = vec![];
    loop {
        match db.notifications.delete_created_before(at(DAY)).await.unwrap() {
            0 => break,
            rows => deleted.push(rows),
        }
    }
    assert!(deleted.len() > 1 && deleted.iter().all(|rows| *rows <= 500), "{deleted:?}");
    assert_eq!(list_all(&db, ada).await.iter().map(|it| it.created_at).collect::<Vec<_>>(), [at(DAY)]);
    // Undoing a like whose notification is deleted has no effect.
    scenario.undo(Like, others[0]).await;
    assert_eq!(list_all(&db, ada).await.len(), 1);
}

pub async fn only_the_newest_notifications_are_kept(db: Repositories) {
    let w = Arc::new(World::new(&db));
    let [ada, ben, cleo] = w.users().await;
    let (of_ada, of_cleo) = (Scenario::new(&db, &w, ada).await, Scenario::new(&db, &w, cleo).await);
    let most = MAX_NOTIFICATIONS as i64;
    for n in 0..most + 20 {
        of_ada.act(Comment, ben, at(n)).await;
    }
    of_cleo.act(Comment, ben, at(0)).await;
    let first = at(20);
    let seen = async || {
        let all = list_all(&db, ada).await;
        assert_eq!((all.len() as i64, all.last().unwrap().created_at), (most, first));
        assert_eq!(unread(&db, ada).await, most as u64);
        all
    };
    let all = seen().await;
    db.notifications.mark_read(ada, all[most as usize - 5].id, None).await.unwrap();
    assert_eq!(unread(&db, ada).await, most as u64 - 5);
    let (mut deleted, mut after) = (0, None);
    loop {
        let (rows, last) = db.notifications.trim(after).await.unwrap();
        deleted += rows;
        match last {
            None => break,
            last => after = last,
        }
    }
    assert_eq!(deleted, 20);
    assert_eq!(list_all(&db, ada).await.len() as i64, most);
    assert_eq!(list_all(&db, cleo).await.len(), 1);
    // Notifications beyond the limit are marked as well, and are read when they come back into view.
    for n in most + 20..most + 40 {
        of_ada.act(Comment, cleo, at(n)).await;
    }
    db.notifications.mark_read(ada, list_all(&db, ada).await[0].id, None).await.unwrap();
    w.mute(ada, cleo, None).await;
    assert_eq!(list_all(&db, ada).await.len() as i64, most);
    assert_eq!(unread(&db, ada).await, 0);
}

pub async fn notification_counts_are_exact_under_concurrency(db: Repositories) {
    let w = Arc::new(World::new(&db));
    let ada = w.account("Ada").await.id;
    let actors_of = w.users::<8>().await;
    let scenario = Scenario::new(&db, &w, ada).await;
    let mut acts = JoinSet::new();
    for round in 0..5 {
        for actor in actors_of {
            for kind in [Like, CommentLike, Follow] {
                let scenario = scenario.clone();
                // An odd number of rounds, so that each ends on.
                acts.spawn(async move { scenario.toggle(kind, actor, at(round)).await });
            }
        }
    }
    acts.join_all().await;
    for kind in [Like, Follow] {
        let [notification] = &list_kinds(&db, member(ada), &[kind]).await[..] else { panic!("one") };
        assert_eq!(notification.count, 8, "{kind:?}");
        let mut listed = actors(&db, ada, notification.id).await;
        listed.sort_unstable();
        let mut expected = actors_of.to_vec();
        expected.sort_unstable();
        assert_eq!(listed, expected, "{kind:?}");
    }
}
