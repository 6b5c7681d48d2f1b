//! Blocks and mutes, and what they exclude from lists.

use std::collections::BTreeSet;
use std::sync::Arc;

use agora_domain::Error;
use agora_domain::accounts::Viewer;
use agora_domain::blocks::{NewBlock, NewMute};
use agora_domain::comments::{Comment, CommentOrder};
use agora_domain::entities::Hashtag;
use agora_domain::error::Resource;
use agora_domain::id::{PostId, UserId};
use agora_domain::page::PageRequest;
use agora_domain::people::Person;
use agora_domain::posts::{FeedRequest, PostView, Visibility, VisibleTo};
use agora_domain::relation::Standing;
use agora_domain::search::{Needles, PeopleSearch, PostSearch, Query};

use super::notifications::{KINDS, Scenario, member};
use crate::Repositories;
use crate::run::{assert_fails, concurrently, pages};
use crate::world::{ANYBODY, World, at, display_name};

/// Returns the standing of each of two users towards the other.
async fn standing(db: &Repositories, one: UserId, other: UserId) -> [Standing; 2] {
    let there = db.follows.find_standing(one, other).await.unwrap().unwrap();
    [there, db.follows.find_standing(other, one).await.unwrap().unwrap()]
}

/// Returns whether each of two users blocks the other. Checks that both users' views agree.
async fn blocking(db: &Repositories, one: UserId, other: UserId) -> [bool; 2] {
    let seen = db.people.find(other, one).await.unwrap().unwrap();
    let back = db.people.find(one, other).await.unwrap().unwrap();
    assert_eq!((seen.relationship.blocking, seen.blocks_viewer), (back.blocks_viewer, back.relationship.blocking));
    [seen.relationship.blocking, seen.blocks_viewer]
}

pub async fn a_block_applies_to_both_users_until_it_is_removed(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob, cleo] = w.users().await;
    assert!(!db.blocks.unblock(ada, bob).await.unwrap());
    for _ in 0..2 {
        w.block(ada, bob).await;
        assert_eq!(standing(&db, ada, bob).await, [Standing::Blocked; 2]);
        assert_eq!(blocking(&db, ada, bob).await, [true, false]);
        assert_eq!(standing(&db, ada, cleo).await, [Standing::Stranger; 2]);
    }
    assert!(!db.blocks.unblock(bob, ada).await.unwrap(), "only the blocker can unblock");
    assert_eq!(standing(&db, ada, bob).await, [Standing::Blocked; 2]);
    assert!(db.blocks.unblock(ada, bob).await.unwrap());
    assert_eq!(standing(&db, ada, bob).await, [Standing::Stranger; 2]);
    assert_eq!(blocking(&db, ada, bob).await, [false, false]);
    assert!(!db.blocks.unblock(ada, bob).await.unwrap());
}

pub async fn mutual_blocks_are_independent_and_one_suffices(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    for (first, second) in [(ada, bob), (bob, ada)] {
        w.block(ada, bob).await;
        w.block(bob, ada).await;
        assert_eq!(blocking(&db, ada, bob).await, [true, true]);
        assert!(db.blocks.unblock(first, second).await.unwrap());
        assert_eq!(blocking(&db, first, second).await, [false, true]);
        assert_eq!(standing(&db, ada, bob).await, [Standing::Blocked; 2]);
        assert!(db.blocks.unblock(second, first).await.unwrap());
        assert_eq!(standing(&db, ada, bob).await, [Standing::Stranger; 2]);
    }
}

