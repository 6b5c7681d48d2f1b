//! `ETag`, `If-None-Match`, `If-Match`, and compressed responses.

use reqwest::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH,
    LINK, VARY,
};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::posts::form;
use crate::support::{Response, Server, User};

const STALE: &str = "It was changed in the meantime";

fn tag(answer: &Response) -> String {
    answer.header(ETAG).expect("a tag").to_owned()
}

struct World {
    server: Server,
    root: User,
    ann: User,
    post: String,
    product: String,
}

impl World {
    async fn start() -> Self {
        let server = Server::start().await;
        let (root, ann) = (server.root().await, server.user("ann").await);
        let post = server.publish(&ann, "a post", "PUBLIC").await;
        let product = server.product(&root, json!({})).await["id"].as_str().unwrap().to_owned();
        Self { server, root, ann, post, product }
    }

    fn get(&self, path: &str) -> RequestBuilder {
        self.server.request(Method::GET, path).bearer_auth(&self.ann.token)
    }

    fn post_path(&self) -> String {
        format!("/api/posts/by-id/{}", self.post)
    }

    fn product_path(&self) -> String {
        format!("/api/products/{}", self.product)
    }

    async fn edit_post(&self, text: &str, if_match: Option<&str>) -> Response {
        let path = format!("/api/posts/update/{}", self.post);
        let request =
            self.server.request(Method::PUT, &path).bearer_auth(&self.ann.token).json(&json!({ "text": text }));
        self.server
            .send(match if_match {
                Some(tags) => request.header(IF_MATCH, tags),
                None => request,
            })
            .await
    }

    async fn edit_product(&self, body: Value, if_match: &str) -> Response {
        let request = self.server.request(Method::PUT, &self.product_path()).bearer_auth(&self.root.token).json(&body);
        self.server.send(request.header(IF_MATCH, if_match)).await
    }
}

