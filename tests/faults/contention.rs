//! Many concurrent writers that change the same rows.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::task::{JoinSet, block_in_place};

use super::responses::{attempt, expect_no_leak};
use crate::client::{Client, PASSWORD, Response, User, list, text};
use crate::private_postgres;
use crate::process::Home;

const WRITERS: usize = 64;
const CONNECTIONS: usize = 6;
const DURATION: Duration = Duration::from_secs(15);

/// The rows that all writers change.
struct Shared {
    api: Client,
    root: User,
    star: User,
    post: String,
    product: String,
    /// A post that writers comment on and like, and repeatedly replace by another.
    temporary: Mutex<String>,
    succeeded: AtomicUsize,
    refused: AtomicUsize,
}

impl Shared {
    /// Sends a request. Returns the response, which must have one of these statuses, or `None` if the service is unavailable.
    async fn attempt(&self, statuses: &[u16], request: RequestBuilder) -> Option<Response> {
        let answer = attempt(request).await;
        match &answer {
            Some(answer) => {
                assert!(statuses.contains(&answer.status), "{statuses:?}: {answer:?} {}", answer.text());
                self.succeeded.fetch_add(1, Ordering::Relaxed);
            }
            None => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                // Waits, as a client should after a 503.
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
        answer
    }

    async fn call(&self, statuses: &[u16], user: &User, method: Method, path: &str) -> Option<Response> {
        self.attempt(statuses, self.api.request_as(user, method, path)).await
    }

    async fn send(&self, statuses: &[u16], user: &User, method: Method, path: &str, body: Value) -> Option<Response> {
        self.attempt(statuses, self.api.request_as(user, method, path).json(&body)).await
    }

    async fn write(self: Arc<Self>, user: User, offset: usize) {
        let begun = Instant::now();
        for n in offset.. {
            if begun.elapsed() > DURATION {
                return;
            }
            // A refused request ends the round.
            let _ = self.round(&user, n).await;
        }
    }

    async fn round(&self, user: &User, n: usize) -> Option<()> {
        let (liking, following) =
            (format!("/api/posts/like/{}", self.post), format!("/api/follow/follow/{}", self.star.id));
        let toggled = [Method::POST, Method::PUT, Method::DELETE, Method::POST][n % 4].clone();
        match n % 8 {
            0 => drop(self.call(&[200], user, toggled, &following).await?),
            1 => {
                self.attempt(&[201], self.api.commenting(user, &self.post, "Me too")).await?;
                let path = format!("/api/comments/all/{}", self.post);
                let comments = self.call(&[200], user, Method::GET, &path).await?.data();
                for comment in list(&comments).iter().filter(|comment| comment["author"]["id"] == user.id.as_str()) {
                    let path = format!("/api/comments/delete/{}", text(&comment["id"]));
                    self.call(&[200], user, Method::DELETE, &path).await?;
                }
            }
            2 => {
                let product =
                    json!({ "price": n % 1000, "stock": n % 7, "images": ["https://shop.example.org/1.png"] });
                let path = format!("/api/products/{}", self.product);
                self.send(&[200], &self.root, Method::PUT, &path, product).await?;
            }
            3 => {
                let profile = json!({ "biography": format!("Round {n}") });
                self.send(&[200], &self.star, Method::PUT, "/api/users/me", profile.clone()).await?;
                self.send(&[200], user, Method::PUT, "/api/users/me", profile).await?;
            }
            4 => {
                let post = self.temporary.lock().unwrap().clone();
                self.call(&[200, 404], user, Method::POST, &format!("/api/posts/like/{post}")).await?;
                self.attempt(&[201, 404], self.api.commenting(user, &post, "So long")).await?;
                let comments = self.call(&[200, 404], user, Method::GET, &format!("/api/comments/all/{post}")).await?;
                let comments = if comments.status == 200 { comments.data() } else { json!([]) };
                for comment in list(&comments).iter().filter(|comment| comment["author"]["id"] == user.id.as_str()) {
                    let path = format!("/api/comments/delete/{}", text(&comment["id"]));
                    self.call(&[200, 404], user, Method::DELETE, &path).await?;
                }
            }
            5 => {
                let next = self.attempt(&[201], self.api.posting(&self.star, "Temporary", None)).await?.data();
                let last = std::mem::replace(&mut *self.temporary.lock().unwrap(), text(&next["id"]));
                self.call(&[200], &self.star, Method::DELETE, &format!("/api/posts/delete/{last}")).await?;
            }
            6 => {
                let role = json!({ "roleId": "ADMIN", "action": if n.is_multiple_of(2) { "ADD" } else { "REMOVE" } });
                let path = format!("/api/users/update/{}", user.id);
                self.send(&[200, 400], &self.root, Method::PUT, &path, role).await?;
            }
            _ => drop(self.call(&[200], user, Method::GET, "/api/posts/following/all").await?),
        }
        self.call(&[200], user, like_method(n), &liking).await.map(drop)
    }
}

/// Returns the method that toggles, sets or removes a like in this round.
fn like_method(n: usize) -> Method {
    [Method::POST, Method::PUT, Method::POST, Method::DELETE, Method::POST][n % 5].clone()
}

/// Runs the writers on a PostgreSQL database with this name and URL, or else on SQLite.
async fn contend(database: Option<(&str, &str)>) {
    let home = Home::new();
    let connections = CONNECTIONS.to_string();
    let mut variables = vec![
        ("AGORA_DATABASE_CONNECTIONS", connections.as_str()),
        ("AGORA_ADMIN_USERNAME", "root"),
        ("AGORA_ADMIN_EMAIL", "root@example.org"),
        ("AGORA_ADMIN_PASSWORD", PASSWORD),
    ];
    variables.extend(database.map(|(_, url)| ("AGORA_DATABASE_URL", url)));
    let service = block_in_place(|| home.start_with(&variables));
    let api = service.api.clone();
    let (root, star) = (api.log_in("root").await, api.user("star").await);
    let post = text(&api.post(&star, "Like me", None).await["id"]);
    let temporary = text(&api.post(&star, "Temporary", None).await["id"]);
    let product = text(&api.product(&root, json!({ "sku": "T-1", "stock": 7 })).await["id"]);
    let mut users = Vec::new();
    for n in 0..WRITERS {
        users.push(api.user(&format!("writer-{n}")).await);
    }
    let shared = Arc::new(Shared {
        api: api.clone(),
        root: root.clone(),
        star: star.clone(),
        post: post.clone(),
        product,
        temporary: Mutex::new(temporary),
        succeeded: AtomicUsize::new(0),
        refused: AtomicUsize::new(0),
    });
    let mut writers = JoinSet::new();
    for (n, user) in users.into_iter().enumerate() {
        writers.spawn(Arc::clone(&shared).write(user, n));
    }
    writers.join_all().await;

    let temporary = shared.temporary.lock().unwrap().clone();
    for post in [&post, &temporary] {
        let view = api.view(&root, post).await;
        let likes = api.get(&root, &format!("/api/posts/{post}/likes")).await.expect(200).data();
        let comments = api.get(&root, &format!("/api/comments/all/{post}")).await.expect(200).data();
        assert_eq!(view["likeCount"], list(&likes).len());
        assert_eq!(view["commentCount"], list(&comments).len());
    }
    assert_eq!(list(&api.get(&star, &format!("/api/posts/{}/all", star.id)).await.expect(200).data()).len(), 2);
    if let Some((name, _)) = database {
        expect_no_leak(private_postgres::shared(), name, CONNECTIONS).await;
    }
    let log = service.stop().stderr;
    let (succeeded, refused) = (shared.succeeded.load(Ordering::Relaxed), shared.refused.load(Ordering::Relaxed));
    assert!(succeeded > refused, "{succeeded} requests succeeded, {refused} were refused");
    for word in ["deadlock", "locked", "panicked", "unexpected constraint violation"] {
        assert!(!log.contains(word), "{log}");
    }
    // The log samples repeated failures of the same cause: at most one line per refused request, and at least one if any was.
    let errors = log.matches("ERROR").count();
    assert!(errors <= refused && (errors > 0) == (refused > 0), "{refused}: {log}");
    // No deadlocks, not even resolved ones: PostgreSQL takes a second to resolve each.
    if let Some((name, _)) = database {
        // The statistics are complete once the connections that report them are closed.
        expect_no_leak(private_postgres::shared(), name, 0).await;
        let sql = format!("SELECT deadlocks FROM pg_stat_database WHERE datname = '{name}';");
        let deadlocks = block_in_place(|| private_postgres::shared().session("postgres").run(&sql));
        assert_eq!(deadlocks.trim(), "0");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_writers_of_the_same_rows_keep_counts_correct_on_sqlite() {
    contend(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_writers_of_the_same_rows_keep_counts_correct_on_postgres() {
    let (name, url) = block_in_place(private_postgres::fresh_database_by_name);
    contend(Some((&name, &url))).await;
}
