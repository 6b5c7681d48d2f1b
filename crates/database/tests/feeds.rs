//! Tests that the cache of feeds agrees with the database, whoever changes it: each case on one node with SQLite, and on two
//! nodes with one PostgreSQL database.

#![forbid(unsafe_code)]
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agora_database::{Database, Options};
use agora_domain::accounts::{Account, Email, NewAccount, PasswordHash, Privacy, Roles, Username, Viewer};
use agora_domain::blocks::{NewBlock, NewMute};
use agora_domain::clock::Timestamp;
use agora_domain::id::{PostId, RelationId, UserId};
use agora_domain::page::{Keyset, Page, PageRequest, PageSize, Position};
use agora_domain::posts::{FeedRequest, Post, PostEdit, PostText, Visibility};
use agora_domain::relation::NewRelation;
use agora_port_contracts::Repositories;
use tokio::task::{JoinSet, spawn_blocking};
use uuid::Uuid;

#[path = "../../../tests/support/postgres.rs"]
mod private_postgres;

/// A database with one or several nodes.
#[derive(Clone)]
struct World {
    nodes: Vec<Repositories>,
    made: Arc<AtomicU64>,
    _directory: Option<Arc<tempfile::TempDir>>,
}

/// A viewer without any relations.
const ANYBODY: Viewer = Viewer::ordinary(UserId::new(Uuid::nil()));

fn at(millis: u64) -> Timestamp {
    Timestamp::from_unix_millis(1_700_000_000_000 + i64::try_from(millis).unwrap())
}

async fn open(url: &str, options: &Options) -> Repositories {
    Repositories::of(&Arc::new(Database::open(url, options).await.unwrap()))
}

impl World {
    async fn on_sqlite() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", directory.path().join("agora.db").display());
        let nodes = vec![open(&url, &Options::default()).await];
        Self { nodes, made: Arc::default(), _directory: Some(Arc::new(directory)) }
    }

    async fn on_postgres() -> Self {
        let url = spawn_blocking(private_postgres::fresh_database).await.unwrap();
        let options = Options { connections: 8, ..Options::default() };
        let mut nodes = Vec::new();
        for _ in 0..2 {
            nodes.push(open(&url, &options).await);
        }
        Self { nodes, made: Arc::default(), _directory: None }
    }

    fn next(&self) -> u64 {
        self.made.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn id(&self) -> Uuid {
        let n = self.next();
        Uuid::from_u64_pair(0x018b_cfe5_6800_7000 | n, 0x8000_0000_0000_0000 | n)
    }

    fn node(&self, n: u64) -> &Repositories {
        &self.nodes[usize::try_from(n).unwrap() % self.nodes.len()]
    }

    async fn user(&self) -> UserId {
        let id = UserId::new(self.id());
        let name = format!("user{}", self.next());
        let account = Account {
            id,
            email: Email::parse(&format!("{name}@example.org")).unwrap(),
            username: Username::parse(&name).unwrap(),
            display_name: None,
            biography: None,
            profile_picture: None,
            privacy: Privacy::default(),
            roles: Roles::USER,
            enabled: true,
            email_verified: false,
            created_at: at(0),
        };
        let new = NewAccount { account, password: PasswordHash::new("$hash$".to_owned()), entry: None };
        self.node(0).accounts.create(&new, None).await.unwrap();
        id
    }

    async fn users(&self, count: usize) -> Vec<UserId> {
        let mut users = Vec::new();
        for _ in 0..count {
            users.push(self.user().await);
        }
        users
    }

    async fn post(&self, node: u64, author: UserId, created_at: Timestamp) -> Post {
        let post = Post {
            id: PostId::new(self.id()),
            author,
            text: PostText::parse("text").unwrap(),
            entities: None,
            attachments: Vec::new(),
            visibility: Visibility::Public,
            is_hidden: false,
            created_at,
            updated_at: created_at,
        };
        self.node(node).posts.create(&post, &[], None).await.unwrap();
        post
    }

    async fn toggle(&self, node: u64, follower: UserId, followed: UserId) -> bool {
        let relation = NewRelation { id: RelationId::new(self.id()), at: at(self.next()), notice: None };
        self.node(node).follows.toggle(follower, followed, relation, None).await.unwrap()
    }

    /// Returns the ids of the posts on a page of a feed.
    async fn page(&self, node: u64, viewer: UserId, feed: FeedRequest) -> Page<PostId> {
        let visible = &[Visibility::Public, Visibility::Followers];
        let page = self.node(node).posts.list_followed(Viewer::ordinary(viewer), visible, feed).await.unwrap();
        page.map(|view| view.post.id)
    }

    /// Returns the ids of a feed's posts, read in pages of a size.
    async fn feed(&self, node: u64, viewer: UserId, size: u64) -> Vec<PostId> {
        let mut page = self.page(node, viewer, unbounded(Position::Start, size)).await;
        let mut ids = page.items;
        while let Some(from) = page.next {
            page = self.page(node, viewer, unbounded(from, size)).await;
            ids.extend(page.items);
        }
        ids
    }

    /// Returns the ids of a feed's posts, read in pages of a size from the feed's end on.
    async fn feed_from_end(&self, node: u64, viewer: UserId, size: u64) -> Vec<PostId> {
        let mut page = self.page(node, viewer, unbounded(Position::End, size)).await;
        let mut ids = page.items;
        while let Some(from) = page.prev {
            page = self.page(node, viewer, unbounded(from, size)).await;
            ids.splice(..0, page.items);
        }
        ids
    }
}

