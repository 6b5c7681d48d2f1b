//! The event log, and who may receive its events.

use agora_domain::accounts::Viewer;
use std::collections::BTreeSet;
use std::sync::Arc;

use agora_domain::Error;
use agora_domain::error::Resource;
use agora_domain::events::{Event, LoggedEvent, Position, PostState};
use agora_domain::id::{CommentId, NotificationId, PostId, UserId};
use agora_domain::notices::{Notice, NotificationKind, Subject};
use agora_domain::notifications::{NotificationPolicy, NotificationState};
use agora_domain::posts::{PostEdit, Visibility, VisibleTo};
use agora_domain::relation::NewRelation;
use tokio::task::JoinSet;

use crate::Repositories;
use crate::run::assert_fails;
use crate::world::{ANYBODY, World, attached, post_text};

/// Returns the current end of the log.
async fn now(db: &Repositories) -> Position {
    db.events.refresh().await.unwrap();
    db.events.end()
}

/// Returns the events after a position.
async fn since(db: &Repositories, position: Position) -> Vec<Event> {
    now(db).await;
    let logged: Vec<LoggedEvent> = db.events.after(position, 10_000).unwrap();
    assert!(logged.iter().map(|logged| logged.number).eq((position.number + 1..).take(logged.len())));
    logged.into_iter().map(|logged| logged.event).collect()
}

fn edit(alter: impl FnOnce(&mut PostEdit)) -> PostEdit {
    let mut edit = PostEdit::default();
    alter(&mut edit);
    edit
}

pub async fn each_change_appends_its_event_to_the_log(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let mut at = now(&db).await;
    let mut expect = async |case: &str, expected: &[Event]| {
        assert_eq!(since(&db, at).await, expected, "{case}");
        at = now(&db).await;
    };
    let post = w.post(ada).await.id;
    expect("a post is created", &[Event::PostCreated(post, ada)]).await;
    let to_followers = edit(|edit| edit.visibility = Some(Visibility::Followers));
    db.posts.edit(post, ANYBODY, &to_followers, w.now()).await.unwrap();
    expect("the post is edited", &[Event::PostUpdated(post)]).await;
    let comment = w.comment(post, bob).await;
    expect("a comment is created", &[Event::Commented(post, comment.id, bob)]).await;
    let reply = w.reply(&comment, ada).await.id;
    expect("a reply is created", &[Event::Commented(post, reply, ada)]).await;
    db.posts.toggle_like(post, bob, w.new_relation(), None).await.unwrap();
    expect("a like is turned on", &[Event::Liked(post)]).await;
    db.posts.toggle_like(post, bob, w.new_relation(), None).await.unwrap();
    expect("a like is turned off", &[Event::Liked(post)]).await;
    w.like(post, bob).await;
    expect("a like is set", &[Event::Liked(post)]).await;
    db.posts.unset_like(post, bob).await.unwrap();
    expect("a like is unset", &[Event::Liked(post)]).await;
    db.posts.delete(post, w.now()).await.unwrap();
    expect("the post is deleted", &[Event::PostDeleted(post, ada, Visibility::Followers)]).await;
}

pub async fn calls_that_change_nothing_append_no_event(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let post = w.post_with(ada, |post| post.text = post_text("as it is")).await.id;
    w.like(post, bob).await;
    let at = now(&db).await;
    w.like(post, bob).await;
    db.posts.unset_like(post, ada).await.unwrap();
    db.posts.edit(post, ANYBODY, &PostEdit::default(), w.now()).await.unwrap();
    let same = edit(|edit| edit.visibility = Some(Visibility::Public));
    db.posts.edit(post, ANYBODY, &same, w.now()).await.unwrap();
    let gone: PostId = w.id();
    assert_fails!(db.posts.toggle_like(gone, bob, w.new_relation(), None).await, Error::NotFound(Resource::Post));
    assert_fails!(db.posts.delete(gone, w.now()).await, Error::NotFound(Resource::Post));
    assert_fails!(db.comments.create(&w.new_comment(gone, bob), None).await, Error::NotFound(Resource::Post));
    let unreferenced = w.new_post(ada);
    let with_unknown_image = agora_domain::posts::Post { attachments: attached(Some(w.new_image())), ..unreferenced };
    assert!(db.posts.create(&with_unknown_image, &[], None).await.is_err());
    db.follows.set(bob, ada, w.new_relation()).await.unwrap();
    assert_eq!(since(&db, at).await, []);
}

fn notice(w: &World, kind: NotificationKind, recipient: UserId, actor: UserId, subject: Subject) -> Notice {
    Notice { id: w.id(), kind, recipient, actor, subject, at: w.now() }
}

