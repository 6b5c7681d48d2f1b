//! Lists of thousands of entries are paged through to the end and back while others write: every entry that exists throughout is
//! seen exactly once in each direction. SQLite is tested with one node; with PostgreSQL, one node reads and another one writes.

#![forbid(unsafe_code)]
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashSet;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use agora_database::{CallMeter, CallOutcome, Database, Options, QueryInstrumentation, Rows, Table};
use agora_domain::clock::{Clock, Timestamp};
use agora_domain::page::{Keyset, PageRequest, PageSize, Position};
use agora_domain::posts::PostText;
use agora_domain::search::{Indexing, Kind, SearchIndex, UnindexedContent};
use agora_domain::texts::TextBackfill;
use agora_port_contracts::Repositories;
use agora_port_contracts::lists::{List, Lists, People, TAG};
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinSet, block_in_place, spawn, spawn_blocking};
use uuid::Uuid;

#[path = "../../../tests/support/postgres.rs"]
mod private_postgres;

/// The initial number of entries of each list.
const ENTRIES: u64 = 3_000;

/// The number of rows that are stored at a time.
const BATCH: usize = 500;

/// The minimum number of changes between two pages.
const CHANGES: u64 = 2;

const WRITERS: u64 = 2;

/// The maximum number of entries that a writer adds: a list whose entries cannot be removed would grow as fast as it is read.
const MAX_ADDED: usize = 300;

fn at(millis: u64) -> i64 {
    1_700_000_000_000 + millis.cast_signed()
}

/// Returns the id of the `n`th entry, or of the `more`th entry between it and the next.
fn id(n: u64, more: u64) -> Uuid {
    Uuid::from_u64_pair(0x018b_cfe5_6800_7000, 0x8000_0000_0000_0000 | (n << 24) | more)
}

/// Returns the position of the `n`th entry. There are three entries at each instant.
fn place(n: u64) -> Keyset {
    Keyset { at: Timestamp::from_unix_millis(at(n / 3)), id: id(n, 0) }
}

/// Returns whether an entry stays in the list. One in three may be removed.
fn stays(n: u64) -> bool {
    !n.is_multiple_of(3)
}

fn entries() -> impl Iterator<Item = u64> {
    1..=ENTRIES
}

fn people() -> People {
    let [author, viewer, host] = [1, 2, 3].map(|n| id(0, n).into());
    People { author, viewer, host, post: id(0, 4).into(), comment: id(0, 6).into(), commented: id(0, 5).into() }
}

fn user(id: Uuid, created_at: i64) -> Value {
    let name = id.simple().to_string();
    let email = format!("{name}@example.org");
    json!({ "id": id, "username": name, "username_key": name, "email": email, "email_key": email, "password_hash": "",
        "biography": null, "profile_picture": null, "is_admin": false, "is_user": true, "enabled": true,
        "created_at": created_at, "display_name": "Walker", "discoverable": true, "searchable": true, "hide_counts": false, "email_verified": false })
}

fn post(id: Uuid, author: Uuid, created_at: i64, counts: u64) -> Value {
    json!({ "id": id, "author_id": author, "content": format!("Good morning {TAG}"), "image": null, "visibility": 0,
        "created_at": created_at, "updated_at": created_at, "like_count": counts, "comment_count": counts })
}

fn comment(id: Uuid, post: Uuid, author: Uuid, created_at: i64) -> Value {
    let likes = if id == people().comment.uuid() { ENTRIES } else { 0 };
    json!({ "id": id, "post_id": post, "author_id": author, "content": "text", "created_at": created_at,
        "updated_at": created_at, "parent_id": null, "reply_to_id": null, "reply_count": 0, "like_count": likes,
        "is_hidden": false })
}

fn follow(follower: Uuid, followed: Uuid, id: Uuid, created_at: i64) -> Value {
    json!({ "follower_id": follower, "followed_id": followed, "id": id, "created_at": created_at })
}