/// Returns the request for a page of a feed without a bound of time.
fn unbounded(from: Position, size: u64) -> FeedRequest {
    let size = PageSize::parse(&size.to_string()).unwrap();
    FeedRequest { created_before: None, page: PageRequest { from, size } }
}

/// A deterministic generator of pseudo-random numbers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.roll(of.len() as u64)).unwrap()]
    }
}

/// A model of the database, from which the expected feeds are computed.
#[derive(Default)]
struct Model {
    posts: BTreeMap<PostId, Post>,
    follows: BTreeSet<(UserId, UserId)>,
    mutes: BTreeSet<(UserId, UserId)>,
    /// Pairs of the blocker and the blocked user.
    blocks: BTreeSet<(UserId, UserId)>,
}

impl Model {
    /// Returns the positions of the posts of a feed, newest first.
    fn positions(&self, viewer: UserId) -> Vec<Keyset> {
        let is_shown = |post: &&Post| {
            let pair = (viewer, post.author);
            post.visibility != Visibility::Private && self.follows.contains(&pair) && !self.mutes.contains(&pair)
        };
        let mut shown: Vec<_> = self.posts.values().filter(is_shown).map(position).collect();
        shown.sort_unstable_by_key(|position| std::cmp::Reverse(*position));
        shown
    }

    fn feed(&self, viewer: UserId) -> Vec<PostId> {
        self.positions(viewer).into_iter().map(|position| position.id.into()).collect()
    }

    /// Returns the expected page of a feed.
    fn page(&self, viewer: UserId, FeedRequest { created_before, page }: FeedRequest) -> Page<PostId> {
        let mut positions = self.positions(viewer);
        positions.retain(|position| created_before.is_none_or(|before| position.at < before));
        match page.from {
            Position::Start => {}
            Position::After(key) => positions.retain(|position| *position < key),
            Position::Before(key) => positions.retain(|position| *position > key),
            Position::End => {}
        }
        if matches!(page.from, Position::Before(_) | Position::End) {
            positions.reverse();
        }
        positions.truncate(page.overfetch());
        page.page_of(positions, |position| *position).map(|position| position.id.into())
    }
}

fn position(post: &Post) -> Keyset {
    Keyset { at: post.created_at, id: post.id.uuid() }
}

