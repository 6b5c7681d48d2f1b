//! Live updates: what readers are told, over lost connections, slow readers, ended sessions, crashes and several nodes.

use std::collections::BTreeSet;
use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::{JoinSet, block_in_place};
use tokio::time::timeout;

use crate::client::{Client, HANG, PASSWORD, User, eventually, text};
use crate::private_postgres;
use crate::private_postgres::Server;
use crate::process::{Home, Service};
use crate::sse::{Event, EventStream, Parser, listening};

/// The nodes of one test, each with a data directory of its own.
struct Nodes {
    homes: Vec<Home>,
    /// The URL of the PostgreSQL database that they share; without one, there is one node on SQLite.
    database: Option<String>,
}

impl Nodes {
    fn on_sqlite() -> Self {
        Self { homes: vec![Home::new()], database: None }
    }

    fn on_postgres(count: usize) -> Self {
        Self::on(block_in_place(private_postgres::fresh_database), count)
    }

    fn on(database: String, count: usize) -> Self {
        Self { homes: (0..count).map(|_| Home::new()).collect(), database: Some(database) }
    }

    /// Starts a node, with an administrator `root`.
    fn start(&self, node: usize, further: &[(&str, &str)]) -> Service {
        let mut variables = vec![
            ("AGORA_ADMIN_USERNAME", "root"),
            ("AGORA_ADMIN_EMAIL", "root@example.org"),
            ("AGORA_ADMIN_PASSWORD", PASSWORD),
            ("AGORA_JWT_SECRET", "a secret that all nodes have in common"),
        ];
        if let Some(url) = &self.database {
            variables.extend([("AGORA_DATABASE_URL", url.as_str()), ("AGORA_MEDIA_URL", "memory:")]);
        }
        variables.extend(further);
        block_in_place(|| self.homes[node].start_with(&variables))
    }

    fn start_all(&self, further: &[(&str, &str)]) -> Vec<Service> {
        (0..self.homes.len()).map(|node| self.start(node, further)).collect()
    }
}

fn apis(nodes: &[Service]) -> Vec<Client> {
    nodes.iter().map(|node| node.api.clone()).collect()
}

fn stop(nodes: Vec<Service>) {
    for node in nodes {
        node.stop();
    }
}

/// Registers accounts of these names.
async fn users(api: &Client, names: impl Iterator<Item = String>) -> Vec<User> {
    let registered = names.map(|name| {
        let api = api.clone();
        async move { api.user(&name).await }
    });
    futures_util::future::join_all(registered).await
}

/// Publishes a post; its id.
async fn publish(api: &Client, author: &User, content: &str) -> String {
    text(&api.post(author, content, None).await["id"])
}

/// The value of a metric.
async fn metric(address: &str, name: &str) -> f64 {
    let page = Client::new(address).fetch("").await.expect(200).text();
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name}:\n{page}")).parse().unwrap()
}

/// Numbers that look like drawn ones, the same in each run.
struct Draw(u64);

impl Draw {
    fn up_to(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (most as u64 + 1)).unwrap()
    }
}

// Readers that are cut.

/// How many events a test of readers that are cut makes, about.
fn events_to_make() -> usize {
    env::var("AGORA_TEST_EVENTS").map_or(600, |count| count.parse().unwrap())
}

/// What one writer was acknowledged, in order.
#[derive(Debug, Default)]
struct Acknowledged {
    posts: Vec<String>,
    comments: Vec<String>,
    likes: usize,
}

/// Publishes, comments on a post and likes it or takes that back, so many times, with each request at another node.
async fn write(nodes: Vec<Client>, user: User, post: String, rounds: usize) -> Acknowledged {
    let mut turns = nodes.iter().cycle();
    let mut next = || turns.next().unwrap();
    let mut acknowledged = Acknowledged::default();
    for n in 0..rounds {
        let content = format!("{} {n}", user.name);
        let body = json!({ "text": content });
        let published = next().call_json(&user, Method::POST, "/api/posts/create", body).await.expect(201).data();
        acknowledged.posts.push(text(&published["id"]));
        let (path, body) = (format!("/api/posts/{post}/comments"), json!({ "content": content }));
        let commented = next().call_json(&user, Method::POST, &path, body).await.expect(201).data();
        acknowledged.comments.push(text(&commented["id"]));
        next().call(&user, Method::POST, &format!("/api/posts/like/{post}")).await.expect(200);
        acknowledged.likes += 1;
    }
    acknowledged
}

