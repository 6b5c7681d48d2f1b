//! Clients that retry each write, under the same `Idempotency-Key`, until any node acknowledges it, and record what must be
//! stored. Half of them send requests to the nodes in rotation, the other half to nginx in front of the nodes.

use std::collections::BTreeMap;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, RequestBuilder};
use serde_json::json;
use tokio::sync::RwLock;
use tokio::task::JoinSet;

use crate::client::{Client, Response, User, eventually, form_bytes, key as image_key, list, text};
use crate::listeners::Listener;
use crate::nodes::Nodes;
use crate::picture::{expect_picture, picture};

/// The timeout of a request, after which a client retries it at another node.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The pause before a retry.
const PAUSE: Duration = Duration::from_millis(50);

/// What clients noticed of a fault.
#[derive(Debug, Default)]
pub(crate) struct Noticed {
    /// The longest time in which no write was acknowledged, in seconds.
    pub(crate) without_writes: f64,
    /// The longest time in which no read was answered, in seconds.
    pub(crate) without_reads: f64,
    /// The number of refused requests by status. 0 counts those without a response.
    pub(crate) refused: BTreeMap<u16, usize>,
    /// The time from the first refusal to the last, in seconds.
    pub(crate) refusing: f64,
}

/// The refused requests, and the times of the first and the last.
#[derive(Default)]
struct Refusals {
    counts: BTreeMap<u16, usize>,
    times: Option<(Instant, Instant)>,
}

impl Refusals {
    fn add(&mut self, status: u16) {
        *self.counts.entry(status).or_default() += 1;
        let now = Instant::now();
        self.times = Some(self.times.map_or((now, now), |(first, _)| (first, now)));
    }
}

/// The time of the last success of a kind of request, and the longest time between two successes.
#[derive(Default)]
struct Pace(Mutex<(Option<Instant>, Duration)>);

impl Pace {
    fn succeed(&self) {
        let (mut pace, now) = (self.0.lock().unwrap(), Instant::now());
        let gap = pace.0.map_or(Duration::ZERO, |last| now - last);
        *pace = (Some(now), pace.1.max(gap));
    }

    fn take(&self) -> f64 {
        let mut pace = self.0.lock().unwrap();
        pace.0 = Some(Instant::now());
        mem::take(&mut pace.1).as_secs_f64()
    }
}

pub(crate) struct Shared {
    nodes: Vec<Client>,
    /// The proxy in front of the nodes.
    front: [Client; 1],
    writers: Vec<User>,
    /// Follows every writer.
    pub(crate) reader: User,
    /// The texts of the acknowledged posts, by writer and id.
    published: Mutex<BTreeMap<String, BTreeMap<String, String>>>,
    /// Locked for reading by each writer during a round, and for writing to pause all writers.
    quiet: RwLock<()>,
    writes: Pace,
    reads: Pace,
    written: AtomicUsize,
    refused: Mutex<Refusals>,
    stopped: AtomicBool,
}

impl Shared {
    /// Returns the endpoints to which the client with this number sends its requests, in rotation.
    pub(crate) fn entrances(&self, number: usize) -> &[Client] {
        if number.is_multiple_of(2) { &self.nodes } else { &self.front }
    }

    /// Retries a request until a node responds with `status`, and returns that response.
    async fn send(
        &self,
        entrances: &[Client],
        first: usize,
        status: u16,
        request: impl Fn(&Client) -> RequestBuilder,
    ) -> Response {
        for attempt in 0.. {
            let api = &entrances[(first + attempt) % entrances.len()];
            let answer = api.try_send(request(api).timeout(TIMEOUT)).await;
            let answered = answer.as_ref().map_or(0, |answer| answer.status);
            match answer {
                Some(answer) if answer.status == status => return answer,
                // 409: the previous attempt is still in progress.
                Some(answer) if !matches!(answer.status, 409 | 500..) => panic!("{}: {answer:?}", api.url()),
                _ => self.refused.lock().unwrap().add(answered),
            }
            tokio::time::sleep(PAUSE).await;
        }
        unreachable!("retries never end")
    }

