//! SIGKILL during every kind of change: afterwards, either the last acknowledged change or the next requested one is in effect.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::client::{Client, PASSWORD, User, eventually, list, registration, text};
use crate::process::Home;

/// A change that is made repeatedly. The state after each change depends on the number of the change.
#[derive(Debug, Clone)]
enum RepeatedChange {
    PostText(User, String),
    Visibility(User, String),
    CommentText(User, String),
    Like(User, String),
    Follow(User, User),
    Biography(User),
    Password(User),
    Stock(User, String),
    Role(User, User),
    Enabled(User, User),
}

/// Returns a different password for each number.
fn password(n: usize) -> String {
    if n == 0 { PASSWORD.to_owned() } else { format!("{PASSWORD} {n}") }
}

impl RepeatedChange {
    /// Returns the request for the nth change, counted from 1.
    fn request(&self, api: &Client, n: usize) -> RequestBuilder {
        let is_odd = n % 2 == 1;
        let set_or_unset = if is_odd { Method::PUT } else { Method::DELETE };
        let put = |user: &User, path: &str, body: Value| api.request_as(user, Method::PUT, path).json(&body);
        match self {
            Self::PostText(user, post) => {
                put(user, &format!("/api/posts/update/{post}"), json!({ "text": n.to_string() }))
            }
            Self::Visibility(user, post) => {
                let visibility = if is_odd { "PRIVATE" } else { "PUBLIC" };
                put(user, &format!("/api/posts/update/{post}"), json!({ "visibility": visibility }))
            }
            Self::CommentText(user, post) => {
                put(user, "/api/comments/update", json!({ "postId": post, "content": n.to_string() }))
            }
            Self::Like(user, post) => api.request_as(user, set_or_unset, &format!("/api/posts/like/{post}")),
            Self::Follow(user, other) => {
                api.request_as(user, set_or_unset, &format!("/api/follow/follow/{}", other.id))
            }
            Self::Biography(user) => put(user, "/api/users/me", json!({ "biography": n.to_string() })),
            Self::Password(user) => {
                let body = json!({ "currentPassword": password(n - 1), "newPassword": password(n) });
                put(user, "/api/users/me/password", body)
            }
            Self::Stock(root, product) => put(root, &format!("/api/products/{product}"), json!({ "stock": n })),
            Self::Role(root, user) => {
                let action = if is_odd { "ADD" } else { "REMOVE" };
                put(root, &format!("/api/users/update/{}", user.id), json!({ "roleId": "ADMIN", "action": action }))
            }
            Self::Enabled(root, user) => {
                put(root, &format!("/api/users/{}/enabled", user.id), json!({ "enabled": !is_odd }))
            }
        }
    }

    /// Returns whether the state is that after the nth change, or the initial one if `n` is 0.
    async fn is_at(&self, api: &Client, n: usize) -> bool {
        let is_odd = n % 2 == 1;
        let read = async |user: &User, path: String| api.get(user, &path).await.expect(200).data();
        match self {
            Self::PostText(user, post) => api.view(user, post).await["content"] == n.to_string().as_str(),
            Self::Visibility(user, post) => (api.view(user, post).await["visibility"] == "PRIVATE") == is_odd,
            Self::CommentText(user, post) => {
                let comments = read(user, format!("/api/comments/all/{post}")).await;
                list(&comments).len() == 1 && comments[0]["content"] == n.to_string().as_str()
            }
            Self::Like(user, post) => {
                let view = api.view(user, post).await;
                let likes = read(user, format!("/api/posts/{post}/likes")).await;
                view["likedByMe"] == is_odd && view["likeCount"] == list(&likes).len() && list(&likes).len() == n % 2
            }
            Self::Follow(user, other) => {
                let followed = read(user, format!("/api/follow/followed/{}", user.id)).await;
                list(&followed).iter().any(|it| it["id"] == other.id.as_str()) == is_odd
            }
            Self::Biography(user) => {
                let biography = &read(user, "/api/users/me".to_owned()).await["biography"];
                *biography == if n == 0 { Value::Null } else { json!(n.to_string()) }
            }
            Self::Password(user) => {
                let works = async |n| api.login(&user.name, &password(n)).await.status == 200;
                // The previous password is not valid any more.
                works(n).await && !(n > 0 && works(n - 1).await)
            }
            Self::Stock(root, product) => {
                let product = api.get(root, &format!("/api/products/{product}")).await.expect(200).json();
                product["product"]["stock"] == n
            }
            Self::Role(root, user) => {
                let user = read(root, format!("/api/users/by-id/{}", user.id)).await;
                list(&user["authorities"]).iter().any(|it| it["authority"] == "ADMIN") == is_odd
            }
            Self::Enabled(root, user) => {
                read(root, format!("/api/users/by-id/{}", user.id)).await["enabled"] == !is_odd
            }
        }
    }
}

