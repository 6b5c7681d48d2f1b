//! Requests that are sent again under an `Idempotency-Key`.

use agora_http::routes::{IdempotencySupport, endpoints};
use reqwest::header::{CONTENT_TYPE, ETAG, RETRY_AFTER};
use reqwest::multipart::Part;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::images;
use crate::posts::form_with_image;
use crate::support::{PASSWORD, Response, Server, User};

const REPLAYED: &str = "idempotency-replayed";
const REUSED: &str = "Idempotency-Key was used for another request";

trait WithKey {
    fn key(self, key: &str) -> Self;
}

impl WithKey for RequestBuilder {
    fn key(self, key: &str) -> Self {
        self.header("Idempotency-Key", key)
    }
}

struct World {
    server: Server,
    root: User,
    ann: User,
    post: String,
}

impl World {
    async fn start() -> Self {
        let server = Server::start().await;
        let (root, ann) = (server.root().await, server.user("ann").await);
        let post = server.publish(&root, "a post", "PUBLIC").await;
        Self { server, root, ann, post }
    }

    fn request(&self, user: &User, path: &str, body: &Value) -> RequestBuilder {
        let request = self.server.request(Method::POST, path).bearer_auth(&user.token);
        if body.is_null() { request } else { request.json(body) }
    }

    async fn send(&self, user: &User, path: &str, body: &Value, key: &str) -> Response {
        self.server.send(self.request(user, path, body).key(key)).await
    }

    fn like(&self) -> String {
        format!("/api/posts/like/{}", self.post)
    }

    /// Returns the number of likes and of comments of the post.
    async fn counts(&self) -> (u64, u64) {
        let post = self.server.get(&self.ann, &format!("/api/posts/by-id/{}", self.post)).await.expect(200).data();
        (post["likeCount"].as_u64().unwrap(), post["commentCount"].as_u64().unwrap())
    }

    /// Returns the number of entries in a list, as `ann` sees it.
    async fn count(&self, path: &str, entries: &str) -> usize {
        self.server.get(&self.ann, path).await.expect(200).json()[entries].as_array().unwrap().len()
    }
}

fn is_replayed(answer: &Response) -> bool {
    answer.header(REPLAYED) == Some("true")
}

#[tokio::test(flavor = "multi_thread")]
async fn retrying_to_unlike_a_post_of_a_blocker_does_not_like_it_again() {
    let world = World::start().await;
    world.send(&world.ann, &world.like(), &Value::Null, "on").await.expect(200);
    let block = format!("/api/users/{}/block", world.ann.id);
    world.server.call(&world.root, Method::PUT, &block).await.expect(200);
    let first = world.send(&world.ann, &world.like(), &Value::Null, "off").await.expect(200);
    world.server.call(&world.root, Method::DELETE, &block).await.expect(200);
    let again = world.send(&world.ann, &world.like(), &Value::Null, "off").await.expect(200);
    assert!(is_replayed(&again));
    assert_eq!(first.json(), again.json());
    assert_eq!(world.counts().await.0, 0);
}

#[test]
fn every_post_that_creates_or_toggles_takes_a_key() {
    let mut taking: Vec<_> =
        endpoints().into_iter().filter(|endpoint| endpoint.idempotency != IdempotencySupport::None).collect();
    assert!(taking.iter().all(|endpoint| endpoint.method == Method::POST.as_str()));
    taking.sort_by_key(|endpoint| endpoint.path);
    let paths: Vec<_> = taking.iter().map(|endpoint| endpoint.path).collect();
    let expected = [
        "/api/auth/register",
        "/api/comments/create",
        "/api/follow/follow/{followedId}",
        "/api/follow/{followedId}",
        "/api/posts/create",
        "/api/posts/like/{postId}",
        "/api/posts/{postId}/comments",
        "/api/products",
        "/api/reports",
    ];
    assert_eq!(paths, expected);
}