    async fn write(
        &self,
        entrances: &[Client],
        first: usize,
        status: u16,
        key: &str,
        request: impl Fn(&Client) -> RequestBuilder,
    ) -> Response {
        let answer = self.send(entrances, first, status, |api| request(api).header("Idempotency-Key", key)).await;
        self.writes.succeed();
        self.written.fetch_add(1, Ordering::Relaxed);
        answer
    }

    async fn read(&self, entrances: &[Client], first: usize, user: &User, path: &str) -> Response {
        let answer = self.send(entrances, first, 200, |api| api.request_as(user, Method::GET, path)).await;
        self.reads.succeed();
        answer
    }

    /// Returns the ids of the feed from its newest post to the first page with a known post.
    pub(crate) async fn newest(&self, first: usize, is_known: impl Fn(&String) -> bool) -> Vec<String> {
        let (mut newest, mut path) = (Vec::new(), Some("/api/posts/following/all?size=100".to_owned()));
        while let Some(page) = path.take() {
            let page = self.read(&self.nodes, first, &self.reader, &page).await;
            newest.extend(list(&page.data()).iter().map(|post| text(&post["id"])));
            if !newest.iter().any(&is_known) {
                path = page.next();
            }
        }
        newest
    }

    /// Reads a page repeatedly, so that reads are measured even while the writers are blocked in writes.
    async fn run_reader(self: Arc<Self>, number: usize) {
        for n in 0.. {
            if self.stopped.load(Ordering::Relaxed) {
                return;
            }
            self.read(self.entrances(number), n, &self.reader, "/api/posts/following/all?size=1").await;
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn run_writer(self: Arc<Self>, writer: usize) {
        let (user, entrances) = (&self.writers[writer], self.entrances(writer));
        for n in 0.. {
            if self.stopped.load(Ordering::Relaxed) {
                return;
            }
            let _busy = self.quiet.read().await;
            let content = format!("{} {n}", user.name);
            let key = |what: &str| format!("{what}-{content}").replace(' ', "-");
            let post = self
                .write(entrances, n, 201, &key("post"), |api| posting(api, user, &content, n.is_multiple_of(5)))
                .await
                .data();
            let id = text(&post["id"]);
            let before =
                self.published.lock().unwrap().entry(user.id.clone()).or_default().insert(id.clone(), content.clone());
            assert_eq!(before, None, "acknowledged twice");
            // What one node has acknowledged is visible on another, whatever happens in between.
            let path = format!("/api/posts/by-id/{id}");
            assert_eq!(self.read(entrances, n + 1, user, &path).await.data()["content"], content);
            if !post["image"].is_null() {
                let image = self.read(entrances, n + 2, user, &format!("/media/{}", image_key(&post["image"]))).await;
                expect_picture(&image.body);
            }
            let comments = format!("/api/posts/{id}/comments");
            self.write(entrances, n + 1, 201, &key("comment"), |api| {
                api.request_as(user, Method::POST, &comments).json(&json!({ "content": content }))
            })
            .await;
            // A toggle, sent again under the same key: a second execution would remove the like.
            let like = format!("/api/posts/like/{id}");
            self.write(entrances, n + 2, 200, &key("like"), |api| api.request_as(user, Method::POST, &like)).await;
            let seen = self.read(entrances, n, user, &path).await.data();
            assert_eq!((&seen["commentCount"], &seen["likeCount"]), (&json!(1), &json!(1)), "{seen}");
        }
    }
}

/// The running clients.
pub(crate) struct Clients {
    shared: Arc<Shared>,
    running: JoinSet<()>,
    listeners: Vec<Listener>,
}

impl Clients {
    const WRITERS: usize = 8;

    /// Registers accounts, and starts the writers, readers and listeners.
    pub(crate) async fn start(nodes: &Nodes) -> Self {
        let (nodes, front) = (nodes.clients(), [nodes.front()]);
        let reader = nodes[0].user("reader").await;
        let mut writers = Vec::new();
        for n in 0..Self::WRITERS {
            let writer = nodes[0].user(&format!("writer-{n}")).await;
            nodes[0].call(&reader, Method::PUT, &format!("/api/follow/follow/{}", writer.id)).await.expect(200);
            writers.push(writer);
        }
        let shared = Arc::new(Shared {
            nodes,
            front,
            writers,
            reader,
            published: Mutex::default(),
            quiet: RwLock::default(),
            writes: Pace::default(),
            reads: Pace::default(),
            written: AtomicUsize::new(0),
            refused: Mutex::default(),
            stopped: AtomicBool::new(false),
        });
        let mut running = JoinSet::new();
        for writer in 0..Self::WRITERS {
            running.spawn(Arc::clone(&shared).run_writer(writer));
        }
        for number in 0..2 {
            running.spawn(Arc::clone(&shared).run_reader(number));
        }
        let listeners = (0..2).map(|number| Listener::start(Arc::clone(&shared), number)).collect();
        Self { shared, running, listeners }
    }

    /// Waits until this many further writes were acknowledged.
    pub(crate) async fn writes(&self, more: usize) {
        let enough = self.shared.written.load(Ordering::Relaxed) + more;
        eventually("writes are acknowledged", async || {
            (self.shared.written.load(Ordering::Relaxed) >= enough).then_some(())
        })
        .await;
    }

    /// Returns what the clients noticed since the last call.
    pub(crate) fn measure(&self) -> Noticed {
        let Refusals { counts, times } = mem::take(&mut *self.shared.refused.lock().unwrap());
        Noticed {
            without_writes: self.shared.writes.take(),
            without_reads: self.shared.reads.take(),
            refused: counts,
            refusing: times.map_or(0.0, |(first, last)| (last - first).as_secs_f64()),
        }
    }

    /// Pauses the writers, and compares the reader's feed on every node, and the posts that listeners know, with the acknowledged
    /// posts.
    pub(crate) async fn check(&self) {
        let _quiet = self.shared.quiet.write().await;
        let published: BTreeMap<_, _> =
            self.shared.published.lock().unwrap().values().flatten().map(to_owned_pair).collect();
        let mut found = Vec::new();
        for node in &self.shared.nodes {
            let feed = node.walk(&self.shared.reader, "/api/posts/following/all?size=100", "data").await;
            let seen: Vec<_> = feed.iter().map(|post| (text(&post["id"]), text(&post["content"]))).collect();
            let count = seen.len();
            found.push((count, seen.into_iter().collect::<BTreeMap<_, _>>() == published));
        }
        let expected = vec![(published.len(), true); found.len()];
        assert_eq!(found, expected, "posts in the feed on each node, and whether they are those acknowledged");
        for listener in &self.listeners {
            listener.knows(published.keys()).await;
        }
    }

    /// Stops the clients, and checks on every node that each acknowledged write is stored exactly once, and nothing else.
    pub(crate) async fn finish(mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        while let Some(ended) = self.running.join_next().await {
            ended.unwrap();
        }
        self.check().await;
        let published = mem::take(&mut *self.shared.published.lock().unwrap());
        for (author, posts) in &published {
            for node in &self.shared.nodes {
                let path = format!("/api/posts/{author}/all?size=100");
                let found = node.walk(&self.shared.reader, &path, "data").await;
                assert_eq!(found.len(), posts.len());
                for post in &found {
                    assert_eq!(Some(&text(&post["content"])), posts.get(&text(&post["id"])));
                    assert_eq!((&post["commentCount"], &post["likeCount"]), (&json!(1), &json!(1)), "{post}");
                }
            }
            for id in posts.keys() {
                let comments = self.shared.nodes[0].get(&self.shared.reader, &format!("/api/comments/all/{id}")).await;
                assert_eq!(list(&comments.expect(200).data()).len(), 1);
            }
        }
    }
}

/// Returns the builder of a request that publishes a post. Unlike other forms, its bytes are the same each time.
fn posting(api: &Client, author: &User, content: &str, pictured: bool) -> RequestBuilder {
    let request = api.request_as(author, Method::POST, "/api/posts/create");
    if !pictured {
        return request.json(&json!({ "text": content }));
    }
    let text = format!("--b\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\n{content}\r\n");
    request
        .header(CONTENT_TYPE, "multipart/form-data; boundary=b")
        .body([text.into_bytes(), form_bytes(&picture())].concat())
}

fn to_owned_pair((id, content): (&String, &String)) -> (String, String) {
    (id.clone(), content.clone())
}
