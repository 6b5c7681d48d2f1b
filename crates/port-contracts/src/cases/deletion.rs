//! Deletion of accounts, and erasure of their data in batches.

use agora_domain::Error;
use agora_domain::accounts::{
    Account, LoginIdentifier, PasswordHash, ProfileChanges, ProfilePicture, Role, RoleAction, RoleChange, Roles, Viewer,
};
use agora_domain::audit::{Actor, AuditEntry};
use agora_domain::audit_log::AuditFilter;
use agora_domain::blocks::{NewBlock, NewMute};
use agora_domain::comments::{CommentOrder, CommentTarget};
use agora_domain::deletion::{ErasurePosition, NAMES_KEPT_MILLIS};
use agora_domain::entities::Hashtag;
use agora_domain::error::{Conflict, Disallowed, Resource};
use agora_domain::export::RelationKind;
use agora_domain::id::UserId;
use agora_domain::mail::{MailKind, MailStatus, NewMail};
use agora_domain::media::ImageKey;
use agora_domain::notices::{Notice, NotificationKind, Subject};
use agora_domain::page::{Keyset, PageRequest, PageSize, Position};
use agora_domain::posts::{FeedRequest, Post, Visibility, VisibleTo};
use agora_domain::relation::NewRelation;
use agora_domain::search::{Needles, PeopleSearch, PostSearch, Query};
use uuid::Uuid;

use super::notifications::member;
use crate::Repositories;
use crate::run::{assert_fails, concurrently, pages};
use crate::world::{World, at, attached};

async fn delete(db: &Repositories, w: &World, user: UserId) {
    db.deletions.delete(&w.confirmed(user).await, w.now()).await.unwrap();
}

/// Erases an account completely, and returns the images of its rows.
async fn erase(db: &Repositories, w: &World, user: UserId) -> Vec<ImageKey> {
    let (mut images, mut from) = (Vec::new(), ErasurePosition::default());
    for _ in 0..1_000 {
        assert_eq!(db.deletions.next_unerased().await.unwrap(), Some(user));
        let erased = db.deletions.erase(user, from, w.now()).await.unwrap();
        images.extend(erased.images);
        from = erased.next;
        if erased.is_done {
            return images;
        }
    }
    panic!("the erasure does not end");
}

pub async fn deleting_an_account_removes_it_revokes_its_sessions_and_releases_its_picture(db: Repositories) {
    let w = World::new(&db);
    let picture = w.new_image();
    let named = picture.clone();
    let ada = w.account_with("Ada", |account| account.profile_picture = Some(ProfilePicture::new(named))).await;
    let bob = w.account("Bob").await;
    let session = w.session(ada.id).await;
    let mail = NewMail {
        id: w.id(),
        user: ada.id,
        kind: MailKind::EmailVerification,
        address: ada.email.clone(),
        created_at: w.now(),
    };
    db.outbox.create(std::slice::from_ref(&mail)).await.unwrap();
    assert_eq!(db.deletions.next_unerased().await.unwrap(), None);
    assert_eq!(db.deletions.delete(&w.confirmed(ada.id).await, w.now()).await.unwrap(), Some(picture.clone()));
    assert_eq!(w.mark_recorded_images().await, [picture].into());
    assert_eq!(db.accounts.find(ada.id).await.unwrap(), None);
    assert_eq!(db.accounts.list(PageRequest::FIRST).await.unwrap().items, std::slice::from_ref(&bob));
    for name in [ada.username.as_str(), ada.email.as_str(), &format!("DELETED {}", ada.id)] {
        let named = LoginIdentifier::parse(name).unwrap();
        assert_eq!(db.accounts.find_id(&named).await.unwrap(), None, "{name}");
        assert!(db.accounts.find_credentials(&named).await.unwrap().is_none(), "{name}");
    }
    let state = db.sessions.find(session.id).await.unwrap().unwrap();
    assert!(state.revoked && !state.enabled && state.roles == Roles::NONE);
    let another = agora_domain::accounts::Session { id: w.id(), ..session };
    assert!(!db.sessions.open(&another, &PasswordHash::new(String::new()), None).await.unwrap());
    assert_eq!(db.outbox.list(MailStatus::Waiting, 9).await.unwrap(), []);
    assert_fails!(db.deletions.delete(&w.confirmed(ada.id).await, w.now()).await, Error::NotFound(Resource::User));
    assert_fails!(db.deletions.delete(&w.confirmed(w.id()).await, w.now()).await, Error::NotFound(Resource::User));
    // Requests that were authorized before the deletion have no effect any more.
    let profile = ProfileChanges { profile_picture: Some(Some(w.new_picture())), ..ProfileChanges::default() };
    assert_fails!(db.accounts.update_profile(ada.id, &profile, w.now()).await, Error::NotFound(Resource::User));
    assert_fails!(db.accounts.set_enabled(ada.id, true, &w.entry()).await, Error::NotFound(Resource::User));
    assert_fails!(
        db.redemption.set_email(&w.confirmed(ada.id).await, &ada.email, w.now()).await,
        Error::NotFound(Resource::User)
    );
    assert_fails!(db.outbox.create(&[NewMail { id: w.id(), ..mail }]).await, Error::NotFound(Resource::User));
    let report = w.new_report(ada.id);
    assert_fails!(db.reports.create(&report, &[], None).await, Error::NotFound(Resource::User));
    assert!(db.accounts.find_password(ada.id).await.unwrap().is_none());
    erase(&db, &w, ada.id).await;
    assert_eq!(db.deletions.next_unerased().await.unwrap(), None);
    assert_eq!(db.sessions.find(session.id).await.unwrap(), None);
    assert_fails!(db.deletions.delete(&w.confirmed(ada.id).await, w.now()).await, Error::NotFound(Resource::User));
}