/// The number of the last change that was acknowledged, and of the last one that was sent.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    acknowledged: usize,
    sent: usize,
}

/// Acknowledged creations and deletions.
#[derive(Debug, Default)]
struct Lifecycles {
    deleted_posts: Vec<String>,
    /// The post and the comment.
    deleted_comments: Vec<(String, String)>,
    deleted_products: Vec<String>,
    ended_sessions: Vec<User>,
    registered: Vec<String>,
}

/// Makes changes of one kind until the service is killed or its rate limit is exceeded; returns the progress.
async fn change(
    api: Client,
    changed: RepeatedChange,
    begun: Progress,
    rounds: Arc<[AtomicUsize]>,
    kind: usize,
) -> Progress {
    let mut progress = begun;
    loop {
        progress.sent = progress.acknowledged + 1;
        let Some(answer) = api.try_send(changed.request(&api, progress.sent)).await else { return progress };
        if answer.status == 429 {
            return Progress { sent: progress.acknowledged, ..progress };
        }
        answer.expect(200);
        progress.acknowledged = progress.sent;
        rounds[kind].fetch_add(1, Ordering::Relaxed);
    }
}

/// Creates and deletes things until the service is killed.
async fn create_and_delete(api: Client, root: User, crash: usize, gone: Arc<Mutex<Lifecycles>>) -> Option<()> {
    let delete =
        async |path: String| Some(api.try_send(api.request_as(&root, Method::DELETE, &path)).await?.expect(200));
    for n in 0.. {
        let post = text(&api.try_send(api.posting(&root, "to go", None)).await?.expect(201).data()["id"]);
        let id = post.clone();
        api.try_send(api.commenting(&root, &id, "to go")).await?.expect(201);
        let comments = api.request_as(&root, Method::GET, &format!("/api/comments/all/{id}"));
        let comment = text(&api.try_send(comments).await?.expect(200).data()[0]["id"]);
        delete(format!("/api/comments/delete/{comment}")).await?;
        gone.lock().unwrap().deleted_comments.push((id, comment));

        let second = text(&api.try_send(api.posting(&root, "to go", None)).await?.expect(201).data()["id"]);
        delete(format!("/api/posts/delete/{second}")).await?;
        gone.lock().unwrap().deleted_posts.push(second);

        let product = json!({ "sku": format!("GO-{crash}-{n}"), "name": "A", "price": 1, "category": "B", "stock": 1 });
        let product = api.request_as(&root, Method::POST, "/api/products").json(&product);
        let product = text(&api.try_send(product).await?.expect(201).json()["product"]["id"]);
        delete(format!("/api/products/{product}")).await?;
        gone.lock().unwrap().deleted_products.push(product);

        let name = format!("new-{crash}-{n}");
        let register = api.request(Method::POST, "/api/auth/register").json(&registration(&name));
        api.try_send(register).await?.expect(201);
        gone.lock().unwrap().registered.push(name.clone());
        let login = json!({ "identifier": name, "password": PASSWORD });
        let login = api.try_send(api.request(Method::POST, "/api/auth/login").json(&login)).await?.expect(200);
        let user = User { id: String::new(), name, token: text(&login.json()["token"]) };
        api.try_send(api.request_as(&user, Method::POST, "/api/auth/logout")).await?.expect(200);
        gone.lock().unwrap().ended_sessions.push(user);
    }
    None
}

