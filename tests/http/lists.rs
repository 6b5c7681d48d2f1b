//! Lists with the largest possible entries.

use reqwest::Method;
use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH};
use serde_json::{Value, json};

use crate::support::{Response, Server, User};

/// The maximum size of a response with a list, in bytes.
const MEBIBYTE: usize = 1 << 20;

/// The number of posts and of products: more than one response can hold.
const ENTRIES: usize = 60;

/// Returns a text that is six times as long in JSON.
fn text(chars: usize) -> String {
    "\u{1}".repeat(chars)
}

/// Creates a user with the longest biography, and the longest posts and products. The last post has comments and likes of users
/// with the longest names.
async fn world(server: &Server) -> (User, User, String) {
    let (root, ann) = (server.root().await, server.user("ann").await);
    let biography = json!({ "biography": format!("a{}b", text(998)) });
    server.call_json(&ann, Method::PUT, "/api/users/me", biography).await.expect(200);
    server.follow(&root, &ann).await;
    let mut post = String::new();
    for n in 0..ENTRIES {
        post = server.publish(&ann, &format!("{n}{}.", text(4990)), "PUBLIC").await;
        server.product(&root, json!({ "sku": format!("S-{n}"), "description": format!("a{}b", text(4998)) })).await;
    }
    for n in 0..50 {
        let fan = server.user(&format!("{n:02}{}", "n".repeat(48))).await;
        server.call(&fan, Method::PUT, &format!("/api/posts/like/{post}")).await.expect(200);
        let comment = json!({ "postId": post, "content": format!("{n}{}.", text(490)) });
        server.call_json(&fan, Method::POST, "/api/comments/create", comment).await.expect(201);
    }
    (root, ann, post)
}

fn entries(answer: &Response, field: &str) -> Vec<Value> {
    assert!(answer.body.len() <= MEBIBYTE, "{} bytes", answer.body.len());
    answer.json()[field].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_stay_within_a_mebibyte_and_show_every_entry_once_in_both_directions() {
    let server = Server::start().await;
    let (root, ann, post) = world(&server).await;
    for (path, field, expected) in [
        (format!("/api/posts/{}/all", ann.id), "data", ENTRIES),
        (format!("/api/posts/user/{}?size=100", ann.id), "data", ENTRIES),
        ("/api/posts/all".to_owned(), "data", ENTRIES),
        ("/api/posts/following/all?size=100".to_owned(), "data", ENTRIES),
        (format!("/api/comments/all/{post}"), "data", 50),
        ("/api/products/findAll".to_owned(), "products", ENTRIES),
        ("/api/products/category/kitchen?size=100".to_owned(), "products", ENTRIES),
    ] {
        let mut answer = server.get(&root, &path).await.expect(200);
        let mut pages = vec![entries(&answer, field)];
        while let Some(next) = answer.next() {
            answer = server.get(&root, &next).await.expect(200);
            pages.push(entries(&answer, field));
        }
        assert!(pages.len() > 1, "{path}");
        let forward = pages.concat();
        let mut ids: Vec<_> = forward.iter().map(|entry| entry["id"].as_str().unwrap()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!((ids.len(), forward.len()), (expected, expected), "{path}");
        let mut pages = vec![entries(&answer, field)];
        while let Some(prev) = answer.prev() {
            answer = server.get(&root, &prev).await.expect(200);
            pages.insert(0, entries(&answer, field));
        }
        assert_eq!(pages.concat(), forward, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_page_is_the_same_in_every_encoding() {
    let server = Server::start().await;
    let root = server.root().await;
    for n in 0..20 {
        // Different texts, so that the page remains large when it is compressed.
        let description: String = (0..5000_u32).map(|i| char::from(b'a' + (i * i % (n + 7)) as u8 % 26)).collect();
        server.product(&root, json!({ "sku": format!("S-{n}"), "description": description })).await;
    }
    let path = "/api/products/findAll";
    let plain = server.get(&root, path).await.expect(200);
    assert!(plain.body.len() > 64 * 1024 && plain.header(CONTENT_LENGTH).is_some());
    for encoding in ["zstd", "gzip"] {
        let request = server.request(Method::GET, path).header(ACCEPT_ENCODING, encoding);
        let answer = server.send(request).await.expect(200);
        assert_eq!(answer.header(CONTENT_ENCODING), Some(encoding));
        assert!(answer.decoded() == plain.body, "{encoding}");
    }
}