pub async fn concurrent_deletions_leave_the_last_enabled_admin(db: Repositories) {
    let w = World::new(&db);
    let (one, other, off) = (w.admin("One").await.id, w.admin("Other").await.id, w.admin("Off").await.id);
    db.accounts.set_enabled(off, false, &w.entry()).await.unwrap();
    let admins = [w.confirmed(one).await, w.confirmed(other).await];
    let outcomes = concurrently(admins.map(|admin| {
        let (db, at) = (db.clone(), w.now());
        async move { db.deletions.delete(&admin, at).await }
    }))
    .await;
    let refused: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
    assert!(matches!(refused[..], [Error::Disallowed(Disallowed::LastAdmin)]), "{outcomes:?}");
    assert!(db.accounts.has_admin().await.unwrap());
    delete(&db, &w, off).await;
    let admins = db.accounts.list_admins().await.unwrap();
    assert_eq!(admins.len(), 1, "{admins:?}");
}

pub async fn names_of_deleted_accounts_stay_reserved_for_thirty_days(db: Repositories) {
    let w = World::new(&db);
    let (ada, bob) = (w.account("Ada").await, w.account("Bob").await);
    let deleted_at = at(1_000_000);
    db.deletions.delete(&w.confirmed(ada.id).await, deleted_at).await.unwrap();
    let new = |after: i64, with: fn(&mut Account, &Account)| {
        let mut new = w.new_account_with("Eve", |account| with(account, &ada));
        new.account.created_at = deleted_at.plus_millis(after);
        new
    };
    let name = |account: &mut Account, ada: &Account| {
        account.username = agora_domain::accounts::Username::parse(&ada.username.as_str().to_uppercase()).unwrap();
    };
    let address = |account: &mut Account, ada: &Account| account.email = ada.email.clone();
    let change = |after| NewMail {
        id: w.id(),
        user: bob.id,
        kind: MailKind::EmailChange,
        address: ada.email.clone(),
        created_at: deleted_at.plus_millis(after),
    };
    for after in [0, NAMES_KEPT_MILLIS - 1] {
        assert_fails!(db.accounts.create(&new(after, name), None).await, Error::Conflict(Conflict::Username));
        assert_fails!(db.accounts.create(&new(after, address), None).await, Error::Conflict(Conflict::Email));
        let changed =
            db.redemption.set_email(&w.confirmed(bob.id).await, &ada.email, deleted_at.plus_millis(after)).await;
        assert_fails!(changed, Error::Conflict(Conflict::Email));
        assert_fails!(db.outbox.create(&[change(after)]).await, Error::Conflict(Conflict::Email));
    }
    db.outbox.create(&[change(NAMES_KEPT_MILLIS)]).await.unwrap();
    erase(&db, &w, ada.id).await;
    assert_fails!(db.accounts.create(&new(0, name), None).await, Error::Conflict(Conflict::Username));
    assert_eq!(db.deletions.forget_names(deleted_at.plus_millis(NAMES_KEPT_MILLIS - 1)).await.unwrap(), 0);
    db.accounts.create(&new(NAMES_KEPT_MILLIS, name), None).await.unwrap();
    assert_eq!(db.deletions.forget_names(deleted_at.plus_millis(NAMES_KEPT_MILLIS)).await.unwrap(), 2);
    db.accounts.create(&w.new_account_with("Eva", |account| account.email = ada.email.clone()), None).await.unwrap();
}