#[tokio::test]
async fn a_retry_gets_the_first_response_and_has_no_further_effect() {
    let w = World::start().await;
    let follow = format!("/api/follow/follow/{}", w.root.id);
    let alias = format!("/api/follow/{}", w.root.id);
    let account = json!({ "username": "ben", "email": "ben@example.org", "password": "correct horse" });
    let product = json!({ "sku": "MUG", "name": "Mug", "price": 19.9, "category": "Kitchen", "stock": 3 });
    let report = json!({ "targetType": "USER", "targetId": w.root.id, "category": "SPAM" });
    let requests = [
        (&w.ann, "/api/auth/register".to_owned(), account, 201),
        (&w.ann, "/api/posts/create".to_owned(), json!({ "text": "once" }), 201),
        (&w.ann, "/api/comments/create".to_owned(), json!({ "postId": w.post, "content": "once" }), 201),
        (&w.ann, format!("/api/posts/{}/comments", w.post), json!({ "content": "once" }), 201),
        (&w.ann, w.like(), Value::Null, 200),
        (&w.ann, follow, Value::Null, 200),
        (&w.ann, alias, Value::Null, 200),
        (&w.root, "/api/products".to_owned(), product, 201),
        (&w.ann, "/api/reports".to_owned(), report, 201),
    ];
    for (user, path, body, status) in &requests {
        let first = w.send(user, path, body, "key").await.expect(*status);
        assert!(!is_replayed(&first), "{path}");
        for _ in 0..2 {
            let again = w.send(user, path, body, "key").await.expect(*status);
            assert!(is_replayed(&again), "{path}");
            assert_eq!(again.body, first.body, "{path}");
            assert_eq!(again.header(CONTENT_TYPE), first.header(CONTENT_TYPE), "{path}");
            assert_ne!(again.headers["x-request-id"], first.headers["x-request-id"], "{path}");
        }
    }
    assert_eq!(w.counts().await, (1, 2));
    assert_eq!(w.count(&format!("/api/posts/user/{}", w.ann.id), "data").await, 1);
    assert_eq!(w.count(&format!("/api/follow/followed/{}", w.ann.id), "data").await, 0, "followed, then unfollowed");
    assert_eq!(w.count("/api/products/findAll", "products").await, 1);
}

#[tokio::test]
async fn another_key_is_another_request() {
    let w = World::start().await;
    for (key, likes) in [("one", 1), ("two", 0), ("three", 1)] {
        w.send(&w.ann, &w.like(), &Value::Null, key).await.expect(200);
        assert_eq!(w.counts().await.0, likes);
    }
}

#[tokio::test]
async fn a_key_is_scoped_to_the_caller_and_the_endpoint() {
    let w = World::start().await;
    for user in [&w.ann, &w.root] {
        let liked = w.send(user, &w.like(), &Value::Null, "key").await.expect(200);
        assert!(!is_replayed(&liked));
    }
    let comment = json!({ "postId": w.post, "content": "hello" });
    assert!(!is_replayed(&w.send(&w.ann, "/api/comments/create", &comment, "key").await.expect(201)));
    assert_eq!(w.counts().await, (2, 1));
}

#[tokio::test]
async fn another_request_under_the_same_key_is_refused_and_changes_nothing() {
    let w = World::start().await;
    let text = |text: &str| json!({ "text": text });
    let create = "/api/posts/create";
    w.send(&w.ann, create, &text("one"), "key").await.expect(201);
    w.send(&w.ann, create, &text("two"), "key").await.expect_error(422, REUSED);
    let other = w.server.publish(&w.root, "another post", "PUBLIC").await;
    w.send(&w.ann, &w.like(), &Value::Null, "key").await.expect(200);
    w.send(&w.ann, &format!("/api/posts/like/{other}"), &Value::Null, "key").await.expect_error(422, REUSED);
    assert_eq!(w.counts().await.0, 1);
    assert_eq!(w.count(&format!("/api/posts/user/{}", w.ann.id), "data").await, 1);
    assert!(is_replayed(&w.send(&w.ann, create, &text("one"), "key").await.expect(201)), "the first one stays");
}

