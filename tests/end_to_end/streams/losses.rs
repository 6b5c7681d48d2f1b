//! Logs of events that are lost, and that are not.

use serde_json::{Value, json};
use tokio::task::block_in_place;

use super::{Nodes, publish};
use crate::client::{Client, User, eventually};
use crate::private_postgres::Server;
use crate::sse::EventStream;

/// Checks that a stream tells next that something may be missing, and then what happens.
async fn expect_reset_and_what_comes_next(api: &Client, author: &User, stream: &mut EventStream) {
    assert_eq!(stream.expect("reset").await, json!({}));
    let post = publish(api, author, "After that").await;
    assert_eq!(stream.expect("public").await, json!({ "postId": post, "authorId": author.id }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_comes_back_after_a_restart_on_sqlite_is_told_so_and_then_what_comes_next() {
    let nodes = Nodes::on_sqlite();
    let service = nodes.start(0, &[]);
    let alice = service.api.user("alice").await;
    let mut stream = EventStream::open(&service.api, &alice, "public").await;
    publish(&service.api, &alice, "Before").await;
    stream.expect("public").await;
    let before_stop = stream.last_id().to_owned();
    publish(&service.api, &alice, "Missed").await;
    service.stop();

    let service = nodes.start(0, &[]);
    let mut stream = EventStream::resume(&service.api, &alice, "public", &before_stop).await;
    expect_reset_and_what_comes_next(&service.api, &alice, &mut stream).await;
    let before_crash = stream.last_id().to_owned();
    service.kill();

    let service = nodes.start(0, &[]);
    for id in [&before_stop, &before_crash] {
        let mut stream = EventStream::resume(&service.api, &alice, "public", id).await;
        expect_reset_and_what_comes_next(&service.api, &alice, &mut stream).await;
        // From there on it can be resumed.
        let post = publish(&service.api, &alice, "And on").await;
        let mut stream = EventStream::resume(&service.api, &alice, "public", stream.last_id()).await;
        assert_eq!(stream.expect("public").await["postId"], post.as_str());
    }
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_comes_back_after_a_restart_of_a_node_on_postgresql_misses_nothing() {
    let nodes = Nodes::on_postgres(1);
    let service = nodes.start(0, &[]);
    let alice = service.api.user("alice").await;
    let mut stream = EventStream::open(&service.api, &alice, "public").await;
    let mut told = Vec::new();
    let mut posts = vec![publish(&service.api, &alice, "Told").await];
    told.push(stream.expect("public").await["postId"].clone());
    let id = stream.last_id().to_owned();
    posts.push(publish(&service.api, &alice, "Missed").await);
    service.kill();

    let service = nodes.start(0, &[]);
    posts.push(publish(&service.api, &alice, "Missed as well").await);
    let mut stream = EventStream::resume(&service.api, &alice, "public", &id).await;
    posts.push(publish(&service.api, &alice, "Told again").await);
    while told.len() < posts.len() {
        told.push(stream.expect("public").await["postId"].clone());
    }
    assert_eq!(told, posts.into_iter().map(Value::from).collect::<Vec<_>>());
    service.stop();
}

/// Waits until a service on a server that was restarted works.
async fn recovers(api: &Client, user: &User) {
    eventually("the service works", async || {
        let answer = api.get(user, "/api/posts/following/all").await;
        (answer.status == 200).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_are_told_of_a_crash_of_postgresql_and_then_what_comes_next() {
    /// More than happens after the crash.
    const BEFORE: usize = 10;
    let server = block_in_place(|| Server::start(5432, |_| "-c listen_addresses=".to_owned()));
    let nodes = Nodes::on(block_in_place(|| server.database("agora")), 1);
    let service = nodes.start(0, &[]);
    let (api, alice) = (&service.api, service.api.user("alice").await);
    let mut early = EventStream::open(api, &alice, "public").await;
    for n in 0..BEFORE {
        publish(api, &alice, &format!("Before {n}")).await;
        early.expect("public").await;
    }
    let id = early.last_id().to_owned();
    let late = EventStream::resume(api, &alice, "public", &id).await;
    block_in_place(|| server.kill());
    block_in_place(|| server.restart());
    recovers(api, &alice).await;
    let resumed = EventStream::resume(api, &alice, "public", &id).await;
    let mut streams = [("open since the beginning", early), ("open", late), ("resumed", resumed)];
    for (_, stream) in &mut streams {
        assert_eq!(stream.expect("reset").await, json!({}));
    }
    let after = publish(api, &alice, "After that").await;
    for (which, mut stream) in streams {
        let mut event = stream.next().await;
        // One that came back while the loss was noticed may be told of it twice.
        while event.name == "reset" {
            event = stream.next().await;
        }
        assert_eq!((event.name.as_str(), &event.data["postId"]), ("public", &json!(after)), "{which}");
    }
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_miss_nothing_over_an_ordinary_restart_of_postgresql() {
    let server = block_in_place(|| Server::start(5432, |_| "-c listen_addresses=".to_owned()));
    let nodes = Nodes::on(block_in_place(|| server.database("agora")), 1);
    let service = nodes.start(0, &[]);
    let (api, alice) = (&service.api, service.api.user("alice").await);
    let mut open = EventStream::open(api, &alice, "public").await;
    publish(api, &alice, "Before").await;
    open.expect("public").await;
    let id = open.last_id().to_owned();
    let missed = publish(api, &alice, "Missed").await;
    block_in_place(|| server.stop());
    block_in_place(|| server.restart());
    recovers(api, &alice).await;
    let after = publish(api, &alice, "After").await;
    let mut resumed = EventStream::resume(api, &alice, "public", &id).await;
    for stream in [&mut open, &mut resumed] {
        for post in [&missed, &after] {
            assert_eq!(stream.expect("public").await["postId"], post.as_str());
        }
    }
    service.stop();
}