/// Returns the rows of all lists, table by table.
fn rows() -> Vec<(Table, Vec<Value>)> {
    let People { author, viewer, host, post: liked, comment: answered, commented } = people();
    let (author, viewer, host, liked) = (author.uuid(), viewer.uuid(), host.uuid(), liked.uuid());
    let (answered, commented) = (answered.uuid(), commented.uuid());
    let each = |row: &dyn Fn(Uuid, i64) -> Value| entries().map(|n| row(id(n, 0), at(n / 3))).collect::<Vec<_>>();
    let mut users = each(&user);
    users.extend([author, viewer, host].map(|id| user(id, at(0))));
    let mut posts = each(&|id, at| post(id, author, at, 0));
    posts.push(post(liked, host, at(0), ENTRIES));
    posts.push(post(commented, host, at(0), 1));
    let mut follows = each(&|id, at| follow(id, host, id, at));
    follows.extend(each(&|id, at| follow(host, id, id, at)));
    follows.push(follow(viewer, author, liked, at(0)));
    let mut blocks = each(&|id, at| json!({ "user_id": author, "other_id": id, "id": id, "created_at": at }));
    blocks.extend(each(&|id, _| json!({ "user_id": id, "other_id": author, "id": null, "created_at": null })));
    let mut comments = each(&|id, at| comment(id, liked, host, at));
    comments.push(comment(answered, commented, host, at(0)));
    vec![
        (Table::Users, users),
        (
            Table::Sessions,
            each(&|id, at| {
                json!({ "id": id, "user_id": author, "opened_at": at, "revoked_at": null, "last_seen_at": null,
                    "user_agent": null })
            }),
        ),
        (
            Table::Audit,
            each(&|id, at| {
                json!({ "id": id, "created_at": at, "actor_id": null, "action": 0, "target_kind": 5, "target_id": null,
                    "details": null })
            }),
        ),
        (
            Table::Reports,
            each(&|id, at| {
                json!({ "id": id, "created_at": at, "reporter_id": id, "target_kind": 0, "target_id": id, "category": 0,
                    "comment": null, "status": 0, "note": null })
            }),
        ),
        (Table::Posts, posts),
        (Table::Bookmarks, each(&|id, at| json!({ "user_id": host, "post_id": id, "id": id, "created_at": at }))),
        (Table::Likes, each(&|id, at| json!({ "post_id": liked, "user_id": id, "id": id, "created_at": at }))),
        (Table::Comments, comments),
        (
            Table::CommentLikes,
            each(&|id, at| json!({ "comment_id": answered, "user_id": id, "id": id, "created_at": at })),
        ),
        (Table::Follows, follows),
        (Table::Blocks, blocks),
        (
            Table::Mutes,
            each(&|id, at| json!({ "muter_id": viewer, "muted_id": id, "id": id, "created_at": at, "ends_at": null })),
        ),
        (
            Table::Products,
            each(&|id, at| {
                json!({ "id": id, "sku": id, "sku_key": id, "name": "Teapot", "description": "", "price": 1990,
                    "category": "Kitchen", "category_key": "kitchen", "stock": 3, "search_key": "teapot",
                    "created_at": at, "updated_at": at })
            }),
        ),
    ]
}

async fn fill(database: &Arc<Database>) {
    let mut load = database.load().await.unwrap();
    for (table, rows) in rows() {
        for rows in rows.chunks(BATCH) {
            let lines: Vec<_> = rows.iter().map(ToString::to_string).collect();
            load.insert(Rows::from_lines(table, &lines.join("\n")).unwrap()).await.unwrap();
        }
    }
    load.commit().await.unwrap();
    let backfill = TextBackfill::new(database.clone(), database.clone());
    let (mut before, mut count) = (None, 0);
    while let Some(batch) = backfill.run(before).await.unwrap() {
        (before, count) = (Some(batch.last), count + batch.count as u64);
    }
    assert_eq!((count, backfill.count().await.unwrap()), (2 * ENTRIES + 3, 0));
}

/// A deterministic generator of pseudo-random numbers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Adds entries at random places, and removes some of them and of the initial ones that may go, until the receiver of `changes`
/// is dropped.
async fn write_concurrently(lists: Lists, list: List, number: u64, changes: watch::Sender<u64>) {
    let mut dice = Dice(number);
    let mut own = Vec::new();
    for made in 1.. {
        let near = 1 + dice.roll(ENTRIES);
        let added =
            Keyset { id: id(near, (made * WRITERS + number) << 5 | list as u64), ..place(1 + dice.roll(ENTRIES)) };
        if own.len() < MAX_ADDED {
            lists.add(list, added).await;
            own.push(added.id);
        } else {
            tokio::task::yield_now().await;
        }
        let goes = 1 + dice.roll(ENTRIES);
        if !stays(goes) {
            lists.remove(list, id(goes, 0)).await;
        }
        if own.len() > 20 && !list.is_permanent() {
            let one = usize::try_from(dice.roll(own.len() as u64)).unwrap();
            lists.remove(list, own.swap_remove(one)).await;
        }
        if list == List::FoundPosts {
            // Moves an entry that stays from its bucket to the tail, and into another bucket.
            lists.rewrite(id(3 * dice.roll(ENTRIES / 3) + 1, 0), made).await;
            lists.pack().await;
        }
        changes.send_modify(|count| *count += 1);
        if changes.is_closed() {
            return;
        }
    }
}