impl Lifecycles {
    async fn expect(&self, api: &Client, root: &User) {
        for post in &self.deleted_posts {
            api.get(root, &format!("/api/posts/by-id/{post}")).await.expect(404);
        }
        for (post, comment) in &self.deleted_comments {
            let comments = api.get(root, &format!("/api/comments/all/{post}")).await.expect(200).data();
            assert!(list(&comments).is_empty(), "{comment} was restored: {comments}");
            assert_eq!(api.view(root, post).await["commentCount"], 0);
        }
        for product in &self.deleted_products {
            api.get(root, &format!("/api/products/{product}")).await.expect(404);
        }
        for user in &self.ended_sessions {
            api.get(user, "/api/users/me").await.expect(401);
        }
        for name in &self.registered {
            api.login(name, PASSWORD).await.expect(200);
        }
    }
}

/// Creates the things to be changed, on a running service.
async fn prepare(api: &Client) -> Vec<RepeatedChange> {
    let root = api.log_in("root").await;
    let (alice, bob, eve) = (api.user("alice").await, api.user("bob").await, api.user("eve").await);
    let post = async |content: &str| text(&api.post(&alice, content, None).await["id"]);
    let commented = post("commented").await;
    api.send(api.commenting(&bob, &commented, "0")).await.expect(201);
    let product = api.product(&root, json!({ "sku": "ONE", "stock": 0 })).await;
    vec![
        RepeatedChange::PostText(alice.clone(), post("0").await),
        RepeatedChange::Visibility(alice.clone(), post("seen").await),
        RepeatedChange::CommentText(bob.clone(), commented),
        RepeatedChange::Like(bob.clone(), post("liked").await),
        RepeatedChange::Follow(bob.clone(), alice.clone()),
        RepeatedChange::Biography(alice.clone()),
        RepeatedChange::Password(alice),
        RepeatedChange::Stock(root.clone(), text(&product["id"])),
        RepeatedChange::Role(root.clone(), bob),
        RepeatedChange::Enabled(root, eve),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_changes_of_every_kind_survive_a_crash() {
    const CRASHES: usize = 4;
    let home = Home::new();
    let service = home.start_with_root();
    let all = prepare(&service.api).await;
    let root = service.api.log_in("root").await;
    service.kill();

    let mut progress = vec![Progress::default(); all.len()];
    let gone = Arc::new(Mutex::new(Lifecycles::default()));
    for crash in 1..=CRASHES {
        let service = home.start();
        let rounds: Arc<[_]> = all.iter().map(|_| AtomicUsize::new(0)).collect();
        let changing: Vec<_> = all
            .iter()
            .zip(&progress)
            .enumerate()
            .map(|(kind, (changed, begun))| {
                tokio::spawn(change(service.api.clone(), changed.clone(), *begun, Arc::clone(&rounds), kind))
            })
            .collect();
        let coming = tokio::spawn(create_and_delete(service.api.clone(), root.clone(), crash, Arc::clone(&gone)));
        // Kills the service at a different moment each time.
        let enough = 60 + 7 * crash;
        eventually("enough is changed, and something of each kind", async || {
            let counts: Vec<_> = rounds.iter().map(|rounds| rounds.load(Ordering::Relaxed)).collect();
            let is_each = counts.iter().zip(&progress).all(|(count, begun)| begun.acknowledged + count > 0);
            (is_each && counts.into_iter().sum::<usize>() >= enough).then_some(())
        })
        .await;
        let killed = service.kill();
        assert_eq!(killed.code, None, "the service exited by itself: {killed:?}");
        for (changing, progress) in changing.into_iter().zip(&mut progress) {
            *progress = changing.await.unwrap();
        }
        coming.await.unwrap();

        let service = home.start();
        for (changed, progress) in all.iter().zip(&mut progress) {
            let Progress { acknowledged, sent } = *progress;
            if changed.is_at(&service.api, acknowledged).await {
                continue;
            }
            assert!(changed.is_at(&service.api, sent).await, "neither at {acknowledged} nor at {sent}: {changed:?}");
            progress.acknowledged = sent;
        }
        let gone = std::mem::take(&mut *gone.lock().unwrap());
        gone.expect(&service.api, &root).await;
        service.kill();
    }
    assert!(progress.iter().all(|progress| progress.acknowledged > 0), "{progress:?}");
    home.start().stop();
}