fn notice(w: &World, kind: NotificationKind, recipient: UserId, actor: UserId, subject: Subject) -> Notice {
    Notice { id: w.id(), kind, recipient, actor, subject, at: w.now() }
}

fn relation_with_notice(
    w: &World,
    kind: NotificationKind,
    recipient: UserId,
    actor: UserId,
    subject: Subject,
) -> NewRelation {
    NewRelation { notice: Some(notice(w, kind, recipient, actor, subject)), ..w.new_relation() }
}

/// Three users, and an administrator: Ada has done everything possible to the others, and they to her.
struct Lives {
    ada: Account,
    bob: Account,
    cleo: Account,
    root: Account,
    /// Ada's posts, the second with an image.
    posts: [Post; 2],
    image: ImageKey,
    /// Bob's post.
    post: Post,
    /// The comments on Bob's post: Cleo's, Ada's, and Cleo's reply to Ada's.
    comments: [agora_domain::comments::Comment; 3],
}

async fn live(db: &Repositories, w: &World) -> Lives {
    let (root, ada, bob, cleo) =
        (w.admin("Root").await, w.admin("Ada").await, w.account("Bob").await, w.account("Cleo").await);
    let image = w.new_image();
    let first = w.post_saying(ada.id, "Good #morning").await;
    let named = image.clone();
    let second = w.post_with(ada.id, |post| post.attachments = attached(Some(named))).await;
    let post = w.post(bob.id).await;
    let above = w.comment(post.id, cleo.id).await;
    let mut of_ada = w.new_comment(post.id, ada.id);
    of_ada.notices =
        vec![notice(w, NotificationKind::Comment, bob.id, ada.id, Subject::Comment(post.id, of_ada.comment.id))];
    db.comments.create(&of_ada, None).await.unwrap();
    let of_ada = of_ada.comment;
    let below = w.reply(&of_ada, cleo.id).await;
    w.reply(&above, ada.id).await;
    let like = relation_with_notice(w, NotificationKind::Like, bob.id, ada.id, Subject::Post(post.id));
    db.posts.set_like(post.id, ada.id, like).await.unwrap();
    let like = relation_with_notice(w, NotificationKind::Like, bob.id, cleo.id, Subject::Post(post.id));
    db.posts.set_like(post.id, cleo.id, like).await.unwrap();
    let like =
        relation_with_notice(w, NotificationKind::CommentLike, cleo.id, ada.id, Subject::Comment(post.id, above.id));
    db.comments.set_like(above.id, ada.id, like).await.unwrap();
    for (one, other) in [(ada.id, bob.id), (bob.id, ada.id), (cleo.id, ada.id), (cleo.id, bob.id)] {
        let follow = relation_with_notice(w, NotificationKind::Follow, other, one, Subject::Recipient);
        db.follows.set(one, other, follow).await.unwrap();
    }
    for user in [bob.id, cleo.id] {
        w.like(first.id, user).await;
        w.comment(first.id, user).await;
        db.bookmarks.set(second.id, user, w.new_relation()).await.unwrap();
    }
    db.bookmarks.set(post.id, ada.id, w.new_relation()).await.unwrap();
    let [dan, eve] = w.users().await;
    w.block(ada.id, dan).await;
    w.block(eve, ada.id).await;
    w.mute(ada.id, dan, None).await;
    w.mute(eve, ada.id, None).await;
    db.reports.create(&w.new_report(ada.id), &[], None).await.unwrap();
    let entry = AuditEntry { actor: Actor::Account(ada.id), ..w.entry() };
    let change = RoleChange { role: Role::User, action: RoleAction::Remove };
    db.accounts.change_role(root.id, change, &entry).await.unwrap();
    while db.search_index.pack().await.unwrap() {}
    Lives { ada, bob, cleo, root, posts: [first, second], image, post, comments: [above, of_ada, below] }
}