pub async fn a_new_or_extended_notification_appends_an_event_with_its_id(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob, cleo] = w.users().await;
    let post = w.post(ada).await.id;
    let mut at = now(&db).await;
    let mut notified = async || {
        let happened = since(&db, at).await;
        at = now(&db).await;
        let notified = happened.into_iter().filter_map(|event| match event {
            Event::Notified(recipient, id, kind) => Some((recipient, id, kind)),
            _ => None,
        });
        notified.collect::<Vec<_>>()
    };
    let like = |actor| {
        let notice = notice(&w, NotificationKind::Like, ada, actor, Subject::Post(post));
        NewRelation { id: w.id(), at: notice.at, notice: Some(notice) }
    };
    let first = like(bob);
    let gathered = first.notice.unwrap().id;
    db.posts.toggle_like(post, bob, first, None).await.unwrap();
    assert_eq!(notified().await, [(ada, gathered, NotificationKind::Like)]);
    db.posts.set_like(post, cleo, like(cleo)).await.unwrap();
    assert_eq!(notified().await, [(ada, gathered, NotificationKind::Like)], "the notification has one more actor");
    db.posts.unset_like(post, cleo).await.unwrap();
    assert_eq!(notified().await, [], "an unset like notifies nobody");
    db.posts.set_like(post, cleo, like(cleo)).await.unwrap();
    db.posts.toggle_like(post, bob, like(bob), None).await.unwrap();
    db.posts.toggle_like(post, bob, like(bob), None).await.unwrap();
    assert_eq!(notified().await, [], "a like that is set again on the same day notifies nobody");
    db.posts.unset_like(post, cleo).await.unwrap();

    let follow = notice(&w, NotificationKind::Follow, ada, bob, Subject::Recipient);
    let relation = NewRelation { id: w.id(), at: follow.at, notice: Some(follow) };
    db.follows.toggle(bob, ada, relation, None).await.unwrap();
    assert_eq!(notified().await, [(ada, follow.id, NotificationKind::Follow)]);

    let mut comment = w.new_comment(post, bob);
    let subject = Subject::Comment(post, comment.comment.id);
    comment.notices = vec![
        notice(&w, NotificationKind::Mention, cleo, bob, subject),
        notice(&w, NotificationKind::Comment, ada, bob, subject),
    ];
    let expected: Vec<_> = comment.notices.iter().map(|notice| (notice.recipient, notice.id, notice.kind)).collect();
    db.comments.create(&comment, None).await.unwrap();
    assert_eq!(BTreeSet::from_iter(notified().await), BTreeSet::from_iter(expected));

    let liked = notice(&w, NotificationKind::CommentLike, bob, ada, subject);
    let relation = NewRelation { id: w.id(), at: liked.at, notice: Some(liked) };
    db.comments.set_like(comment.comment.id, ada, relation).await.unwrap();
    assert_eq!(notified().await, [(bob, liked.id, NotificationKind::CommentLike)]);

    let new = w.new_post(bob);
    let mention = notice(&w, NotificationKind::Mention, ada, bob, Subject::Post(new.id));
    db.posts.create(&new, &[mention], None).await.unwrap();
    assert_eq!(notified().await, [(ada, mention.id, NotificationKind::Mention)]);

    let nobodys =
        [(NotificationKind::Like, NotificationPolicy::None), (NotificationKind::Comment, NotificationPolicy::None)];
    db.notifications.change_settings(ada, &nobodys).await.unwrap();
    db.posts.toggle_like(post, cleo, like(cleo), None).await.unwrap();
    let mut unwanted = w.new_comment(post, bob);
    unwanted.notices = vec![notice(&w, NotificationKind::Comment, ada, bob, Subject::Post(post))];
    db.comments.create(&unwanted, None).await.unwrap();
    assert_eq!(notified().await, [], "a kind that the recipient has disabled");
}

pub async fn the_log_is_read_in_batches_from_any_position(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let post = w.post(ada).await.id;
    let begin = now(&db).await;
    for _ in 0..10 {
        db.posts.toggle_like(post, bob, w.new_relation(), None).await.unwrap();
    }
    let end = now(&db).await;
    assert_eq!((end.epoch, end.number), (begin.epoch, begin.number + 10));
    for skipped in 0..=10 {
        let place = Position::after(begin.epoch, begin.number + skipped);
        let numbers: Vec<_> = db.events.after(place, 4).unwrap().into_iter().map(|logged| logged.number).collect();
        assert!(numbers.iter().copied().eq((place.number + 1..=end.number).take(4)), "{numbers:?}");
    }
    let beyond = Position::after(end.epoch, end.number + 1);
    assert_eq!(db.events.after(beyond, 1), None);
    assert_eq!(db.events.after(Position::after(end.epoch ^ 1, end.number), 1), None);
    db.events.trim().await.unwrap();
    assert_eq!(db.events.after(begin, 100).unwrap().len(), 10, "recent events are kept");
}

