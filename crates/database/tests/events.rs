//! The event log of several nodes on one PostgreSQL database.

#![forbid(unsafe_code)]
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use agora_database::{Database, Options};
use agora_domain::accounts::{Account, Email, NewAccount, PasswordHash, Privacy, Roles, Username};
use agora_domain::clock::Timestamp;
use agora_domain::events::{Event, LoggedEvent, Position};
use agora_domain::id::{PostId, RelationId, UserId};
use agora_domain::posts::{Post, PostText, Visibility};
use agora_domain::relation::NewRelation;
use agora_port_contracts::Repositories;
use tokio::task::{JoinSet, spawn_blocking};
use uuid::Uuid;

#[path = "../../../tests/support/postgres.rs"]
mod private_postgres;

const AT: Timestamp = Timestamp::from_unix_millis(1_700_000_000_000);

async fn node(url: &str) -> Repositories {
    Repositories::of(&Arc::new(Database::open(url, &Options { connections: 8, ..Options::default() }).await.unwrap()))
}

async fn user(node: &Repositories, n: u128) -> UserId {
    let account = Account {
        id: UserId::new(Uuid::from_u128(n)),
        email: Email::parse(&format!("user{n}@example.org")).unwrap(),
        username: Username::parse(&format!("user{n}")).unwrap(),
        display_name: None,
        biography: None,
        profile_picture: None,
        privacy: Privacy::default(),
        roles: Roles::USER,
        enabled: true,
        email_verified: false,
        created_at: AT,
    };
    let id = account.id;
    let new = NewAccount { account, password: PasswordHash::new("$".to_owned()), entry: None };
    node.accounts.create(&new, None).await.unwrap();
    id
}

async fn post(node: &Repositories, author: UserId, n: u128) -> PostId {
    let post = Post {
        id: PostId::new(Uuid::from_u128(n)),
        author,
        text: PostText::parse("text").unwrap(),
        entities: None,
        attachments: Vec::new(),
        visibility: Visibility::Public,
        is_hidden: false,
        created_at: AT,
        updated_at: AT,
    };
    node.posts.create(&post, &[], None).await.unwrap();
    post.id
}

async fn toggle(node: &Repositories, post: PostId, user: UserId, n: u128) {
    let like = NewRelation { id: RelationId::new(Uuid::from_u128(n)), at: AT, notice: None };
    node.posts.toggle_like(post, user, like, None).await.unwrap();
}

/// Returns the events after a number in a node's log.
async fn logged(node: &Repositories, number: u64) -> Vec<(u64, Event)> {
    let log = &node.events;
    log.refresh().await.unwrap();
    let from = Position::after(log.end().epoch, number);
    let logged: Vec<LoggedEvent> = log.after(from, 100_000).unwrap();
    logged.into_iter().map(|logged| (logged.number, logged.event)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_node_reads_the_same_events_in_the_same_order() {
    const WRITERS: u128 = 6;
    const LIKES: u128 = 50;
    let url = spawn_blocking(private_postgres::fresh_database).await.unwrap();
    let nodes = [node(&url).await, node(&url).await];
    let author = user(&nodes[0], 1).await;
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let (node, other) = (nodes[writer as usize % 2].clone(), nodes[(writer as usize + 1) % 2].clone());
        let (user, post) = (user(&node, 10 + writer).await, post(&node, author, 100 + writer).await);
        writers.spawn(async move {
            for n in 0..LIKES {
                toggle(&node, post, user, 1_000 * writer + n).await;
                // Both nodes number events while others write.
                let (mine, theirs) = tokio::join!(node.events.refresh(), other.events.refresh());
                mine.and(theirs).unwrap();
            }
            post
        });
    }
    let posts = writers.join_all().await;
    let [one, two] = [logged(&nodes[0], 0).await, logged(&nodes[1], 0).await];
    assert_eq!(one, two);
    assert!(one.iter().map(|(number, _)| *number).eq(1..=u64::try_from(WRITERS * (LIKES + 1)).unwrap()));
    for post in posts {
        let of_post = one.iter().filter(|(_, event)| *event == Event::Liked(post)).count();
        assert_eq!(of_post, usize::try_from(LIKES).unwrap());
    }
    let late = node(&url).await;
    assert_eq!(logged(&late, 0).await, one, "one that comes later reads what is kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_log_is_replaced_by_one_with_another_epoch() {
    let (name, url) = spawn_blocking(private_postgres::fresh_database_by_name).await.unwrap();
    let node = node(&url).await;
    let author = user(&node, 1).await;
    let liked = post(&node, author, 100).await;
    let before = logged(&node, 0).await;
    let end = node.events.end();
    assert_eq!(before.len(), 1);
    // As after a crash of the server.
    let truncate = move || private_postgres::shared().session(&name).run("TRUNCATE events, event_log;");
    spawn_blocking(truncate).await.unwrap();
    toggle(&node, liked, author, 1).await;
    assert_eq!(logged(&node, 0).await, [(1, Event::Liked(liked))]);
    assert_ne!(node.events.end().epoch, end.epoch);
    assert_eq!(node.events.after(end, 10), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn old_events_are_dropped_and_reading_from_before_them_fails() {
    let (name, url) = spawn_blocking(private_postgres::fresh_database_by_name).await.unwrap();
    let nodes = [node(&url).await, node(&url).await];
    let author = user(&nodes[0], 1).await;
    let liked = post(&nodes[0], author, 100).await;
    let begin = (logged(&nodes[0], 0).await, logged(&nodes[1], 0).await);
    assert_eq!(begin.0, begin.1);
    toggle(&nodes[0], liked, author, 1).await;
    let age =
        move || private_postgres::shared().session(&name).run("UPDATE events SET at = at - interval '6 minutes';");
    spawn_blocking(age).await.unwrap();
    nodes[0].events.trim().await.unwrap();
    toggle(&nodes[0], liked, author, 2).await;
    // This node had not read one of the events before it was deleted.
    let log = &nodes[1].events;
    log.refresh().await.unwrap();
    let epoch = log.end().epoch;
    assert_eq!(log.after(Position::after(epoch, 1), 10), None);
    let kept = log.after(Position::after(epoch, 2), 10).unwrap();
    assert_eq!(kept.iter().map(|logged| (logged.number, logged.event)).collect::<Vec<_>>(), [(3, Event::Liked(liked))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn events_written_by_a_later_release_are_read_as_unknown() {
    let (name, url) = spawn_blocking(private_postgres::fresh_database_by_name).await.unwrap();
    let node = node(&url).await;
    let author = user(&node, 1).await;
    let insert = "INSERT INTO events (kind, post_id) VALUES (99, gen_random_uuid()), (5, NULL);";
    spawn_blocking(move || private_postgres::shared().session(&name).run(insert)).await.unwrap();
    let liked = post(&node, author, 100).await;
    assert_eq!(
        logged(&node, 0).await,
        [(1, Event::Unknown), (2, Event::Unknown), (3, Event::PostCreated(liked, author))]
    );
}