/// Returns a random page request: at either end of a feed, or on either side of an instant near posts.
fn random_request(dice: &mut Dice, model: &Model) -> FeedRequest {
    let instant = |dice: &mut Dice| at(950 + dice.roll(800));
    let positions: Vec<_> = model.posts.values().map(position).collect();
    let key = match dice.roll(3) {
        0 => Keyset { at: instant(dice), id: Uuid::from_u64_pair(0x018b_cfe5_6800_7000, dice.roll(u64::MAX)) },
        _ if positions.is_empty() => Keyset::before(instant(dice)),
        _ => dice.pick(&positions),
    };
    let from = match dice.roll(8) {
        0 => Position::Start,
        1 => Position::End,
        2..=4 => Position::After(key),
        _ => Position::Before(key),
    };
    let created_before = (dice.roll(3) == 0).then(|| instant(dice));
    FeedRequest { created_before, ..unbounded(from, 1 + dice.roll(30)) }
}

/// Posts are added out of order, deleted, hidden and shown; authors are followed, unfollowed, muted and blocked; feeds are read
/// in between.
async fn feeds_follow_every_change(w: World) {
    let users = w.users(6).await;
    let (mut dice, mut model) = (Dice(1), Model::default());
    for step in 0..700 {
        let (node, user) = (dice.roll(2), dice.pick(&users));
        match dice.roll(12) {
            0..=4 => {
                // The clocks of the nodes differ.
                let created_at = at(1_000 + step - dice.roll(20).min(step));
                let post = w.post(node, user, created_at).await;
                model.posts.insert(post.id, post);
            }
            5 | 6 => {
                let followed = dice.pick(&users);
                let is_blocked = model.blocks.contains(&(user, followed)) || model.blocks.contains(&(followed, user));
                if followed != user && !is_blocked {
                    let pair = (user, followed);
                    let is_on = w.toggle(node, user, followed).await;
                    assert_eq!(is_on, if is_on { model.follows.insert(pair) } else { !model.follows.remove(&pair) });
                }
            }
            10 => {
                let muted = dice.pick(&users);
                if muted != user && !model.mutes.remove(&(user, muted)) {
                    let mute = NewMute { id: RelationId::new(w.id()), at: at(step), until: None };
                    w.node(node).blocks.mute(user, muted, mute).await.unwrap();
                    model.mutes.insert((user, muted));
                } else {
                    assert_eq!(w.node(node).blocks.unmute(user, muted).await.unwrap(), muted != user);
                }
            }
            11 => {
                let blocked = dice.pick(&users);
                if blocked != user && !model.blocks.remove(&(user, blocked)) {
                    let block = NewBlock { id: RelationId::new(w.id()), at: at(step) };
                    w.node(node).blocks.block(user, blocked, block).await.unwrap();
                    model.blocks.insert((user, blocked));
                    model.follows.retain(|pair| *pair != (user, blocked) && *pair != (blocked, user));
                } else {
                    assert_eq!(w.node(node).blocks.unblock(user, blocked).await.unwrap(), blocked != user);
                }
            }
            change if !model.posts.is_empty() => {
                let ids: Vec<_> = model.posts.keys().copied().collect();
                let id = dice.pick(&ids);
                if change == 7 {
                    w.node(node).posts.delete(id, at(step)).await.unwrap();
                    model.posts.remove(&id);
                } else {
                    let visibility = dice.pick(&Visibility::ALL);
                    let edit = PostEdit { visibility: Some(visibility), ..PostEdit::default() };
                    w.node(node).posts.edit(id, ANYBODY, &edit, at(step)).await.unwrap();
                    model.posts.get_mut(&id).unwrap().visibility = visibility;
                }
            }
            _ => {}
        }
        let (node, viewer, size) = (dice.roll(2), dice.pick(&users), 1 + dice.roll(30));
        for _ in 0..3 {
            let request = random_request(&mut dice, &model);
            let page = w.page(node, viewer, request).await;
            assert_eq!(page, model.page(viewer, request), "step {step}, node {node}, {request:?}");
        }
        if step % 2 == 0 {
            assert_eq!(w.feed(node, viewer, size).await, model.feed(viewer), "step {step}, node {node}, size {size}");
        } else {
            let from_end = w.feed_from_end(node, viewer, size).await;
            assert_eq!(from_end, model.feed(viewer), "from the end: step {step}, node {node}, size {size}");
        }
    }
}