pub async fn a_block_removes_follows_and_prevents_new_ones(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob, cleo] = w.users().await;
    for (follower, followed) in [(ada, bob), (bob, ada), (cleo, ada), (cleo, bob)] {
        w.follow(follower, followed).await;
    }
    w.block(ada, bob).await;
    for (one, other) in [(ada, bob), (bob, ada)] {
        let set = db.follows.set(one, other, w.new_relation()).await;
        assert_fails!(set, Error::NotFound(Resource::User));
        let toggled = db.follows.toggle(one, other, w.new_relation(), None).await;
        assert_fails!(toggled, Error::NotFound(Resource::User));
        assert_fails!(db.follows.unset(one, other).await, Error::NotFound(Resource::User));
        let found = db.people.find(one, one).await.unwrap().unwrap();
        assert_eq!((found.follower_count, found.followed_count), (1, 0), "the ended follows are not counted");
    }
    assert!(db.blocks.unblock(ada, bob).await.unwrap());
    assert_eq!(standing(&db, ada, bob).await, [Standing::Stranger; 2], "ended follows do not return");
    w.follow(bob, ada).await;
    assert_eq!(standing(&db, bob, ada).await, [Standing::Follower, Standing::Stranger]);
}

pub async fn a_block_wins_over_concurrent_follows(db: Repositories) {
    let w = World::new(&db);
    for _ in 0..12 {
        let [ada, bob] = w.users().await;
        let follows = (0..8).map(|n| {
            let (db, relation) = (db.clone(), w.new_relation());
            let block = NewBlock { id: w.id(), at: w.now() };
            let task: std::pin::Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
                let (follower, followed) = if n % 2 == 0 { (ada, bob) } else { (bob, ada) };
                match n {
                    6 => db.blocks.block(ada, bob, block).await.unwrap(),
                    7 => db.blocks.block(bob, ada, block).await.unwrap(),
                    _ => match db.follows.set(follower, followed, relation).await {
                        Ok(()) | Err(Error::NotFound(Resource::User)) => {}
                        Err(other) => panic!("{other:?}"),
                    },
                }
            });
            task
        });
        concurrently(follows.collect::<Vec<_>>()).await;
        assert_eq!(standing(&db, ada, bob).await, [Standing::Blocked; 2]);
        for user in [ada, bob] {
            let found = db.people.find(user, user).await.unwrap().unwrap();
            assert_eq!((found.follower_count, found.followed_count), (0, 0));
        }
    }
}

/// Ada, Bob and Cleo have posts. Ada and Bob like Cleo's post, comment on it and reply there; both follow Cleo, who follows both.
struct Gathering {
    db: Repositories,
    ada: UserId,
    bob: UserId,
    cleo: UserId,
    post: PostId,
    comment: Comment,
}

