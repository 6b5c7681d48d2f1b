//! The end of streams: at SIGTERM, of readers that do not read or disconnect, and of sessions that end.

use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::{JoinSet, block_in_place};
use tokio::time::timeout;

use super::{Nodes, apis, expect_no_repetition, metric, publish, stop, ticket, users, with_ticket};
use crate::client::{Client, HANG, User, eventually};
use crate::private_postgres;
use crate::process::Service;
use crate::sse::{Event, EventStream, Parser, listening};

/// A stream that is opened but not read.
struct Unread(TcpStream);

impl Unread {
    async fn open(service: &Service, user: &User, topics: &str) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let mut stream = socket.connect(service.address.parse().unwrap()).await.unwrap();
        let head = format!(
            "GET /api/events?topics={topics} HTTP/1.1\r\nHost: agora\r\n{}Connection: close\r\n\r\n",
            user.authorization()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut first = [0; 12];
        timeout(HANG, stream.read_exact(&mut first)).await.expect("a response").unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        Self(stream)
    }

    /// Finally reads the stream to its end; returns the events and the last id.
    async fn read(mut self) -> (Vec<Event>, String) {
        let mut bytes = Vec::new();
        timeout(HANG, self.0.read_to_end(&mut bytes)).await.expect("the stream ends").unwrap();
        let mut rest = bytes.as_slice();
        while !take_line(&mut rest).is_empty() {}
        // Chunks: each is its length, its bytes and an end of line; the last one is empty.
        let mut parser = Parser::default();
        while let length @ 1.. = usize::from_str_radix(take_line(&mut rest), 16).unwrap() {
            parser.push(rest.split_off(..length).unwrap());
            assert_eq!(take_line(&mut rest), "");
        }
        let mut events = Vec::new();
        while let Some(event) = parser.take() {
            events.push(event);
        }
        (events, parser.last_id().to_owned())
    }
}

/// Removes and returns the first line.
fn take_line<'a>(bytes: &mut &'a [u8]) -> &'a str {
    let end = bytes.windows(2).position(|two| two == b"\r\n").unwrap();
    let line = bytes.split_off(..end + 2).unwrap();
    str::from_utf8(&line[..end]).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stream_of_a_slow_reader_is_ended_without_delaying_others_and_can_be_resumed() {
    /// The number of events in a batch: fewer than the queue of a reader holds.
    const BATCH: usize = 200;
    /// The number of batches that certainly exceeds that queue and the buffers of the connection.
    const MAX_BATCHES: usize = 300;
    let (database, url) = block_in_place(private_postgres::fresh_database_by_name);
    let nodes = Nodes::on(url, 1);
    let mut service = nodes.start(0, &[("AGORA_METRICS_LISTEN", "127.0.0.1:0"), ("AGORA_CLIENT_TIMEOUT", "10m")]);
    let metrics = service.line("Metrics: ");
    let api = service.api.clone();
    let (alice, reader, slow) = (api.user("alice").await, api.user("reader").await, api.user("slow").await);
    let post = publish(&api, &alice, "Look").await;
    let mut stream = EventStream::open(&api, &reader, "public").await;
    let unread = Unread::open(&service, &slow, "public").await;
    let memory = service.memory();
    let mut session = block_in_place(|| private_postgres::shared().session(&database));
    // As if the post were published again and again.
    let events = format!(
        "INSERT INTO events (kind, post_id, user_id) SELECT 0, '{post}', '{}' FROM generate_series(1, {BATCH});",
        alice.id
    );
    let mut received = Vec::new();
    let mut times = 0;
    while metric(&metrics, "agora_event_streams_ended_total{reason=\"too_slow\"}").await == 0.0 {
        assert!(times < MAX_BATCHES, "the stream is never ended");
        times += 1;
        block_in_place(|| session.run(&events));
        for _ in 0..BATCH {
            received.push(stream.next().await);
        }
    }
    let last = publish(&api, &alice, "After that").await;
    while received.last().is_none_or(|event| event.data["postId"] != last.as_str()) {
        received.push(stream.next().await);
    }
    assert!(received.iter().all(|event| event.name == "public"));
    expect_no_repetition(&received);
    let growth = service.memory().saturating_sub(memory);
    assert!(growth < 64 << 20, "{} MiB", growth >> 20);

    let (mut taken, last_id) = unread.read().await;
    let end = taken.pop().unwrap();
    assert_eq!((end.name.as_str(), &end.data), ("end", &json!({ "reason": "too_slow" })));
    assert!(taken.len() < received.len(), "the stream did not end before the last event");
    let mut stream = EventStream::resume(&api, &slow, "public", &last_id).await;
    while taken.last().is_none_or(|event| event.data["postId"] != last.as_str()) {
        taken.push(stream.next().await);
    }
    assert_eq!(taken, received);
    service.stop();
}

