//! Readers that resume after disconnects and after their node was killed.

use std::collections::BTreeSet;
use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use reqwest::Method;
use serde_json::json;

use super::{Nodes, apis, expect_no_repetition, publish, stop, users};
use crate::client::{Client, User, eventually, text};
use crate::sse::{Event, EventStream};

/// A pseudorandom number generator (xorshift), which yields the same numbers in each run.
struct Rng(u64);

impl Rng {
    fn up_to(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (most as u64 + 1)).unwrap()
    }
}

/// Returns the approximate number of events in a test of readers that disconnect.
fn events_to_make() -> usize {
    env::var("AGORA_TEST_EVENTS").map_or(600, |count| count.parse().unwrap())
}

/// The acknowledged writes of one writer, in order.
#[derive(Debug, Default)]
struct Acknowledged {
    posts: Vec<String>,
    comments: Vec<String>,
    likes: usize,
}

/// In each round publishes a post, comments on `post`, and toggles a like of it. Requests go to the nodes in rotation.
async fn write(nodes: Vec<Client>, user: User, post: String, rounds: usize) -> Acknowledged {
    let mut rotation = nodes.iter().cycle();
    let mut next = || rotation.next().unwrap();
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

/// A reader that disconnects and resumes repeatedly.
struct Reader {
    nodes: Vec<Client>,
    user: User,
    topics: String,
    /// The id of the account that publishes the last post.
    herald: String,
    stream: EventStream,
    rng: Rng,
}

impl Reader {
    async fn open(nodes: &[Client], user: User, topics: &str, herald: &User, seed: usize) -> Self {
        let stream = EventStream::open(&nodes[seed % nodes.len()], &user, topics).await;
        let rng = Rng(0x9e37_79b9_7f4a_7c15 ^ (seed as u64 + 1));
        Self { nodes: nodes.to_vec(), user, topics: topics.to_owned(), herald: herald.id.clone(), stream, rng }
    }

    /// Returns whether this is the last event that the reader should receive.
    fn is_last(&self, event: &Event) -> bool {
        let is_of_herald = || event.data["authorId"] == self.herald.as_str();
        event.name == "post" || (!self.topics.contains("post:") && event.name == "public" && is_of_herald())
    }

    /// Reads up to the last event. Disconnects repeatedly, and resumes after the last received event, each time at another node.
    async fn read(mut self) -> Vec<Event> {
        let mut received = Vec::new();
        for connection in 0.. {
            for _ in 0..self.rng.up_to(40) {
                let event = self.stream.next().await;
                if event.name == "end" {
                    // The service ends the stream of a reader that is too slow, which may resume.
                    assert_eq!(event.data, json!({ "reason": "too_slow" }));
                    break;
                }
                let is_last = self.is_last(&event);
                received.push(event);
                if is_last {
                    return received;
                }
            }
            let api = &self.nodes[connection % self.nodes.len()];
            self.stream = EventStream::resume(api, &self.user, &self.topics, self.stream.last_id()).await;
        }
        received
    }
}

/// Returns the ids of the events of this name, each with this field of its data.
fn select(events: &[Event], name: &str, field: &str) -> Vec<(String, String)> {
    let of_name = events.iter().filter(|event| event.name == name);
    of_name.map(|event| (event.id.clone(), text(&event.data[field]))).collect()
}

/// Checks that the events of a writer are those that were acknowledged, in the same order.
#[track_caller]
fn expect_in_order(received: &[(String, String)], acknowledged: &[String]) {
    let own: BTreeSet<_> = acknowledged.iter().collect();
    let of_writer: Vec<_> = received.iter().map(|(_, what)| what).filter(|what| own.contains(what)).collect();
    assert_eq!(of_writer, acknowledged.iter().collect::<Vec<_>>());
}

async fn expect_every_event_once_despite_disconnects(nodes: Nodes) {
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
    // Streams may also deliver posts that were published just before they were opened.
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
        let received = read.await.unwrap();
        expect_no_repetition(&received);
        assert!(received.iter().all(|event| event.name != "reset"), "reader {n}: {received:?}");
        let pick = |name: &str, field: &str| select(&received, name, field);
        if n % 4 != 1 {
            let mut received = pick("public", "postId");
            received.retain(|(_, id)| *id != post);
            public.insert(received);
        }
        if n % 4 == 3 {
            let ids = |name: &str| pick(name, "postId").into_iter().map(|(_, id)| id).collect::<Vec<_>>();
            assert_eq!(ids("feed"), ids("public"), "reader {n} follows all of them");
        }
        if n % 4 == 1 || n % 4 == 2 {
            comments.insert(pick("comment", "commentId"));
            likes.insert(pick("like", "postId"));
            // An event has the count at its time: that of the last one is the current count.
            let like = received.iter().rfind(|event| event.name == "like").unwrap();
            assert_eq!(like.data["likeCount"], api.view(&herald, &post).await["likeCount"]);
        }
    }
    // All readers received the same events with the same ids in the same order.
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
async fn readers_that_disconnect_receive_every_event_once_on_sqlite() {
    expect_every_event_once_despite_disconnects(Nodes::on_sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_that_disconnect_receive_every_event_once_on_postgresql() {
    expect_every_event_once_despite_disconnects(Nodes::on_postgres(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_that_alternate_between_two_nodes_receive_every_event_once() {
    expect_every_event_once_despite_disconnects(Nodes::on_postgres(2)).await;
}

/// Publishes posts until the node is killed; returns the acknowledged ones.
async fn publish_until_killed(api: Client, user: User, published: Arc<AtomicUsize>) -> Vec<String> {
    let mut posts = Vec::new();
    loop {
        let request = api.request_as(&user, Method::POST, "/api/posts/create").json(&json!({ "text": "Hello" }));
        let Some(response) = api.try_send(request).await else { return posts };
        posts.push(text(&response.expect(201).data()["id"]));
        published.fetch_add(1, Ordering::Relaxed);
    }
}

/// Reads at one node until it is killed, then resumes at another and reads up to a post of `herald`.
async fn read_and_resume(mut stream: EventStream, other: Client, user: User, herald: User) -> Vec<Event> {
    let mut received = Vec::new();
    while let Ok(Some(event)) = stream.try_next().await {
        received.push(event);
    }
    let mut stream = EventStream::resume(&other, &user, "public", stream.last_id()).await;
    loop {
        let event = stream.next().await;
        let is_last = event.data["authorId"] == herald.id.as_str();
        received.push(event);
        if is_last {
            return received;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_of_a_killed_node_resume_at_another_without_a_gap() {
    const READERS: usize = 20;
    const WRITERS: usize = 4;
    let nodes = Nodes::on_postgres(2);
    let (dying, other) = (nodes.start(0, &[]), nodes.start(1, &[]));
    let api = &dying.api;
    let herald = api.user("herald").await;
    let mut reads = Vec::new();
    for user in users(api, (0..READERS).map(|n| format!("reader-{n}"))).await {
        let stream = EventStream::open(api, &user, "public").await;
        reads.push(tokio::spawn(read_and_resume(stream, other.api.clone(), user, herald.clone())));
    }
    let published = Arc::new(AtomicUsize::new(0));
    let mut writes = Vec::new();
    for user in users(api, (0..WRITERS).map(|n| format!("writer-{n}"))).await {
        writes.push(tokio::spawn(publish_until_killed(api.clone(), user, Arc::clone(&published))));
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
        let received = read.await.unwrap();
        expect_no_repetition(&received);
        assert!(received.iter().all(|event| event.name == "public"), "{received:?}");
        all.insert(select(&received, "public", "postId"));
    }
    assert_eq!(all.len(), 1, "{all:#?}");
    let received = all.first().unwrap();
    assert_eq!(received.last().map(|(_, id)| id), Some(&last));
    for posts in &acknowledged {
        expect_in_order(received, posts);
    }
    other.stop();
}
