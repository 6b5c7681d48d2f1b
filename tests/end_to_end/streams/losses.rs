//! Restarts and crashes that lose the log of events, and those that do not.

use serde_json::{Value, json};
use tokio::task::block_in_place;

use super::{Nodes, publish};
use crate::client::{Client, User, eventually};
use crate::private_postgres::Server;
use crate::sse::EventStream;

/// Checks that the next event of a stream is `reset`, and that new events follow.
async fn expect_reset_and_new_events(api: &Client, author: &User, stream: &mut EventStream) {
    assert_eq!(stream.expect("reset").await, json!({}));
    let post = publish(api, author, "After that").await;
    assert_eq!(stream.expect("public").await, json!({ "postId": post, "authorId": author.id }));
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restart_on_sqlite_a_resumed_stream_has_a_reset_and_then_new_events() {
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
    expect_reset_and_new_events(&service.api, &alice, &mut stream).await;
    let before_crash = stream.last_id().to_owned();
    service.kill();

    let service = nodes.start(0, &[]);
    for id in [&before_stop, &before_crash] {
        let mut stream = EventStream::resume(&service.api, &alice, "public", id).await;
        expect_reset_and_new_events(&service.api, &alice, &mut stream).await;
        // The id of the new event can be resumed from.
        let post = publish(&service.api, &alice, "And on").await;
        let mut stream = EventStream::resume(&service.api, &alice, "public", stream.last_id()).await;
        assert_eq!(stream.expect("public").await["postId"], post.as_str());
    }
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restart_of_a_node_on_postgresql_a_resumed_stream_misses_no_event() {
    let nodes = Nodes::on_postgres(1);
    let service = nodes.start(0, &[]);
    let alice = service.api.user("alice").await;
    let mut stream = EventStream::open(&service.api, &alice, "public").await;
    let mut received = Vec::new();
    let mut posts = vec![publish(&service.api, &alice, "Told").await];
    received.push(stream.expect("public").await["postId"].clone());
    let id = stream.last_id().to_owned();
    posts.push(publish(&service.api, &alice, "Missed").await);
    service.kill();

    let service = nodes.start(0, &[]);
    posts.push(publish(&service.api, &alice, "Missed as well").await);
    let mut stream = EventStream::resume(&service.api, &alice, "public", &id).await;
    posts.push(publish(&service.api, &alice, "Told again").await);
    while received.len() < posts.len() {
        received.push(stream.expect("public").await["postId"].clone());
    }
    assert_eq!(received, posts.into_iter().map(Value::from).collect::<Vec<_>>());
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
async fn after_a_crash_of_postgresql_streams_have_a_reset_and_then_new_events() {
    /// More events than occur after the crash.
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
        // A stream that was resumed while the loss was being detected may have two resets.
        while event.name == "reset" {
            event = stream.next().await;
        }
        assert_eq!((event.name.as_str(), &event.data["postId"]), ("public", &json!(after)), "{which}");
    }
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_miss_no_event_during_an_ordinary_restart_of_postgresql() {
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