#[tokio::test]
async fn a_matching_if_none_match_is_answered_304_until_the_content_changes() {
    let w = World::start().await;
    let like = format!("/api/posts/like/{}", w.post);
    type Change<'a> = (Method, &'a str, Value, &'a User);
    let things: [(String, &str, Change<'_>); 6] = [
        (w.post_path(), "no-store", (Method::PUT, &like, Value::Null, &w.root)),
        (w.product_path(), "public, no-cache", (Method::PUT, &w.product_path(), json!({ "stock": 1 }), &w.root)),
        (
            "/api/products/findAll".into(),
            "public, no-cache",
            (Method::PUT, &w.product_path(), json!({ "stock": 2 }), &w.root),
        ),
        (
            "/api/products/category/kitchen".into(),
            "public, no-cache",
            (Method::PUT, &w.product_path(), json!({ "stock": 3 }), &w.root),
        ),
        ("/api/products".into(), "no-store", (Method::PUT, &w.product_path(), json!({ "price": 5 }), &w.root)),
        ("/api/users/me".into(), "no-store", (Method::PUT, "/api/users/me", json!({ "biography": "new" }), &w.ann)),
    ];
    for (path, cache, (method, target, body, user)) in &things {
        let first = w.server.send(w.get(path)).await.expect(200);
        let known = tag(&first);
        assert_eq!(first.header(CACHE_CONTROL), Some(*cache), "{path}");
        assert_eq!(tag(&w.server.send(w.get(path)).await), known, "{path}");
        let strong = known.trim_start_matches("W/").to_owned();
        for having in [known.clone(), strong, format!("\"other\", {known}"), "*".to_owned()] {
            let same = w.server.send(w.get(path).header(IF_NONE_MATCH, &having)).await.expect(304);
            assert!(same.body.is_empty(), "{path}");
            assert_eq!(
                (tag(&same), same.header(CACHE_CONTROL)),
                (known.clone(), first.header(CACHE_CONTROL)),
                "{path}"
            );
            assert_eq!((same.header(CONTENT_TYPE), same.header(VARY)), (None, Some("Accept-Encoding")), "{path}");
        }
        let head = w.server.request(Method::HEAD, path).bearer_auth(&w.ann.token).header(IF_NONE_MATCH, &known);
        w.server.send(head).await.expect(304);

        let change = w.server.request(method.clone(), target).bearer_auth(&user.token);
        w.server.send(if body.is_null() { change } else { change.json(body) }).await.expect(200);
        let changed = w.server.send(w.get(path).header(IF_NONE_MATCH, &known)).await.expect(200);
        assert_ne!(tag(&changed), known, "{path}");
        assert_ne!(changed.body, first.body, "{path}");
    }
}

#[tokio::test]
async fn a_tag_depends_on_what_the_caller_sees() {
    let w = World::start().await;
    let known = tag(&w.server.send(w.get(&w.post_path())).await);
    w.server.call(&w.root, Method::PUT, &format!("/api/posts/like/{}", w.post)).await.expect(200);
    let of_root = w.server.get(&w.root, &w.post_path()).await.expect(200);
    let of_ann = w.server.get(&w.ann, &w.post_path()).await.expect(200);
    assert_ne!(tag(&of_root), tag(&of_ann), "one of them likes it");
    assert_ne!(tag(&of_ann), known);
}

#[tokio::test]
async fn rights_are_checked_before_if_none_match() {
    let w = World::start().await;
    let private = w.server.publish(&w.ann, "secret", "PRIVATE").await;
    let path = format!("/api/posts/by-id/{private}");
    let known = tag(&w.server.get(&w.ann, &path).await);
    let ben = w.server.user("ben").await;
    let other = w.server.request(Method::GET, &path).header(IF_NONE_MATCH, &known);
    w.server.send(other.bearer_auth(&ben.token)).await.expect_failure(403);
    w.server.send(w.server.request(Method::GET, &path).header(IF_NONE_MATCH, "*")).await.expect_failure(401);
}

#[tokio::test]
async fn a_head_or_304_of_the_catalog_has_the_tag_but_no_links() {
    let w = World::start().await;
    w.server.product(&w.root, json!({ "sku": "OTHER" })).await;
    let path = "/api/products/findAll?size=1";
    let first = w.server.send(w.get(path)).await.expect(200);
    assert!(first.header(LINK).is_some());
    let head = w.server.send(w.server.request(Method::HEAD, path)).await.expect(200);
    let same = w.server.send(w.get(path).header(IF_NONE_MATCH, tag(&head))).await.expect(304);
    assert_eq!((tag(&head), tag(&same)), (tag(&first), tag(&first)));
    assert_eq!((head.header(LINK), same.header(LINK)), (None, None));
}

#[tokio::test]
async fn each_page_of_the_catalog_has_its_own_tag() {
    let w = World::start().await;
    let mut tags = Vec::new();
    for path in ["findAll", "findAll?size=1", "findAll?q=pot", "category/kitchen", "category/Kitchen", ""] {
        tags.push(tag(&w.server.send(w.get(format!("/api/products/{path}").trim_end_matches('/'))).await.expect(200)));
    }
    let count = tags.len();
    tags.sort();
    tags.dedup();
    assert_eq!(tags.len(), count);
}

#[tokio::test]
async fn the_tag_of_a_full_page_changes_once_there_is_a_next_page() {
    let w = World::start().await;
    let path = "/api/products/findAll?size=1";
    let last = w.server.send(w.get(path)).await.expect(200);
    assert_eq!(last.header(LINK), None);
    w.server.product(&w.root, json!({ "sku": "OTHER" })).await;
    let full = w.server.send(w.get(path).header(IF_NONE_MATCH, tag(&last))).await.expect(200);
    assert_eq!(full.body, last.body);
    assert!(full.header(LINK).is_some());
}

#[tokio::test]
async fn a_post_is_edited_only_if_its_version_matches() {
    let w = World::start().await;
    let seen = tag(&w.server.send(w.get(&w.post_path())).await);
    let edited = w.edit_post("first", Some(&seen)).await.expect(200);
    w.edit_post("second", Some(&seen)).await.expect_error(412, STALE);
    let view = w.server.get(&w.ann, &w.post_path()).await;
    assert_eq!(view.data()["content"], "first");
    w.edit_post("third", Some(&tag(&edited))).await.expect(200);
    for never in ["\"0-0\"", "\"\"", "nonsense", "W/\"zz\""] {
        w.edit_post("never", Some(never)).await.expect_error(412, STALE);
    }
    w.edit_post("any", Some("*")).await.expect(200);
    w.edit_post("plain", None).await.expect(200);
}

#[tokio::test]
async fn edits_in_quick_succession_make_different_versions() {
    let w = World::start().await;
    let mut tags = Vec::new();
    for n in 0..20 {
        tags.push(tag(&w.edit_post(&format!("edit {n}"), None).await.expect(200)));
    }
    let last = tags.pop().unwrap();
    for tag in &tags {
        w.edit_post("stale", Some(tag)).await.expect_error(412, STALE);
    }
    w.edit_post("fresh", Some(&format!("{}, {last}", tags.join(", ")))).await.expect(200);
}

#[tokio::test]
async fn a_like_in_between_does_not_make_an_edit_stale() {
    let w = World::start().await;
    let seen = tag(&w.server.send(w.get(&w.post_path())).await);
    w.server.call(&w.root, Method::PUT, &format!("/api/posts/like/{}", w.post)).await.expect(200);
    w.edit_post("edited", Some(seen.trim_start_matches("W/"))).await.expect(200);
}

#[tokio::test]
async fn a_created_post_can_be_edited_with_the_tag_of_the_response() {
    let w = World::start().await;
    let create = w.server.request(Method::POST, "/api/posts/create").bearer_auth(&w.ann.token);
    let created = w.server.send(create.multipart(form(&[("text", "new")]))).await.expect(201);
    let path = format!("/api/posts/update/{}", created.data()["id"].as_str().unwrap());
    let edit = w.server.request(Method::PUT, &path).bearer_auth(&w.ann.token).header(IF_MATCH, tag(&created));
    w.server.send(edit.json(&json!({ "text": "edited" }))).await.expect(200);
}

#[tokio::test]
async fn a_retry_returns_the_tag_of_the_first_response() {
    let w = World::start().await;
    let create = || {
        let request = w.server.request(Method::POST, "/api/posts/create").bearer_auth(&w.ann.token);
        request.header("Idempotency-Key", "key").json(&json!({ "text": "once" }))
    };
    let first = w.server.send(create()).await.expect(201);
    assert_eq!(tag(&w.server.send(create()).await.expect(201)), tag(&first));
}

#[tokio::test]
async fn a_product_is_edited_only_if_its_version_matches() {
    let w = World::start().await;
    let seen = tag(&w.server.send(w.get(&w.product_path())).await);
    let edited = w.edit_product(json!({ "stock": 10 }), &seen).await.expect(200);
    w.edit_product(json!({ "stock": 11 }), &seen).await.expect_error(412, STALE);
    assert_eq!(w.server.send(w.get(&w.product_path())).await.json()["product"]["stock"], 10);
    w.edit_product(json!({ "stock": 12 }), &tag(&edited)).await.expect(200);
}

#[tokio::test]
async fn invalid_fields_and_unknown_products_are_reported_before_a_stale_version() {
    let w = World::start().await;
    let seen = tag(&w.server.send(w.get(&w.product_path())).await);
    w.edit_product(json!({ "stock": 10 }), &seen).await.expect(200);
    w.edit_product(json!({ "stock": -1 }), &seen).await.expect_invalid(&["stock"]);
    let unknown = w.server.request(Method::PUT, &format!("/api/products/{}", uuid::Uuid::nil()));
    let unknown = unknown.bearer_auth(&w.root.token).header(IF_MATCH, &seen).json(&json!({ "stock": 1 }));
    w.server.send(unknown).await.expect_failure(404);
}

#[tokio::test]
async fn json_beyond_1_kib_is_compressed_if_the_client_accepts_it() {
    let w = World::start().await;
    for n in 0..20 {
        w.server.product(&w.root, json!({ "sku": format!("SKU-{n}") })).await;
    }
    let path = "/api/products/findAll";
    let plain = w.server.send(w.get(path)).await.expect(200);
    assert_eq!((plain.header(CONTENT_ENCODING), plain.header(VARY)), (None, Some("Accept-Encoding")));
    assert!(plain.body.len() > 4096);
    for (accepted, encoding) in [
        ("gzip, deflate, br, zstd", Some("zstd")),
        ("gzip, deflate, br", Some("gzip")),
        ("gzip", Some("gzip")),
        ("zstd;q=0.5, gzip;q=0.8", Some("gzip")),
        ("br", None),
        ("identity", None),
        ("deflate", None),
        ("gzip;q=0", None),
    ] {
        let answer = w.server.send(w.get(path).header(ACCEPT_ENCODING, accepted)).await.expect(200);
        assert_eq!(answer.header(CONTENT_ENCODING), encoding, "{accepted}");
        assert_eq!(answer.header(CONTENT_TYPE), Some("application/json"), "{accepted}");
        let vary: Vec<_> = answer.headers.get_all(VARY).iter().map(|value| value.to_str().unwrap()).collect();
        assert!(vary.len() == 1 && vary[0].eq_ignore_ascii_case("accept-encoding"), "{vary:?}");
        assert_eq!(tag(&answer), tag(&plain), "{accepted}");
        assert_eq!(answer.decoded(), plain.body, "{accepted}");
        if encoding.is_some() {
            assert!(answer.body.len() < plain.body.len() / 4, "{accepted}");
        }
        let known = w.get(path).header(ACCEPT_ENCODING, accepted).header(IF_NONE_MATCH, tag(&answer));
        assert!(w.server.send(known).await.expect(304).body.is_empty());
    }
}

#[tokio::test]
async fn small_responses_are_not_compressed() {
    let w = World::start().await;
    for path in ["/api/users/me", "/nothing"] {
        let answer = w.server.send(w.get(path).header(ACCEPT_ENCODING, "gzip, br, zstd")).await;
        assert_eq!(answer.header(CONTENT_ENCODING), None, "{path}");
        assert!(answer.header(CONTENT_LENGTH).is_some(), "{path}");
        assert!(!answer.json().is_null(), "{path}");
    }
}