async fn expect_complete_under_writes(lists: &Lists, others: &Lists, list: List) {
    let (changes, mut changed) = watch::channel(0);
    let mut writers = JoinSet::new();
    for number in 0..WRITERS {
        writers.spawn(write_concurrently(others.clone(), list, number, changes.clone()));
    }
    drop(changes);
    let expected = list.in_order(entries().filter(|n| stays(*n)).map(place));
    let there: HashSet<_> = expected.iter().copied().collect();
    let request = |from| PageRequest { from, size: PageSize::parse("100").unwrap() };
    let mut page = lists.read(list, request(Position::Start)).await.unwrap();
    for is_forward in [true, false] {
        let mut pages = vec![page.items.clone()];
        while let Some(from) = if is_forward { page.next } else { page.prev } {
            // Removes the entry at the position, unless it is one that stays or that the lists refer to.
            if let Position::After(place) | Position::Before(place) = from
                && place.id > id(1, 0)
                && !there.contains(&place.id)
            {
                lists.remove(list, place.id).await;
            }
            let seen = *changed.borrow();
            changed.wait_for(|count| *count >= seen + CHANGES).await.expect("the writers are at work");
            page = lists.read(list, request(from)).await.unwrap();
            pages.push(page.items.clone());
        }
        if !is_forward {
            pages.reverse();
        }
        let mut seen = pages.concat();
        assert_eq!(seen.iter().collect::<HashSet<_>>().len(), seen.len(), "{list:?} repeats entries");
        seen.retain(|id| there.contains(id));
        assert!(seen == expected, "{list:?}, forward: {is_forward}: {} of {} seen", seen.len(), expected.len());
    }
    drop(changed);
    while let Some(writer) = writers.join_next().await {
        writer.unwrap();
    }
}

async fn expect_changed_texts_not_to_be_indexed(index: &dyn SearchIndex) {
    let mut listed = index.list_unindexed(Kind::Post, 3).await.unwrap();
    let before = (listed.clone(), index.count_unindexed().await.unwrap());
    for thing in &mut listed {
        thing.content = UnindexedContent::Post(PostText::parse("as it was before").unwrap(), people().author);
    }
    let texts: Vec<_> = listed.iter().map(|thing| thing.content.text()).collect();
    assert_eq!(index.index(listed.into_iter().zip(texts).collect()).await.unwrap(), 0);
    let after = (index.list_unindexed(Kind::Post, 3).await.unwrap(), index.count_unindexed().await.unwrap());
    assert_eq!(after, before);
}

/// Pauses one search between the read of its candidates and the check of the documents.
#[derive(Default)]
struct Gate(Mutex<Option<(oneshot::Sender<()>, mpsc::Receiver<()>)>>);

impl CallMeter for Gate {
    fn ended(&self, operation: &'static str, _: Duration, _: CallOutcome) {
        if operation != "search.candidates" {
            return;
        }
        let Some((reached, opened)) = self.0.lock().unwrap().take() else { return };
        block_in_place(|| {
            reached.send(()).unwrap();
            opened.recv().unwrap();
        });
    }
}

async fn expect_documents_moved_during_a_search_to_be_found(lists: &Lists, others: &Lists, gate: &Gate) {
    let oldest = || PageRequest { from: Position::End, size: PageSize::parse("100").unwrap() };
    let expected = lists.read(List::FoundPosts, oldest()).await.unwrap().items;
    let ((reached, at_gate), (open, opened)) = (oneshot::channel(), mpsc::channel());
    *gate.0.lock().unwrap() = Some((reached, opened));
    let reader = lists.clone();
    let found = spawn(async move { reader.read(List::FoundPosts, oldest()).await.unwrap().items });
    at_gate.await.unwrap();
    for n in 1..=300 {
        others.rewrite(id(n, 0), 0).await;
    }
    others.pack().await;
    open.send(()).unwrap();
    assert!(found.await.unwrap() == expected);
}

/// A clock that stands still: packing does not depend on the time.
struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        place(0).at
    }
}

/// Pages through every list on `node` while `other`, or the same node without another one, writes.
async fn expect_all_lists_complete_under_writes(node: Database, other: Option<Database>) {
    let gate = Arc::new(Gate::default());
    let meter = Arc::clone(&gate) as Arc<dyn CallMeter>;
    let instrumented = |node: Database| {
        let instrumentation = QueryInstrumentation { meter: Some(Arc::clone(&meter)), slow: None };
        Arc::new(node.packing(250).instrumented(instrumentation))
    };
    let node = instrumented(node);
    let other = other.map_or_else(|| Arc::clone(&node), instrumented);
    fill(&node).await;
    let lists = Lists::of(&Repositories::of(&node), people());
    let others = lists.through(&Repositories::of(&other));
    let indexing = Indexing { index: node.clone(), clock: Arc::new(StoppedClock) };
    expect_changed_texts_not_to_be_indexed(&*indexing.index).await;
    while indexing.run().await.unwrap().1 {}
    expect_documents_moved_during_a_search_to_be_found(&lists, &others, &gate).await;
    // Replies would be at the same positions as the top-level comments.
    for list in List::ALL.into_iter().filter(|list| *list != List::Replies) {
        expect_complete_under_writes(&lists, &others, list).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_on_sqlite_are_complete_in_both_directions_while_others_write() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", directory.path().join("agora.db").display());
    let node = Database::open(&url, &Options::default()).await.unwrap();
    expect_all_lists_complete_under_writes(node, None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_on_postgres_are_complete_in_both_directions_while_another_node_writes() {
    let url = spawn_blocking(private_postgres::fresh_database).await.unwrap();
    let options = Options { connections: 8, ..Options::default() };
    let one = Database::open(&url, &options).await.unwrap();
    let other = Database::open(&url, &options).await.unwrap();
    expect_all_lists_complete_under_writes(one, Some(other)).await;
}