/// An acknowledged write appears in feeds at once, on another node as well, while others write.
async fn a_feed_shows_acknowledged_writes(w: World) {
    const WRITERS: u64 = 8;
    let viewers = w.users(3).await;
    let mut writers = JoinSet::new();
    for n in 0..WRITERS {
        let author = w.user().await;
        for viewer in &viewers {
            w.toggle(0, *viewer, author).await;
        }
        let (w, viewers) = (w.clone(), viewers.clone());
        writers.spawn(async move {
            for round in 0..12 {
                let post = w.post(n + round, author, at(w.next())).await.id;
                for viewer in &viewers {
                    assert!(w.feed(n + round + 1, *viewer, 100).await.contains(&post), "{n}, round {round}");
                    let from_end = w.feed_from_end(n + round, *viewer, 30).await;
                    assert!(from_end.contains(&post), "from the end: {n}, round {round}");
                }
                let own = w.user().await;
                w.toggle(n, own, author).await;
                assert!(w.feed(n + 1, own, 100).await.contains(&post), "a feed is read for the first time");
                assert!(!w.toggle(n, own, author).await);
                assert!(!w.feed(n + 1, own, 100).await.contains(&post), "the author is followed no more");
                assert!(w.toggle(n + 1, own, author).await);
                assert!(w.feed(n, own, 100).await.contains(&post), "and is followed again");
            }
        });
    }
    while let Some(writer) = writers.join_next().await {
        writer.unwrap();
    }
}

/// The clocks of nodes differ, so that a new post may belong in the middle of a feed that another node has cached.
async fn a_post_added_in_the_middle_of_a_feed_is_on_its_page(w: World) {
    let [viewer, author] = w.users(2).await[..] else { unreachable!() };
    w.toggle(0, viewer, author).await;
    let mut posts = Vec::new();
    for n in 0..10 {
        posts.push(w.post(0, author, at(100 * n)).await);
    }
    assert_eq!(w.feed(1, viewer, 4).await.len(), 10);
    for (n, is_older) in [(2, true), (4, false), (6, true), (8, false)] {
        let [old, new] = [n - 1, n].map(|n| position(&posts[n]));
        let late = w.post(0, author, old.at.plus_millis(50)).await.id;
        let (from, beside) = if is_older { (Position::After(new), old) } else { (Position::Before(old), new) };
        let page = w.page(1, viewer, unbounded(from, 2)).await.items;
        let expected = if is_older { [late, beside.id.into()] } else { [beside.id.into(), late] };
        assert_eq!(page, expected, "{from:?}");
    }
}

/// There are many private posts between those that the viewer may see.
async fn visible_posts_behind_many_private_ones_are_shown(w: World) {
    let [viewer, author] = w.users(2).await[..] else { unreachable!() };
    w.toggle(0, viewer, author).await;
    let old = w.post(0, author, at(1)).await.id;
    let private = PostEdit { visibility: Some(Visibility::Private), ..PostEdit::default() };
    for n in 0..400 {
        let hidden = w.post(0, author, at(10 + n)).await.id;
        w.node(0).posts.edit(hidden, ANYBODY, &private, at(500)).await.unwrap();
    }
    let new = w.post(0, author, at(1000)).await.id;
    for size in [1, 2, 20] {
        assert_eq!(w.feed(1, viewer, size).await, [new, old], "in pages of {size}");
        assert_eq!(w.feed_from_end(1, viewer, size).await, [new, old], "in pages of {size}");
    }
}