pub async fn paging_continues_past_notifications_of_a_deleted_account(db: Repositories) {
    let w = World::new(&db);
    let (ada, bob, cleo) = (w.account("Ada").await.id, w.account("Bob").await.id, w.account("Cleo").await.id);
    let mut expected = Vec::new();
    for actor in [cleo, ada, cleo] {
        let post = w.post(bob).await.id;
        let like = relation_with_notice(&w, NotificationKind::Like, bob, actor, Subject::Post(post));
        db.posts.set_like(post, actor, like).await.unwrap();
        if actor == cleo {
            expected.push(post);
        }
    }
    delete(&db, &w, ada).await;
    let (mut found, mut next) = (Vec::new(), Some(Position::Start));
    while let Some(from) = next {
        let page = PageRequest { from, size: PageSize::parse("1").unwrap() };
        let page = db.notifications.list(member(bob), &[], page).await.unwrap();
        found.extend(page.items.into_iter().filter_map(|it| it.post.map(|post| post.id)));
        next = page.next;
    }
    found.reverse();
    assert_eq!(found, expected);
}

pub async fn a_post_is_stored_although_a_mentioned_account_was_erased(db: Repositories) {
    let w = World::new(&db);
    let (ada, bob) = (w.account("Ada").await, w.account("Bob").await.id);
    delete(&db, &w, ada.id).await;
    erase(&db, &w, ada.id).await;
    let post = w.new_post(bob);
    let notices = [notice(&w, NotificationKind::Mention, ada.id, bob, Subject::Post(post.id))];
    db.posts.create(&post, &notices, None).await.unwrap();
    assert!(db.posts.find(post.id, Viewer::ordinary(bob)).await.unwrap().is_some());
}