/// One who listens over many connections.
struct Reader {
    nodes: Vec<Client>,
    user: User,
    topics: String,
    /// Who publishes last.
    herald: String,
    stream: EventStream,
    draw: Draw,
}

impl Reader {
    async fn open(nodes: &[Client], user: User, topics: &str, herald: &User, seed: usize) -> Self {
        let stream = EventStream::open(&nodes[seed % nodes.len()], &user, topics).await;
        let draw = Draw(0x9e37_79b9_7f4a_7c15 ^ (seed as u64 + 1));
        Self { nodes: nodes.to_vec(), user, topics: topics.to_owned(), herald: herald.id.clone(), stream, draw }
    }

    /// Whether this is the last event of all.
    fn is_last(&self, event: &Event) -> bool {
        let is_of_herald = || event.data["authorId"] == self.herald.as_str();
        event.name == "post" || (!self.topics.contains("post:") && event.name == "public" && is_of_herald())
    }

    /// Reads to the last event; is cut again and again, and goes on behind what it was told, each time at another node.
    async fn read(mut self) -> Vec<Event> {
        let mut told = Vec::new();
        for turn in 0.. {
            for _ in 0..self.draw.up_to(40) {
                let event = self.stream.next().await;
                if event.name == "end" {
                    // Ended, since it did not keep up: it may come back.
                    assert_eq!(event.data, json!({ "reason": "too_slow" }));
                    break;
                }
                let is_last = self.is_last(&event);
                told.push(event);
                if is_last {
                    return told;
                }
            }
            let api = &self.nodes[turn % self.nodes.len()];
            self.stream = EventStream::resume(api, &self.user, &self.topics, self.stream.last_id()).await;
        }
        told
    }
}

/// Returns what a reader was told by events of this name: their ids, and this field of their data.
fn told_by(events: &[Event], name: &str, field: &str) -> Vec<(String, String)> {
    let of_name = events.iter().filter(|event| event.name == name);
    of_name.map(|event| (event.id.clone(), text(&event.data[field]))).collect()
}

/// Checks that nothing is there twice.
#[track_caller]
fn expect_no_repetition(events: &[Event]) {
    let mut ids = BTreeSet::new();
    let repeated: Vec<_> = events.iter().filter(|event| !ids.insert(&event.id)).collect();
    assert!(repeated.is_empty(), "{repeated:?}");
}

/// Checks that what a writer was acknowledged was told, in this order.
#[track_caller]
fn expect_in_order(told: &[(String, String)], acknowledged: &[String]) {
    let own: BTreeSet<_> = acknowledged.iter().collect();
    let of_writer: Vec<_> = told.iter().map(|(_, what)| what).filter(|what| own.contains(what)).collect();
    assert_eq!(of_writer, acknowledged.iter().collect::<Vec<_>>());
}