#[tokio::test]
async fn a_refused_request_has_no_effect_and_frees_its_key() {
    let w = World::start().await;
    let account = |name: &str| json!({ "username": name, "email": "ben@example.org", "password": "correct horse" });
    for (path, refused, status, good) in [
        ("/api/posts/create", json!({ "text": " " }), 400, json!({ "text": "hello" })),
        ("/api/auth/register", account("ann"), 409, account("ben")),
    ] {
        for _ in 0..2 {
            assert!(!is_replayed(&w.send(&w.ann, path, &refused, "key").await.expect_failure(status)));
        }
        assert!(!is_replayed(&w.send(&w.ann, path, &good, "key").await.expect(201)));
        w.send(&w.ann, path, &refused, "key").await.expect_error(422, REUSED);
    }
}

#[tokio::test]
async fn a_retry_shows_the_created_resource_in_its_current_state() {
    let w = World::start().await;
    let (create, post) = ("/api/posts/create", json!({ "text": "first" }));
    let first = w.send(&w.ann, create, &post, "post").await.expect(201).data();
    let id = first["id"].as_str().unwrap();
    let edit = w
        .server
        .request(Method::PUT, &format!("/api/posts/update/{id}"))
        .bearer_auth(&w.ann.token)
        .json(&json!({ "text": "edited" }));
    let edited = w.server.send(edit).await.expect(200);
    let again = w.send(&w.ann, create, &post, "post").await.expect(201);
    assert_eq!((&again.data(), again.header(ETAG)), (&edited.data(), edited.header(ETAG)));

    let (comments, comment) = (format!("/api/posts/{}/comments", w.post), json!({ "content": "first" }));
    let commented = w.send(&w.ann, &comments, &comment, "comment").await.expect(201).data();
    let liked = format!("/api/comments/{}/like", commented["id"].as_str().unwrap());
    w.server.call(&w.ann, Method::PUT, &liked).await.expect(200);
    let again = w.send(&w.ann, &comments, &comment, "comment").await.expect(201).data();
    assert_eq!((&again["id"], &again["likeCount"]), (&commented["id"], &json!(1)));

    let product = json!({ "sku": "MUG", "name": "Mug", "price": 19.9, "category": "Kitchen", "stock": 3 });
    let created = w.send(&w.root, "/api/products", &product, "product").await.expect(201).json();
    for (user, path) in [
        (&w.ann, format!("/api/posts/delete/{id}")),
        (&w.ann, format!("/api/comments/delete/{}", commented["id"].as_str().unwrap())),
        (&w.root, format!("/api/products/{}", created["product"]["id"].as_str().unwrap())),
    ] {
        w.server.send(w.server.request(Method::DELETE, &path).bearer_auth(&user.token)).await.expect(200);
    }
    for (user, path, body, key, message) in [
        (&w.ann, create, &post, "post", "Post not found"),
        (&w.ann, comments.as_str(), &comment, "comment", "Comment not found"),
        (&w.root, "/api/products", &product, "product", "Product not found"),
    ] {
        let gone = w.send(user, path, body, key).await;
        assert!(is_replayed(&gone), "{path}");
        gone.expect_error(404, message);
    }
}

#[tokio::test]
async fn a_key_does_not_raise_the_body_limit_of_an_endpoint() {
    let w = World::start().await;
    let padded = json!({ "postId": w.post, "content": "hello", "padding": " ".repeat(70 * 1024) });
    w.send(&w.ann, "/api/comments/create", &padded, "key").await.expect_error(413, "The body must be at most 64 KiB");
}