/// Checks that nobody sees Ada or anything of hers.
async fn expect_gone(db: &Repositories, Lives { ada, bob, cleo, root, posts, post, comments, .. }: &Lives) {
    let all = &Visibility::ALL;
    let first = PageRequest::FIRST;
    let [above, of_ada, below] = comments;
    for (reader, sees_all) in [(bob, false), (cleo, false), (root, true)] {
        let (id, viewer) = (reader.id, Viewer { id: reader.id, sees_all });
        let visible = VisibleTo { viewer, followed: all, others: all };
        let is_ada = |author: UserId| author == ada.id;
        for own in posts {
            assert_eq!(db.posts.find(own.id, viewer).await.unwrap(), None);
            assert_eq!(db.posts.find_access(own.id, id).await.unwrap(), None);
        }
        assert_eq!(db.posts.find(post.id, viewer).await.unwrap().unwrap().view.liked_by.len(), 1);
        let mut lists = vec![
            db.posts.list_public(viewer, first).await.unwrap().items,
            db.posts.list_followed(viewer, all, FeedRequest { created_before: None, page: first }).await.unwrap().items,
            db.posts.list_by_tag(&Hashtag::parse("morning").unwrap(), visible, first).await.unwrap().items,
            db.bookmarks.list(visible, first).await.unwrap().items,
        ];
        for text in ["good", "#morning"] {
            let needles = Needles::of(&Query::parse(text).unwrap(), None);
            lists.push(db.search.find_posts(&PostSearch { needles, viewer }, first).await.unwrap().items);
        }
        for list in lists {
            assert!(list.iter().all(|view| !is_ada(view.author.id)), "{list:?}");
        }
        let everything = db.posts.list_all(viewer, first).await.unwrap().items;
        assert_eq!(everything.iter().map(|view| view.post.id).collect::<Vec<_>>(), [post.id]);
        let needles = Needles::of(&Query::parse("ada").unwrap(), None);
        let wanted = PeopleSearch { needles, viewer, except: None };
        assert!(db.search.find_people(&wanted, first).await.unwrap().items.is_empty());
        assert_eq!(db.people.find(ada.id, id).await.unwrap(), None);
        assert_eq!(db.people.find_by_username(&ada.username, id).await.unwrap(), None);
        assert_eq!(db.people.find_all(&[ada.id], id).await.unwrap(), []);
        let keys = [ada.username.key()];
        assert!(db.accounts.find_ids(&keys, id).await.unwrap().is_empty());
        for list in [
            db.people.list_discoverable(viewer, first).await.unwrap().items,
            db.people.list_followers(bob.id, viewer, first).await.unwrap().items,
            db.people.list_followed(cleo.id, viewer, first).await.unwrap().items,
        ] {
            assert!(list.iter().all(|person| !is_ada(person.id)), "{list:?}");
        }
        for list in [
            db.follows.list_followers(bob.id, viewer, first).await.unwrap().items,
            db.follows.list_followed(cleo.id, viewer, first).await.unwrap().items,
        ] {
            assert!(list.iter().all(|user| !is_ada(user.id)), "{list:?}");
        }
        assert_eq!(db.follows.find_standing(id, ada.id).await.unwrap(), None);
        let likers = db.posts.list_likers(post.id, viewer, first).await.unwrap().items;
        assert_eq!(likers.iter().map(|liker| liker.id).collect::<Vec<_>>(), [cleo.id]);
        assert!(db.comments.list_likers(above.id, viewer, first).await.unwrap().items.is_empty());
        for comment in [of_ada, below] {
            let access = db.comments.find_access(CommentTarget::Comment(comment.id), id).await.unwrap();
            assert!(comment.author != ada.id || access.is_none());
        }
        assert_eq!(db.comments.find(of_ada.id, id).await.unwrap(), None);
        let flat = db.comments.list(post.id, viewer, first).await.unwrap().items;
        assert!(flat.iter().all(|view| !is_ada(view.author.id)), "{flat:?}");
        let mut threads = db.comments.list_top_level(post.id, viewer, CommentOrder::Oldest, first).await.unwrap().items;
        threads.extend(db.comments.list_replies(above.id, viewer, first).await.unwrap().items);
        assert!(threads.iter().all(|comment| !is_ada(comment.author.id)), "{threads:?}");
        assert_eq!(threads.len(), 1);
        let notifications = db.notifications.list(member(id), &[], first).await.unwrap().items;
        for notification in notifications {
            assert!(!notification.actors.is_empty(), "{notification:?}");
            assert!(notification.actors.iter().all(|actor| !is_ada(actor.id)), "{notification:?}");
            let actors = db.notifications.list_actors(member(id), notification.id, first).await.unwrap();
            assert!(actors.unwrap().items.iter().all(|actor| !is_ada(actor.id)), "{notification:?}");
        }
    }
    for user in [bob.id, cleo.id] {
        let block = NewBlock { id: user.uuid().into(), at: at(0) };
        let mute = NewMute { id: user.uuid().into(), at: at(0), until: None };
        assert_fails!(db.blocks.block(user, ada.id, block).await, Error::NotFound(Resource::User));
        assert_fails!(db.blocks.unblock(user, ada.id).await, Error::NotFound(Resource::User));
        assert_fails!(db.blocks.mute(user, ada.id, mute).await, Error::NotFound(Resource::User));
        assert!(!db.blocks.unmute(user, ada.id).await.unwrap());
    }
    let relation = |follower: &Account| NewRelation { id: follower.id.uuid().into(), at: at(0), notice: None };
    for follower in [cleo, root] {
        let (follower, relation) = (follower.id, relation(follower));
        assert_fails!(db.follows.set(follower, ada.id, relation).await, Error::NotFound(Resource::User));
        assert_fails!(db.follows.unset(follower, ada.id).await, Error::NotFound(Resource::User));
        assert_fails!(db.follows.toggle(follower, ada.id, relation, None).await, Error::NotFound(Resource::User));
    }
    assert!(db.reports.list(None, first).await.unwrap().items.is_empty());
    // An audit entry outlives the actor, of whom it keeps only the id.
    let log = db.audit.list(AuditFilter::default(), first).await.unwrap().items;
    assert_eq!(
        log.iter().map(|view| (view.entry.actor, view.actor.clone())).collect::<Vec<_>>(),
        [(Actor::Account(ada.id), None)]
    );
    assert_eq!(db.event_audience.find_posts(vec![posts[0].id]).await.unwrap(), []);
    assert_eq!(db.event_audience.find_comments(vec![of_ada.id]).await.unwrap(), []);
}

pub async fn nothing_of_a_deleted_account_is_shown_before_or_after_erasure(db: Repositories) {
    let w = World::new(&db);
    let lives = live(&db, &w).await;
    delete(&db, &w, lives.ada.id).await;
    expect_gone(&db, &lives).await;
    assert_eq!(erase(&db, &w, lives.ada.id).await, std::slice::from_ref(&lives.image));
    expect_gone(&db, &lives).await;
}