async fn is_told_everything_once_over_cuts(nodes: Nodes) {
    const READERS: usize = 50;
    const WRITERS: usize = 5;
    let services = nodes.start_all(&[]);
    let apis = apis(&services);
    let api = &apis[0];
    let herald = api.user("herald").await;
    let post = publish(api, &herald, "Talk to me").await;
    let writers = users(api, (0..WRITERS).map(|n| format!("writer-{n}"))).await;
    let mut readers = Vec::new();
    for (n, user) in users(api, (0..READERS).map(|n| format!("reader-{n}"))).await.into_iter().enumerate() {
        let topics = match n % 4 {
            0 => "public".to_owned(),
            1 => format!("post:{post}"),
            2 => format!("public,post:{post}"),
            _ => "feed,public".to_owned(),
        };
        if topics.contains("feed") {
            for followed in writers.iter().chain([&herald]) {
                api.call(&user, Method::PUT, &format!("/api/follow/follow/{}", followed.id)).await.expect(200);
            }
        }
        readers.push(Reader::open(&apis, user, &topics, &herald, n).await);
    }
    // What was published before may be told to those who open a stream right after it.
    let reads: Vec<_> = readers.into_iter().map(|reader| tokio::spawn(reader.read())).collect();
    let rounds = events_to_make().div_ceil(3 * WRITERS);
    let writes: Vec<_> =
        writers.iter().map(|user| tokio::spawn(write(apis.clone(), user.clone(), post.clone(), rounds))).collect();
    let mut acknowledged = Vec::new();
    for write in writes {
        acknowledged.push(write.await.unwrap());
    }
    let last = publish(api, &herald, "That is all").await;
    let edited = json!({ "text": "Thank you" });
    api.call_json(&herald, Method::PUT, &format!("/api/posts/update/{post}"), edited).await.expect(200);

    let (mut public, mut comments, mut likes) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for (n, read) in reads.into_iter().enumerate() {
        let told = read.await.unwrap();
        expect_no_repetition(&told);
        assert!(told.iter().all(|event| event.name != "reset"), "reader {n}: {told:?}");
        let told_of = |name: &str, field: &str| told_by(&told, name, field);
        if n % 4 != 1 {
            let mut told = told_of("public", "postId");
            told.retain(|(_, id)| *id != post);
            public.insert(told);
        }
        if n % 4 == 3 {
            let ids = |name: &str| told_of(name, "postId").into_iter().map(|(_, id)| id).collect::<Vec<_>>();
            assert_eq!(ids("feed"), ids("public"), "reader {n} follows all of them");
        }
        if n % 4 == 1 || n % 4 == 2 {
            comments.insert(told_of("comment", "commentId"));
            likes.insert(told_of("like", "postId"));
            // The number when it was told: of the last one, that which is.
            let like = told.iter().rfind(|event| event.name == "like").unwrap();
            assert_eq!(like.data["likeCount"], api.view(&herald, &post).await["likeCount"]);
        }
    }
    // The same events with the same ids in the same order.
    assert_eq!((public.len(), comments.len(), likes.len()), (1, 1, 1), "{public:#?} {comments:#?} {likes:#?}");
    let (public, comments, likes) = (public.first().unwrap(), comments.first().unwrap(), likes.first().unwrap());
    assert_eq!(public.last().map(|(_, id)| id), Some(&last));
    assert_eq!(public.len(), WRITERS * rounds + 1);
    assert_eq!(comments.len(), WRITERS * rounds);
    assert_eq!(likes.len(), acknowledged.iter().map(|acknowledged| acknowledged.likes).sum::<usize>());
    for Acknowledged { posts, comments: commented, .. } in &acknowledged {
        expect_in_order(public, posts);
        expect_in_order(comments, commented);
    }
    stop(services);
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_that_are_cut_are_told_everything_once_on_sqlite() {
    is_told_everything_once_over_cuts(Nodes::on_sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_that_are_cut_are_told_everything_once_on_postgresql() {
    is_told_everything_once_over_cuts(Nodes::on_postgres(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_that_are_cut_are_told_everything_once_by_two_nodes_in_turns() {
    is_told_everything_once_over_cuts(Nodes::on_postgres(2)).await;
}

// Nodes that end.

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
    // One who does not read does not keep it from ending.
    let silent = Unread::open(&service, &api.user("silent").await, "public").await;
    service.tell("TERM");
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

/// Publishes posts until the node is gone; those that were acknowledged.
async fn publish_until_it_is_gone(api: Client, user: User, published: Arc<AtomicUsize>) -> Vec<String> {
    let mut posts = Vec::new();
    loop {
        let request = api.request_as(&user, Method::POST, "/api/posts/create").json(&json!({ "text": "Hello" }));
        let Some(response) = api.try_send(request).await else { return posts };
        posts.push(text(&response.expect(201).data()["id"]));
        published.fetch_add(1, Ordering::Relaxed);
    }
}

/// Reads at one node until that is gone, then at another up to a post of `herald`.
async fn read_on_elsewhere(mut stream: EventStream, other: Client, user: User, herald: User) -> Vec<Event> {
    let mut told = Vec::new();
    while let Ok(Some(event)) = stream.try_next().await {
        told.push(event);
    }
    let mut stream = EventStream::resume(&other, &user, "public", stream.last_id()).await;
    loop {
        let event = stream.next().await;
        let is_last = event.data["authorId"] == herald.id.as_str();
        told.push(event);
        if is_last {
            return told;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_of_a_node_that_was_killed_go_on_at_another_without_a_gap() {
    const READERS: usize = 20;
    const WRITERS: usize = 4;
    let nodes = Nodes::on_postgres(2);
    let (dying, other) = (nodes.start(0, &[]), nodes.start(1, &[]));
    let api = &dying.api;
    let herald = api.user("herald").await;
    let mut reads = Vec::new();
    for user in users(api, (0..READERS).map(|n| format!("reader-{n}"))).await {
        let stream = EventStream::open(api, &user, "public").await;
        reads.push(tokio::spawn(read_on_elsewhere(stream, other.api.clone(), user, herald.clone())));
    }
    let published = Arc::new(AtomicUsize::new(0));
    let mut writes = Vec::new();
    for user in users(api, (0..WRITERS).map(|n| format!("writer-{n}"))).await {
        writes.push(tokio::spawn(publish_until_it_is_gone(api.clone(), user, Arc::clone(&published))));
    }
    eventually("enough is published", async || (published.load(Ordering::Relaxed) >= 100).then_some(())).await;
    dying.kill();
    let mut acknowledged = Vec::new();
    for write in writes {
        acknowledged.push(write.await.unwrap());
    }
    let last = publish(&other.api, &herald, "It is gone").await;
    let mut all = BTreeSet::new();
    for read in reads {
        let told = read.await.unwrap();
        expect_no_repetition(&told);
        assert!(told.iter().all(|event| event.name == "public"), "{told:?}");
        all.insert(told_by(&told, "public", "postId"));
    }
    assert_eq!(all.len(), 1, "{all:#?}");
    let told = all.first().unwrap();
    assert_eq!(told.last().map(|(_, id)| id), Some(&last));
    for posts in &acknowledged {
        expect_in_order(told, posts);
    }
    other.stop();
}

// Readers that do not read.

/// A stream whose reader takes nothing.
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
        timeout(HANG, stream.read_exact(&mut first)).await.expect("no response comes").unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        Self(stream)
    }

    /// Reads everything after all, to the end of the stream; the last id as well.
    async fn read(mut self) -> (Vec<Event>, String) {
        let mut bytes = Vec::new();
        timeout(HANG, self.0.read_to_end(&mut bytes)).await.expect("it has no end").unwrap();
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

/// Takes a line from the beginning of bytes.
fn take_line<'a>(bytes: &mut &'a [u8]) -> &'a str {
    let end = bytes.windows(2).position(|two| two == b"\r\n").unwrap();
    let line = bytes.split_off(..end + 2).unwrap();
    str::from_utf8(&line[..end]).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_takes_nothing_is_ended_while_others_are_told_and_is_told_the_rest_when_it_comes_back() {
    /// How many events are made at a time: fewer than may wait for a reader.
    const AT_ONCE: usize = 200;
    /// What the system keeps for a connection, and what may wait, is less than so many of them.
    const TIMES: usize = 300;
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
        "INSERT INTO events (kind, post_id, user_id) SELECT 0, '{post}', '{}' FROM generate_series(1, {AT_ONCE});",
        alice.id
    );
    let mut told = Vec::new();
    let mut times = 0;
    while metric(&metrics, "agora_event_streams_ended_total{reason=\"too_slow\"}").await == 0.0 {
        assert!(times < TIMES, "it is never ended");
        times += 1;
        block_in_place(|| session.run(&events));
        for _ in 0..AT_ONCE {
            told.push(stream.next().await);
        }
    }
    let last = publish(&api, &alice, "After that").await;
    while told.last().is_none_or(|event| event.data["postId"] != last.as_str()) {
        told.push(stream.next().await);
    }
    assert!(told.iter().all(|event| event.name == "public"));
    expect_no_repetition(&told);
    let growth = service.memory().saturating_sub(memory);
    assert!(growth < 64 << 20, "{} MiB", growth >> 20);

    let (mut taken, last_id) = unread.read().await;
    let end = taken.pop().unwrap();
    assert_eq!((end.name.as_str(), &end.data), ("end", &json!({ "reason": "too_slow" })));
    assert!(taken.len() < told.len(), "it was not ended in between");
    let mut stream = EventStream::resume(&api, &slow, "public", &last_id).await;
    while taken.last().is_none_or(|event| event.data["postId"] != last.as_str()) {
        taken.push(stream.next().await);
    }
    assert_eq!(taken, told);
    service.stop();
}

// Listeners who may not listen any more.

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
    // That is not ended.
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
    for nodes in [Nodes::on_sqlite(), Nodes::on_postgres(1)] {
        let service = nodes.start(0, &[("AGORA_TOKEN_LIFETIME", "5s")]);
        let alice = service.api.user("alice").await;
        let ticket = ticket(&service.api, &alice).await;
        let by_header = EventStream::open(&service.api, &alice, "public").await;
        // One that was opened with a ticket as well.
        let by_ticket = EventStream::of(with_ticket(&service.api, &ticket).timeout(HANG)).await;
        assert_eq!(by_header.reason().await, "token_expired");
        assert_eq!(by_ticket.reason().await, "token_expired");
        service.stop();
    }
}

// Logs that are lost, and that are not.

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

// Tickets.

async fn ticket(api: &Client, user: &User) -> String {
    text(&api.call(user, Method::POST, "/api/events/ticket").await.expect(200).data()["ticket"])
}

fn with_ticket(api: &Client, ticket: &str) -> reqwest::RequestBuilder {
    api.request(Method::GET, &format!("/api/events?topics=public&ticket={ticket}"))
}

async fn a_ticket_works_once(nodes: Nodes) {
    const AT_ONCE: usize = 20;
    let services = nodes.start_all(&[]);
    let apis = apis(&services);
    let alice = apis[0].user("alice").await;
    // One after the other.
    for first in 0..apis.len() {
        let ticket = ticket(&apis[0], &alice).await;
        let mut stream = EventStream::of(with_ticket(&apis[first], &ticket)).await;
        for api in &apis {
            api.send(with_ticket(api, &ticket)).await.expect_failure(401);
        }
        // That one goes on.
        let post = publish(&apis[0], &alice, "Hello").await;
        while stream.expect("public").await["postId"] != post.as_str() {}
    }
    // All at once.
    let ticket = ticket(&apis[0], &alice).await;
    let mut attempts = JoinSet::new();
    for n in 0..AT_ONCE {
        let request = with_ticket(&apis[n % apis.len()], &ticket);
        attempts.spawn(async move { request.send().await.unwrap().status() });
    }
    let statuses = attempts.join_all().await;
    let opened = statuses.iter().filter(|status| **status == StatusCode::OK).count();
    let refused = statuses.iter().filter(|status| **status == StatusCode::UNAUTHORIZED).count();
    assert_eq!((opened, refused), (1, AT_ONCE - 1), "{statuses:?}");
    stop(services);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_opens_one_stream_on_sqlite() {
    a_ticket_works_once(Nodes::on_sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_opens_one_stream_when_two_nodes_are_asked() {
    a_ticket_works_once(Nodes::on_postgres(2)).await;
}

// Streams that come and go.

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_streams_that_come_and_go_leave_none_behind() {
    const ACCOUNTS: usize = 100;
    /// As many as an account may have at once.
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
                    // Gone before the response.
                    0 => {
                        let mut stream = TcpStream::connect(address).await.unwrap();
                        stream.write_all(head.as_bytes()).await.unwrap();
                    }
                    // Behind its head.
                    1 => assert_eq!(request.send().await.unwrap().status(), 200),
                    // Once it has begun.
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
