//! Clients that write and read continuously, and record each acknowledged write.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::{Method, RequestBuilder};
use tokio::task::JoinSet;

use super::responses::attempt;
use crate::client::{Client, Response, User, eventually, list, text};
use crate::picture::{expect_picture, picture};

/// Writes that the service acknowledged.
#[derive(Debug, Default)]
struct Acknowledged {
    /// The post, its text, and whether it has a picture.
    posts: Vec<(String, String, bool)>,
    /// The post, and the text of the comment on it.
    comments: Vec<(String, String)>,
    /// The post, and who likes it.
    likes: Vec<(String, User)>,
    /// Who is followed, and the follower.
    follows: Vec<(User, User)>,
}

struct Shared {
    api: Client,
    users: Vec<User>,
    acknowledged: Mutex<Acknowledged>,
    succeeded: AtomicUsize,
    refused: AtomicUsize,
    stopped: AtomicBool,
}

impl Shared {
    /// Sends a valid request. Returns the response, which must have this status, or `None` if the service is unavailable.
    async fn attempt(&self, status: u16, request: RequestBuilder) -> Option<Response> {
        let answer = attempt(request).await;
        match answer {
            Some(_) => self.succeeded.fetch_add(1, Ordering::Relaxed),
            None => {
                let refused = self.refused.fetch_add(1, Ordering::Relaxed);
                // Waits, but less than a client should after a 503.
                tokio::time::sleep(Duration::from_millis(20)).await;
                refused
            }
        };
        answer.map(|answer| answer.expect(status))
    }

    async fn write(self: Arc<Self>, user: User) {
        for n in 0.. {
            if self.stopped.load(Ordering::Relaxed) {
                return;
            }
            // A refused request ends the round.
            let _ = self.round(&user, n).await;
        }
    }

    async fn round(&self, user: &User, n: usize) -> Option<()> {
        let Self { api, users, acknowledged, .. } = self;
        let content = format!("{} {n}", user.name);
        let picture = n.is_multiple_of(5).then(picture);
        let post = self.attempt(201, api.posting(user, &content, picture.as_deref())).await?.data();
        let id = text(&post["id"]);
        acknowledged.lock().unwrap().posts.push((id.clone(), content.clone(), picture.is_some()));

        self.attempt(201, api.commenting(user, &id, &content)).await?;
        acknowledged.lock().unwrap().comments.push((id.clone(), content));

        let like = api.request_as(user, Method::PUT, &format!("/api/posts/like/{id}"));
        self.attempt(200, like).await?;
        acknowledged.lock().unwrap().likes.push((id, user.clone()));

        if let Some(other) = users.get(n).filter(|other| other.id != user.id) {
            let follow = api.request_as(user, Method::PUT, &format!("/api/follow/follow/{}", other.id));
            self.attempt(200, follow).await?;
            acknowledged.lock().unwrap().follows.push((other.clone(), user.clone()));
        }
        Some(())
    }

    async fn read(self: Arc<Self>, user: User) {
        while !self.stopped.load(Ordering::Relaxed) {
            for path in ["/api/posts/following/all", "/api/products/findAll", "/api/users/me"] {
                let _ = self.attempt(200, self.api.request_as(&user, Method::GET, path)).await;
            }
        }
    }
}

/// The running clients.
pub(crate) struct Load {
    shared: Arc<Shared>,
    clients: JoinSet<()>,
}

impl Load {
    const WRITERS: usize = 8;
    const READERS: usize = 4;

    /// Registers users and starts writers and readers.
    pub(crate) async fn start(api: &Client) -> Self {
        let mut users = Vec::new();
        for n in 0..Self::WRITERS {
            users.push(api.user(&format!("writer-{n}")).await);
        }
        let shared = Arc::new(Shared {
            api: api.clone(),
            users: users.clone(),
            acknowledged: Mutex::default(),
            succeeded: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        });
        let mut clients = JoinSet::new();
        for user in &users {
            clients.spawn(Arc::clone(&shared).write(user.clone()));
        }
        for user in &users[..Self::READERS] {
            clients.spawn(Arc::clone(&shared).read(user.clone()));
        }
        Self { shared, clients }
    }

    /// Waits until this many further requests have succeeded.
    pub(crate) async fn successes(&self, more: usize) {
        let enough = self.shared.succeeded.load(Ordering::Relaxed) + more;
        self.until("requests succeed", || self.shared.succeeded.load(Ordering::Relaxed) >= enough).await;
    }

    /// Waits until this many further posts were published. Each is commented on and liked next.
    pub(crate) async fn posts(&self, more: usize) {
        let published = || self.shared.acknowledged.lock().unwrap().posts.len();
        let enough = published() + more;
        self.until("posts are published", || published() >= enough).await;
    }

    /// Waits until this many further requests were refused.
    pub(crate) async fn refusals(&self, more: usize) {
        let enough = self.shared.refused.load(Ordering::Relaxed) + more;
        self.until("requests are refused", || self.shared.refused.load(Ordering::Relaxed) >= enough).await;
    }

    async fn until(&self, what: &str, reached: impl Fn() -> bool) {
        eventually(what, async || reached().then_some(())).await;
    }

    /// Stops the clients, and checks that all acknowledged writes are stored completely, and that the counts are correct.
    pub(crate) async fn finish(self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        self.clients.join_all().await;
        let (api, reader) = (&self.shared.api, &self.shared.users[0]);
        let acknowledged = std::mem::take(&mut *self.shared.acknowledged.lock().unwrap());
        for (id, content, pictured) in &acknowledged.posts {
            let view = api.view(reader, id).await;
            assert_eq!(view["content"], content.as_str());
            if *pictured {
                expect_picture(&api.image(&view["image"]).await);
            }
            let comments = api.get(reader, &format!("/api/comments/all/{id}")).await.expect(200).data();
            assert_eq!(view["commentCount"], list(&comments).len(), "{comments}");
            let likes = api.get(reader, &format!("/api/posts/{id}/likes")).await.expect(200).data();
            assert_eq!(view["likeCount"], list(&likes).len(), "{likes}");
        }
        for (id, content) in &acknowledged.comments {
            let comments = api.get(reader, &format!("/api/comments/all/{id}")).await.expect(200).data();
            assert!(list(&comments).iter().any(|comment| comment["content"] == content.as_str()), "{comments}");
        }
        for (id, user) in &acknowledged.likes {
            assert_eq!(api.view(user, id).await["likedByMe"], true);
        }
        for (followed, follower) in &acknowledged.follows {
            let path = format!("/api/follow/followers/{}", followed.id);
            let followers = api.get(followed, &path).await.expect(200).data();
            assert!(list(&followers).iter().any(|user| user["id"] == follower.id.as_str()), "{followers}");
        }
    }
}