/// More posts are added between two reads of a feed than the cache can follow.
async fn a_feed_that_was_not_read_for_long_is_complete(w: World) {
    let [viewer, author, other] = w.users(3).await[..] else { unreachable!() };
    w.toggle(0, viewer, author).await;
    let old = w.post(0, author, at(1)).await.id;
    assert_eq!(w.feed(0, viewer, 10).await, [old]);
    let new = w.post(1, author, at(2)).await.id;
    let mut posts = JoinSet::new();
    for n in 0..4500 {
        let w = w.clone();
        posts.spawn(async move { w.post(1, other, at(10 + n)).await });
        if posts.len() > 32 {
            posts.join_next().await.unwrap().unwrap();
        }
    }
    while let Some(post) = posts.join_next().await {
        post.unwrap();
    }
    assert_eq!(w.feed(0, viewer, 10).await, [new, old]);
    let newer = w.post(1, author, at(3)).await.id;
    assert_eq!(w.feed_from_end(0, viewer, 10).await, [newer, new, old]);
    assert_eq!(w.feed(0, viewer, 10).await, [newer, new, old]);
}

/// A post stored by a long transaction is shown once that commits. An open transaction does not keep feeds from being read,
/// however many posts are added meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn posts_that_are_committed_late_are_shown() {
    let (name, url) = spawn_blocking(private_postgres::fresh_database_by_name).await.unwrap();
    let options = Options { connections: 8, ..Options::default() };
    let nodes = vec![open(&url, &options).await, open(&url, &options).await];
    let w = World { nodes, made: Arc::default(), _directory: None };
    let [viewer, author, other] = w.users(3).await[..] else { unreachable!() };
    w.toggle(0, viewer, author).await;
    let first = w.post(0, author, at(1)).await.id;
    assert_eq!(w.feed(0, viewer, 10).await, [first]);

    let session = move |sql: &'static str| {
        let mut session = private_postgres::shared().session(&name);
        session.run(sql);
        session
    };
    // `agora.count_later`: the posts of an author are counted in one row, for whose lock other posts of the author would wait.
    let copy = "BEGIN; SET LOCAL agora.count_later = 'on'; INSERT INTO posts (id, author_id, content, visibility, created_at, updated_at) \
        SELECT 'ffffffff-ffff-7fff-8fff-ffffffffffff', author_id, 'late', 0, created_at - interval '1 ms', created_at \
        FROM posts LIMIT 1;";
    let mut late = spawn_blocking(move || session(copy)).await.unwrap();
    let second = w.post(1, author, at(2)).await.id;
    assert_eq!(w.feed(0, viewer, 10).await, [second, first]);
    let mut posts = JoinSet::new();
    for n in 0..4500 {
        let writer = w.clone();
        posts.spawn(async move { writer.post(1, other, at(10 + n)).await });
        if posts.len() > 32 {
            posts.join_next().await.unwrap().unwrap();
        }
        if n % 500 == 0 {
            assert_eq!(w.feed(0, viewer, 10).await, [second, first]);
        }
    }
    while let Some(post) = posts.join_next().await {
        post.unwrap();
    }
    let third = w.post(1, author, at(3)).await.id;
    assert_eq!(w.feed(0, viewer, 10).await, [third, second, first]);
    spawn_blocking(move || late.run("COMMIT;")).await.unwrap();
    let late = PostId::new(Uuid::from_u128(0xffff_ffff_ffff_7fff_8fff_ffff_ffff_ffff));
    assert_eq!(w.feed(0, viewer, 10).await, [third, second, first, late]);
    assert_eq!(w.feed(1, viewer, 10).await, [third, second, first, late]);
    assert_eq!(w.feed_from_end(0, viewer, 1).await, [third, second, first, late]);
}

macro_rules! on_each_database {
    ($($case:ident),+) => {
        mod sqlite {
            use super::*;

            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $case() {
                    super::$case(World::on_sqlite().await).await;
                }
            )+
        }

        mod postgres {
            use super::*;

            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $case() {
                    super::$case(World::on_postgres().await).await;
                }
            )+
        }
    };
}

on_each_database!(
    feeds_follow_every_change,
    a_post_added_in_the_middle_of_a_feed_is_on_its_page,
    a_feed_shows_acknowledged_writes,
    visible_posts_behind_many_private_ones_are_shown,
    a_feed_that_was_not_read_for_long_is_complete
);