pub async fn concurrent_events_are_logged_once_in_the_order_of_each_writer(db: Repositories) {
    const WRITERS: usize = 8;
    const COMMENTS: usize = 20;
    let w = Arc::new(World::new(&db));
    let users: Vec<UserId> = w.accounts::<WRITERS>().await.iter().map(|account| account.id).collect();
    let post = w.post(users[0]).await.id;
    let begin = now(&db).await;
    let mut writers = JoinSet::new();
    for user in users {
        let (db, w) = (db.clone(), Arc::clone(&w));
        writers.spawn(async move {
            let mut made = Vec::with_capacity(COMMENTS);
            for n in 0..COMMENTS {
                made.push(w.comment(post, user).await.id);
                if n % 5 == 0 {
                    db.events.refresh().await.unwrap();
                }
            }
            made
        });
    }
    let made: Vec<Vec<CommentId>> = writers.join_all().await;
    let logged = since(&db, begin).await;
    let comment = |event| match event {
        Event::Commented(on, comment, _) if on == post => comment,
        other => panic!("{other:?}"),
    };
    let logged: Vec<_> = logged.into_iter().map(comment).collect();
    assert_eq!(logged.len(), WRITERS * COMMENTS);
    for by_one in made {
        let mine: BTreeSet<_> = by_one.iter().copied().collect();
        let of_one: Vec<_> = logged.iter().copied().filter(|id| mine.contains(id)).collect();
        assert_eq!(of_one, by_one);
    }
}

pub async fn the_state_that_decides_on_delivery_is_found_for_many(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob, cleo] = w.users().await;
    let public = w.post(ada).await.id;
    let private = w.post_with(bob, |post| post.visibility = Visibility::Private).await.id;
    let deleted = w.post(ada).await.id;
    db.posts.delete(deleted, w.now()).await.unwrap();
    w.like(public, bob).await;
    w.like(public, cleo).await;
    db.accounts.set_enabled(bob, false, &w.entry()).await.unwrap();
    let mut found = db.event_audience.find_posts(vec![private, deleted, public, w.id()]).await.unwrap();
    found.sort_by_key(|state| state.id);
    let state = |id, author, is_author_enabled, visibility, like_count| PostState {
        id,
        author,
        is_author_enabled,
        visibility,
        is_hidden: false,
        like_count,
    };
    let expected =
        [state(public, ada, true, Visibility::Public, 2), state(private, bob, false, Visibility::Private, 0)];
    assert_eq!(found, expected);

    w.follow(bob, ada).await;
    w.follow(cleo, ada).await;
    w.follow(ada, cleo).await;
    let follows = async |followers: &[UserId], followed: &[UserId]| {
        let found = db.event_audience.find_follows(followers.to_vec(), followed.to_vec()).await.unwrap();
        BTreeSet::from_iter(found)
    };
    assert_eq!(follows(&[bob, cleo], &[ada, cleo]).await, BTreeSet::from([(bob, ada), (cleo, ada)]));
    assert_eq!(follows(&[ada, bob], &[cleo]).await, BTreeSet::from([(ada, cleo)]));
    assert_eq!(follows(&[ada], &[ada, bob]).await, BTreeSet::new());
    assert_eq!(follows(&[], &[ada]).await, BTreeSet::new());
}

pub async fn the_state_of_notifications_has_what_the_recipient_sees(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let post = w.post(ada).await.id;
    let mut notified: Vec<NotificationId> = Vec::new();
    for _ in 0..3 {
        let mut comment = w.new_comment(post, bob);
        let subject = Subject::Comment(post, comment.comment.id);
        comment.notices = vec![notice(&w, NotificationKind::Comment, ada, bob, subject)];
        notified.push(comment.notices[0].id);
        db.comments.create(&comment, None).await.unwrap();
    }
    let visible = |viewer| VisibleTo { viewer, followed: &[Visibility::Public], others: &[Visibility::Public] };
    let unknown: NotificationId = w.id();
    let of = async |viewer| {
        db.notifications.find_state(visible(viewer), vec![notified[0], unknown, notified[2]]).await.unwrap()
    };
    assert_eq!(
        of(Viewer::ordinary(ada)).await,
        NotificationState { unread: 3, seen: BTreeSet::from([notified[0], notified[2]]) }
    );
    assert_eq!(of(Viewer::ordinary(bob)).await.seen, BTreeSet::new());
    db.notifications.mark_read(ada, notified[1], None).await.unwrap();
    assert_eq!(of(Viewer::ordinary(ada)).await.unread, 1);
    db.posts.delete(post, w.now()).await.unwrap();
    assert_eq!(of(Viewer::ordinary(ada)).await.seen, BTreeSet::new());
}