pub async fn erasure_undoes_the_acts_of_an_account_and_leaves_nothing(db: Repositories) {
    let w = World::new(&db);
    let lives = live(&db, &w).await;
    let Lives { ada, bob, cleo, root, image, post, comments: [above, ..], .. } = &lives;
    delete(&db, &w, ada.id).await;
    erase(&db, &w, ada.id).await;
    let view = db.posts.find(post.id, Viewer::ordinary(bob.id)).await.unwrap().unwrap().view;
    // Cleo's reply was deleted with Ada's thread.
    assert_eq!((view.like_count, view.comment_count), (1, 1));
    let comment = db.comments.find(above.id, bob.id).await.unwrap().unwrap();
    assert_eq!((comment.like_count, comment.reply_count), (0, 0));
    for (user, followers, followed) in [(bob, 1, 0), (cleo, 0, 1)] {
        let person = db.people.find(user.id, root.id).await.unwrap().unwrap();
        assert_eq!((person.follower_count, person.followed_count), (followers, followed), "{person:?}");
    }
    let notifications = db.notifications.list(member(bob.id), &[], PageRequest::FIRST).await.unwrap().items;
    let notifications: Vec<_> = notifications.iter().map(|it| (it.kind, it.count)).collect();
    assert_eq!(notifications, [(NotificationKind::Follow, 1), (NotificationKind::Like, 1)]);
    assert_eq!(db.notifications.count_unread(member(bob.id)).await.unwrap(), 2);
    assert_eq!(db.notifications.list(member(cleo.id), &[], PageRequest::FIRST).await.unwrap().items, []);
    assert_eq!(w.mark_recorded_images().await, [image.clone()].into());
    for kind in RelationKind::ALL {
        assert_eq!(pages(9, async |page| db.exports.list_relations(ada.id, kind, page).await).await, [], "{kind:?}");
    }
    assert_eq!(pages(9, async |page| db.exports.list_comments(ada.id, page).await).await, []);
    assert_eq!(pages(9, async |page| db.exports.list_reports(ada.id, page).await).await, []);
    let mut nobody = Vec::new();
    for user in [bob.id, cleo.id] {
        let followed = pages(9, async |page| db.exports.list_relations(user, RelationKind::Follow, page).await).await;
        nobody.extend(followed.into_iter().filter(|relation| relation.to == ada.id.uuid()));
        nobody.extend(pages(9, async |page| db.exports.list_relations(user, RelationKind::Bookmark, page).await).await);
    }
    assert_eq!(nobody, []);
}

pub async fn erasure_completes_from_any_position(db: Repositories) {
    let w = World::new(&db);
    let host = w.account("Host").await.id;
    let post = w.post(host).await.id;
    for step in [1, 5, 7, 8, 200] {
        let ada = w.account(&format!("ada {step}")).await.id;
        w.post(ada).await;
        w.like(post, ada).await;
        w.comment(post, ada).await;
        w.follow(ada, host).await;
        delete(&db, &w, ada).await;
        let mut from = ErasurePosition { step, after: Some(Keyset { at: w.now(), id: Uuid::max() }) };
        for _ in 0..100 {
            let erased = db.deletions.erase(ada, from, w.now()).await.unwrap();
            from = erased.next;
            if erased.is_done {
                break;
            }
        }
        assert_eq!(db.deletions.next_unerased().await.unwrap(), None);
        let view = db.posts.find(post, Viewer::ordinary(host)).await.unwrap().unwrap().view;
        assert_eq!((view.like_count, view.comment_count), (0, 0), "{step}");
    }
}

pub async fn an_account_larger_than_a_batch_is_erased_completely(db: Repositories) {
    let w = World::new(&db);
    let (ada, host) = (w.account("Ada").await.id, w.account("Host").await.id);
    let posts = {
        let mut posts = Vec::new();
        for _ in 0..230 {
            posts.push(w.post(host).await.id);
        }
        posts
    };
    for post in &posts {
        w.like(*post, ada).await;
    }
    let crowded = w.post(ada).await;
    for n in 0..520 {
        let user = w.account(&format!("user {n}")).await.id;
        w.like(crowded.id, user).await;
        w.follow(user, ada).await;
    }
    for _ in 0..45 {
        w.comment(posts[0], ada).await;
    }
    delete(&db, &w, ada).await;
    let (mut steps, mut from) = (0, ErasurePosition::default());
    loop {
        steps += 1;
        let erased = db.deletions.erase(ada, from, w.now()).await.unwrap();
        assert!(erased.count <= 1_000, "{erased:?}");
        if erased.is_done {
            break;
        }
        from = erased.next;
    }
    assert!(steps > 8, "{steps}");
    for post in [posts[0], posts[229]] {
        let view = db.posts.find(post, Viewer::ordinary(host)).await.unwrap().unwrap().view;
        assert_eq!((view.like_count, view.comment_count), (0, 0));
    }
}