/// The users that each list shows to a viewer, with the name of the list.
type Shown = Vec<(&'static str, BTreeSet<UserId>)>;

fn authors(views: Vec<PostView>) -> BTreeSet<UserId> {
    views.into_iter().map(|view| view.post.author).collect()
}

fn people(found: Vec<Person>) -> BTreeSet<UserId> {
    found.into_iter().map(|person| person.id).collect()
}

impl Gathering {
    async fn new(db: &Repositories) -> Self {
        let w = World::new(db);
        let named = |account: &mut agora_domain::accounts::Account| account.display_name = display_name("Guest");
        let ada = w.account_with("ada", named).await.id;
        let bob = w.account_with("bob", named).await.id;
        let cleo = w.account_with("cleo", named).await.id;
        let post = w.post_saying(cleo, "Welcome #party").await.id;
        let comment = w.comment(post, cleo).await;
        for guest in [ada, bob] {
            w.post_saying(guest, "Hello #party").await;
            w.follow(guest, cleo).await;
            w.follow(cleo, guest).await;
            w.like(post, guest).await;
            w.comment(post, guest).await;
            w.reply(&comment, guest).await;
            w.like_comment(comment.id, guest).await;
        }
        for user in [ada, bob, cleo] {
            for view in db.posts.list_public(ANYBODY, PageRequest::FIRST).await.unwrap().items {
                db.bookmarks.set(view.post.id, user, w.new_relation()).await.unwrap();
            }
        }
        Self { db: db.clone(), ada, bob, cleo, post, comment }
    }

    /// Returns the authors of the posts in each timeline.
    async fn timelines(&self, viewer: Viewer) -> Shown {
        let (db, tag) = (&self.db, Hashtag::parse("party").unwrap());
        let visible = VisibleTo { viewer, followed: &Visibility::ALL, others: &[Visibility::Public] };
        let feed = FeedRequest { created_before: None, page: PageRequest::FIRST };
        let found = PostSearch { needles: Needles::of(&Query::parse("#party").unwrap(), None), viewer };
        vec![
            ("public", authors(pages(1, async |page| db.posts.list_public(viewer, page).await).await)),
            ("tag", authors(pages(1, async |page| db.posts.list_by_tag(&tag, visible, page).await).await)),
            ("bookmarks", authors(pages(1, async |page| db.bookmarks.list(visible, page).await).await)),
            ("search", authors(pages(1, async |page| db.search.find_posts(&found, page).await).await)),
            ("feed", authors(db.posts.list_followed(viewer, &Visibility::ALL, feed).await.unwrap().items)),
        ]
    }

    /// Returns the users in each other list; for comments and likes, those who made them.
    async fn others(&self, viewer: Viewer) -> Shown {
        let Self { db, post, comment, cleo, .. } = self;
        let view = db.posts.find(*post, viewer).await.unwrap().unwrap().view;
        let of_author = db.posts.list_by_author(*cleo, &Visibility::ALL, viewer, PageRequest::FIRST).await.unwrap();
        let (flat, threads) = (
            pages(1, async |page| db.comments.list(*post, viewer, page).await).await,
            pages(1, async |page| db.comments.list_top_level(*post, viewer, CommentOrder::Newest, page).await).await,
        );
        let found = PeopleSearch { needles: Needles::of(&Query::parse("guest").unwrap(), None), viewer, except: None };
        vec![
            ("likers of the post", view.liked_by.iter().map(|liker| liker.id).collect()),
            ("likers on a page", of_author.items.iter().flat_map(|view| &view.liked_by).map(|it| it.id).collect()),
            (
                "list of likers",
                pages(1, async |page| db.posts.list_likers(*post, viewer, page).await)
                    .await
                    .iter()
                    .map(|liker| liker.id)
                    .collect(),
            ),
            ("flat comments", flat.iter().map(|view| view.comment.author).collect()),
            ("threads", threads.iter().map(|comment| comment.comment.author).collect()),
            (
                "replies",
                pages(1, async |page| db.comments.list_replies(comment.id, viewer, page).await)
                    .await
                    .iter()
                    .map(|reply| reply.comment.author)
                    .collect(),
            ),
            (
                "likers of a comment",
                pages(1, async |page| db.comments.list_likers(comment.id, viewer, page).await)
                    .await
                    .iter()
                    .map(|user| user.id)
                    .collect(),
            ),
            (
                "followers",
                pages(1, async |page| db.follows.list_followers(*cleo, viewer, page).await)
                    .await
                    .iter()
                    .map(|user| user.id)
                    .collect(),
            ),
            (
                "followed",
                pages(1, async |page| db.follows.list_followed(*cleo, viewer, page).await)
                    .await
                    .iter()
                    .map(|user| user.id)
                    .collect(),
            ),
            (
                "followers' profiles",
                people(pages(1, async |page| db.people.list_followers(*cleo, viewer, page).await).await),
            ),
            (
                "followed profiles",
                people(pages(1, async |page| db.people.list_followed(*cleo, viewer, page).await).await),
            ),
            ("directory", people(pages(1, async |page| db.people.list_discoverable(viewer, page).await).await)),
            ("search", people(pages(1, async |page| db.search.find_people(&found, page).await).await)),
        ]
    }
}

pub async fn lists_hide_blocked_users_except_from_administrators(db: Repositories) {
    let (gathering, w) = (Gathering::new(&db).await, World::new(&db));
    let Gathering { ada, bob, cleo, .. } = gathering;
    for packed in [false, true] {
        while packed && db.search_index.pack().await.unwrap() {}
        for (blocker, blocked) in [(ada, bob), (bob, ada)] {
            let block = NewBlock { id: w.id(), at: at(1) };
            db.blocks.block(blocker, blocked, block).await.unwrap();
            for (viewer, sees_all) in [(ada, false), (bob, false), (cleo, false), (ada, true), (bob, true)] {
                let viewer = Viewer { id: viewer, sees_all };
                let missing = match viewer.id {
                    _ if sees_all || viewer.id == cleo => None,
                    id if id == ada => Some(bob),
                    _ => Some(ada),
                };
                for (list, shown) in gathering.timelines(viewer).await.into_iter().chain(gathering.others(viewer).await)
                {
                    for guest in [ada, bob] {
                        // The feed has only followed authors, and nobody follows themselves.
                        let is_own_feed = list == "feed" && (viewer.id == guest || viewer.id != cleo);
                        let is_shown = missing != Some(guest) && !is_own_feed;
                        assert_eq!(shown.contains(&guest), is_shown, "{list}: {guest} to {viewer:?}");
                    }
                }
            }
            assert!(db.blocks.unblock(blocker, blocked).await.unwrap());
        }
    }
}

pub async fn posts_of_muted_users_are_missing_only_from_timelines(db: Repositories) {
    let (gathering, w) = (Gathering::new(&db).await, World::new(&db));
    let Gathering { ada, bob, cleo, .. } = gathering;
    let expect = async |is_muted: bool| {
        for sees_all in [false, true] {
            let viewer = Viewer { id: cleo, sees_all };
            for (list, shown) in gathering.timelines(viewer).await {
                assert_eq!(shown.contains(&bob), !is_muted, "{list}");
                assert!(shown.contains(&ada), "{list}");
            }
            for (list, shown) in gathering.others(viewer).await {
                assert!(shown.contains(&bob) && shown.contains(&ada), "{list}");
            }
        }
        for (list, shown) in gathering.timelines(Viewer::ordinary(bob)).await {
            assert!(shown.contains(&cleo), "{list}: a mute affects only the muter");
        }
        let found = db.people.find(bob, cleo).await.unwrap().unwrap();
        assert_eq!((found.relationship.muting, found.relationship.following), (is_muted, true));
        assert_eq!(standing(&db, cleo, bob).await, [Standing::Follower; 2]);
    };
    expect(false).await;
    let mute = NewMute { id: w.id(), at: at(1), until: None };
    db.blocks.mute(cleo, bob, mute).await.unwrap();
    expect(true).await;
    while db.search_index.pack().await.unwrap() {}
    expect(true).await;
    assert!(db.blocks.unmute(cleo, bob).await.unwrap());
    expect(false).await;
    assert!(!db.blocks.unmute(cleo, bob).await.unwrap());
}

pub async fn pages_are_full_although_blocked_users_are_left_out(db: Repositories) {
    let w = World::new(&db);
    let [viewer, loud, quiet] = w.users().await;
    w.block(viewer, loud).await;
    let post = w.post(quiet).await.id;
    let thread = w.comment(post, quiet).await;
    for n in 0..60 {
        let author = if n % 20 == 0 { quiet } else { loud };
        w.post(author).await;
        w.comment(post, author).await;
        w.reply(&thread, author).await;
    }
    let viewer = Viewer::ordinary(viewer);
    for size in [1, 2, 4] {
        let public = pages(size, async |page| db.posts.list_public(viewer, page).await).await;
        assert_eq!(public.len(), 4, "{size} at a time");
        for order in CommentOrder::ALL {
            let threads = pages(size, async |page| db.comments.list_top_level(post, viewer, order, page).await).await;
            assert_eq!(threads.len(), 4, "{size} at a time");
        }
        let replies = pages(size, async |page| db.comments.list_replies(thread.id, viewer, page).await).await;
        assert_eq!(replies.len(), 3, "{size} at a time");
        let flat = pages(size, async |page| db.comments.list(post, viewer, page).await).await;
        assert_eq!(flat.len(), 7, "{size} at a time");
    }
}

pub async fn mentions_do_not_resolve_across_a_block(db: Repositories) {
    let w = World::new(&db);
    let (ada, bob, cleo) = (w.account("ada").await.id, w.account("bob").await.id, w.account("cleo").await.id);
    w.block(ada, bob).await;
    let keys = ["ada", "bob", "cleo"].map(str::to_owned);
    for (author, expected) in [(cleo, vec![ada, bob, cleo]), (ada, vec![ada, cleo]), (bob, vec![bob, cleo])] {
        let found = db.accounts.find_ids(&keys, author).await.unwrap();
        assert_eq!(found.into_values().collect::<Vec<_>>(), expected);
    }
}

pub async fn blocked_and_muted_users_are_listed_newest_first_and_keep_their_position(db: Repositories) {
    let w = World::new(&db);
    let [host, ada, bob, disabled] = w.users().await;
    let end = Some(at(1_000_000));
    for user in [ada, bob, disabled, ada] {
        w.block(host, user).await;
        w.mute(host, user, end).await;
    }
    w.mute(host, ada, None).await;
    w.block(ada, host).await;
    db.accounts.set_enabled(disabled, false, &w.entry()).await.unwrap();
    for (sees_all, expected) in [(false, vec![bob, ada]), (true, vec![disabled, bob, ada])] {
        let viewer = Viewer { id: host, sees_all };
        for size in [1, 2, 9] {
            let blocked = pages(size, async |page| db.blocks.list_blocked(viewer, page).await).await;
            assert_eq!(blocked.iter().map(|person| person.id).collect::<Vec<_>>(), expected);
        }
        let muted = pages(2, async |page| db.blocks.list_muted(viewer, page).await).await;
        let muted: Vec<_> = muted.into_iter().map(|(person, until)| (person.id, until)).collect();
        let all = vec![(disabled, end), (bob, end), (ada, None)];
        assert_eq!(muted, if sees_all { all } else { vec![] }, "the other list alone shows users separated by a block");
    }
    for user in [ada, bob] {
        assert!(db.blocks.unblock(host, user).await.unwrap());
    }
    let muted = db.blocks.list_muted(Viewer::ordinary(host), PageRequest::FIRST).await.unwrap();
    let muted: Vec<_> = muted.items.into_iter().map(|(person, until)| (person.id, until)).collect();
    assert_eq!(muted, [(bob, end)], "without the user who blocks the viewer");
    let none = db.blocks.list_blocked(Viewer::ordinary(bob), PageRequest::FIRST).await.unwrap();
    assert!(none.items.is_empty());
}

pub async fn a_mute_expires_at_its_end(db: Repositories) {
    let w = World::new(&db);
    let [host, ada, bob, cleo] = w.users().await;
    for (user, end) in [(ada, Some(at(2_000_000))), (bob, Some(at(1_000_000))), (cleo, None)] {
        w.follow(host, user).await;
        w.mute(host, user, end).await;
        w.post(user).await;
    }
    let feed = async || {
        let feed = FeedRequest { created_before: None, page: PageRequest::FIRST };
        authors(db.posts.list_followed(Viewer::ordinary(host), &Visibility::ALL, feed).await.unwrap().items)
    };
    let end = async |now: i64| {
        let mut ended = 0;
        loop {
            match db.blocks.end_mutes(at(now)).await.unwrap() {
                0 => return ended,
                some => ended += some,
            }
        }
    };
    assert_eq!((end(999_999).await, feed().await), (0, [].into()));
    assert_eq!((end(1_000_000).await, feed().await), (1, [bob].into()));
    assert_eq!((end(5_000_000).await, feed().await), (1, [ada, bob].into()));
    assert_eq!(end(i64::from(i32::MAX)).await, 0, "permanently");
}

pub async fn blocks_and_mutes_remove_notifications_and_mutes_prevent_new_ones(db: Repositories) {
    let w = Arc::new(World::new(&db));
    let [recipient, bob, cleo] = w.users().await;
    let scenario = Scenario::new(&db, &w, recipient).await;
    let shown = async || {
        let found = db.notifications.list(member(recipient), &[], PageRequest::FIRST).await.unwrap().items;
        assert_eq!(db.notifications.count_unread(member(recipient)).await.unwrap(), found.len() as u64);
        for notification in &found {
            let actors = db.notifications.list_actors(member(recipient), notification.id, PageRequest::FIRST).await;
            assert_eq!(actors.unwrap().unwrap().items.len() as u64, notification.count);
        }
        let actors = found.iter().flat_map(|it| it.actors.iter().map(|actor| (it.kind, actor.id)));
        actors.collect::<BTreeSet<_>>()
    };
    let all = |actors: &[UserId]| -> BTreeSet<_> {
        KINDS.into_iter().flat_map(|kind| actors.iter().map(move |actor| (kind, *actor))).collect()
    };
    for is_block in [false, true] {
        for kind in KINDS {
            for actor in [bob, cleo] {
                scenario.act(kind, actor, w.now()).await;
            }
        }
        assert_eq!(shown().await, all(&[bob, cleo]));
        if is_block {
            w.block(recipient, bob).await;
            assert_eq!(shown().await, all(&[cleo]));
            continue;
        }
        w.mute(recipient, bob, None).await;
        assert_eq!(shown().await, all(&[cleo]));
        for kind in KINDS {
            scenario.undo(kind, bob).await;
            scenario.act(kind, bob, w.now()).await;
        }
        assert_eq!(shown().await, all(&[cleo]), "no notifications of muted users");
        assert!(db.blocks.unmute(recipient, bob).await.unwrap());
        assert_eq!(shown().await, all(&[cleo]), "not even after the mute has ended");
        for kind in KINDS {
            scenario.undo(kind, bob).await;
        }
    }
}

pub async fn blocks_and_mutes_are_found_for_many_listeners(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob, cleo] = w.users().await;
    w.block(ada, bob).await;
    w.mute(cleo, ada, None).await;
    let all = vec![ada, bob, cleo];
    let sorted = |mut pairs: Vec<(UserId, UserId)>| {
        pairs.sort_unstable();
        pairs
    };
    let blocks = db.event_audience.find_blocks(all.clone(), all.clone()).await.unwrap();
    assert_eq!(sorted(blocks), [(ada, bob), (bob, ada)]);
    assert_eq!(db.event_audience.find_blocks(vec![bob], vec![ada, cleo]).await.unwrap(), [(bob, ada)]);
    assert_eq!(db.event_audience.find_mutes(all.clone(), all).await.unwrap(), [(cleo, ada)]);
    assert_eq!(db.event_audience.find_mutes(vec![ada], vec![cleo]).await.unwrap(), []);
}

pub async fn blocking_or_muting_an_unknown_user_is_not_found(db: Repositories) {
    let w = World::new(&db);
    let [ada] = w.users().await;
    let unknown = w.id();
    let blocked = db.blocks.block(ada, unknown, NewBlock { id: w.id(), at: w.now() }).await;
    assert_fails!(blocked, Error::NotFound(Resource::User));
    let muted = db.blocks.mute(ada, unknown, NewMute { id: w.id(), at: w.now(), until: None }).await;
    assert_fails!(muted, Error::NotFound(Resource::User));
    assert!(!db.blocks.unmute(ada, unknown).await.unwrap());
    assert!(db.blocks.list_blocked(Viewer::ordinary(ada), PageRequest::FIRST).await.unwrap().items.is_empty());
}