async fn every_stream_is_ended_at_sigterm(nodes: Nodes) {
    const ACCOUNTS: usize = 3;
    const STREAMS: usize = 10;
    let service = nodes.start(0, &[]);
    let api = service.api.clone();
    let mut streams = Vec::new();
    for user in users(&api, (0..ACCOUNTS).map(|n| format!("reader-{n}"))).await {
        for n in 0..STREAMS {
            streams.push(EventStream::open(&api, &user, ["public", "feed,notifications"][n % 2]).await);
        }
    }
    // A stream that is not read does not prevent the exit.
    let silent = Unread::open(&service, &api.user("silent").await, "public").await;
    service.signal("TERM");
    for stream in streams {
        assert_eq!(stream.reason().await, "shutting_down");
    }
    service.finish().expect_success();
    drop(silent);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_stream_is_ended_at_sigterm_and_the_service_stops_on_sqlite() {
    every_stream_is_ended_at_sigterm(Nodes::on_sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_stream_is_ended_at_sigterm_and_the_service_stops_on_postgresql() {
    every_stream_is_ended_at_sigterm(Nodes::on_postgres(1)).await;
}

async fn set_enabled(api: &Client, root: &User, user: &User, is_enabled: bool) {
    let path = format!("/api/users/{}/enabled", user.id);
    api.call_json(root, Method::PUT, &path, json!({ "enabled": is_enabled })).await.expect(200);
}

async fn streams_of_ended_sessions_end(nodes: Nodes) {
    let services = nodes.start_all(&[]);
    let apis = apis(&services);
    let here = &apis[0];
    let root = here.log_in("root").await;
    let (alice, bob) = (here.user("alice").await, here.user("bob").await);
    // Another session of the same account.
    let other = here.log_in("alice").await;
    let (mut of_alice, mut of_bob, mut of_other) = (Vec::new(), Vec::new(), Vec::new());
    for api in &apis {
        of_alice.push(EventStream::open(api, &alice, "public").await);
        of_bob.push(EventStream::open(api, &bob, "notifications,feed").await);
        of_other.push(EventStream::open(api, &other, "public").await);
    }
    here.call(&alice, Method::POST, "/api/auth/logout").await.expect(200);
    set_enabled(here, &root, &bob, false).await;
    for stream in of_alice.into_iter().chain(of_bob) {
        assert_eq!(stream.reason().await, "session_ended");
    }
    // The streams of the other session are still open.
    let post = publish(here, &root, "Still here").await;
    for mut stream in of_other {
        assert_eq!(stream.expect("public").await["postId"], post.as_str());
    }
    stop(services);
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_of_a_session_that_was_revoked_and_of_a_disabled_account_end_on_sqlite() {
    streams_of_ended_sessions_end(Nodes::on_sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_of_a_session_that_was_revoked_and_of_a_disabled_account_end_on_both_nodes() {
    streams_of_ended_sessions_end(Nodes::on_postgres(2)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_its_token() {
    let ends = async |nodes: Nodes| {
        let service = nodes.start(0, &[("AGORA_TOKEN_LIFETIME", "20s")]);
        let alice = service.api.user("alice").await;
        let ticket = ticket(&service.api, &alice).await;
        let by_header = EventStream::open(&service.api, &alice, "public").await;
        // Also a stream that was opened with a ticket.
        let by_ticket = EventStream::of(with_ticket(&service.api, &ticket).timeout(HANG)).await;
        assert_eq!(by_header.reason().await, "token_expired");
        assert_eq!(by_ticket.reason().await, "token_expired");
        service.stop();
    };
    tokio::join!(ends(Nodes::on_sqlite()), ends(Nodes::on_postgres(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_streams_that_disconnect_are_all_closed() {
    const ACCOUNTS: usize = 100;
    /// As many as the streams that an account may have open.
    const ROUNDS: usize = 10;
    let nodes = Nodes::on_sqlite();
    let mut service = nodes.start(0, &[("AGORA_METRICS_LISTEN", "127.0.0.1:0")]);
    let metrics = service.line("Metrics: ");
    let api = service.api.clone();
    let users = users(&api, (0..ACCOUNTS).map(|n| format!("reader-{n}"))).await;
    for round in 0..ROUNDS {
        let mut visits = JoinSet::new();
        for (n, user) in users.iter().enumerate() {
            let (request, address) = (listening(&api, user, "public", None), service.address.clone());
            let head = format!("GET /api/events?topics=feed HTTP/1.1\r\nHost: agora\r\n{}\r\n", user.authorization());
            visits.spawn(async move {
                match (n + round) % 3 {
                    // Disconnects before the response.
                    0 => {
                        let mut stream = TcpStream::connect(address).await.unwrap();
                        stream.write_all(head.as_bytes()).await.unwrap();
                    }
                    // Disconnects after the head of the response.
                    1 => assert_eq!(request.send().await.unwrap().status(), 200),
                    // Disconnects once the stream has begun.
                    _ => drop(EventStream::of(request).await),
                }
            });
        }
        visits.join_all().await;
    }
    eventually("no stream is left", async || (metric(&metrics, "agora_event_streams").await == 0.0).then_some(()))
        .await;
    // And each account may have all of its streams again.
    let mut streams = Vec::new();
    for _ in 0..ROUNDS {
        streams.push(EventStream::open(&api, &users[0], "public").await);
    }
    let post = publish(&api, &users[1], "Hello").await;
    for stream in &mut streams {
        assert_eq!(stream.expect("public").await["postId"], post.as_str());
    }
    assert_eq!(metric(&metrics, "agora_event_streams").await, 10.0);
    drop(streams);
    service.stop();
}