#[tokio::test]
async fn the_token_is_checked_before_the_key() {
    let w = World::start().await;
    w.send(&w.ann, &w.like(), &Value::Null, "key").await.expect(200);
    let nobody = w.server.request(Method::POST, &w.like()).key("key");
    w.server.send(nobody).await.expect_failure(401);
    w.server.send(w.server.request(Method::POST, &w.like()).key("not a key")).await.expect_failure(401);
}

#[tokio::test]
async fn a_key_is_one_word_of_visible_ascii() {
    let w = World::start().await;
    for bad in ["", " ", "two words", "tab\tbed", "é", &"k".repeat(256)] {
        w.send(&w.ann, &w.like(), &Value::Null, bad).await.expect_failure(400);
    }
    let twice = w.request(&w.ann, &w.like(), &Value::Null).key("one").key("two");
    w.server.send(twice).await.expect_error(400, "Idempotency-Key must be given once");
    assert_eq!(w.counts().await.0, 0);
    w.send(&w.ann, &w.like(), &Value::Null, &"k".repeat(255)).await.expect(200);
}

#[tokio::test]
async fn endpoints_without_support_for_keys_ignore_them() {
    let w = World::start().await;
    let login = json!({ "identifier": "ann", "password": PASSWORD });
    for _ in 0..2 {
        for request in [
            w.request(&w.ann, "/api/auth/login", &login),
            w.server.request(Method::PUT, &w.like()).bearer_auth(&w.ann.token),
            w.server.request(Method::GET, "/api/users/me").bearer_auth(&w.ann.token),
        ] {
            let answer = w.server.send(request.key("not a key")).await.expect(200);
            assert!(!is_replayed(&answer));
        }
    }
}

#[tokio::test]
async fn a_form_with_another_boundary_is_the_same_request() {
    let w = World::start().await;
    let form = |text| form_with_image(images::png(), &[("text", text)]);
    let send = async |form| {
        let request = w.server.request(Method::POST, "/api/posts/create").bearer_auth(&w.ann.token).key("key");
        w.server.send(request.multipart(form)).await
    };
    let first = send(form("picture")).await.expect(201);
    let again = send(form("picture")).await.expect(201);
    assert!(is_replayed(&again));
    assert_eq!(again.body, first.body);
    send(form("another text")).await.expect_error(422, REUSED);
    let mut other = images::png();
    other.push(0);
    send(form_with_image(other, &[("text", "picture")])).await.expect_error(422, REUSED);
    assert_eq!(w.count(&format!("/api/posts/user/{}", w.ann.id), "data").await, 1);
}

#[tokio::test]
async fn a_form_beyond_the_size_limit_is_refused_under_a_key() {
    let w = World::start().await;
    let form = reqwest::multipart::Form::new().part("other", Part::bytes(vec![0; 7 * 1024 * 1024])).text("text", "hi");
    let request = w.server.request(Method::POST, "/api/posts/create").bearer_auth(&w.ann.token);
    w.server.send(request.key("key").multipart(form)).await.expect_failure(413);
    assert_eq!(w.count(&format!("/api/posts/user/{}", w.ann.id), "data").await, 0);
}

#[tokio::test]
async fn of_concurrent_requests_under_one_key_one_is_carried_out() {
    let w = World::start().await;
    let path = w.like();
    for round in 0..10 {
        let key = format!("key{round}");
        let sent = (0..3).map(|_| w.send(&w.ann, &path, &Value::Null, &key));
        let answers = futures_util::future::join_all(sent).await;
        let carried_out = answers.iter().filter(|answer| answer.status == 200 && !is_replayed(answer)).count();
        assert_eq!(carried_out, 1, "{answers:?}");
        for answer in answers {
            match answer.status {
                200 => {}
                409 => assert_eq!(answer.header(RETRY_AFTER), Some("1")),
                other => panic!("{other}"),
            }
        }
        assert_eq!(w.counts().await.0, u64::from(round % 2 == 0));
    }
}
