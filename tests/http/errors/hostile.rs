//! Requests that no client library sends: each is answered with a status that fits, and never with 500.

use reqwest::Method;
use reqwest::header::AUTHORIZATION;
use serde_json::json;

use super::NOTHING;
use crate::support::{Response, Server, User};

/// Sends a request with this target, without any encoding.
fn raw(server: &Server, user: &User, method: &str, target: &str) -> Response {
    let head = format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    server.send_raw(format!("{head}Authorization: Bearer {}\r\n\r\n", user.token).as_bytes())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nul_character_in_path_or_query_is_refused() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for target in [
        "/api/posts/by-id/%00",
        &format!("/api/posts/by-id/{NOTHING}%00"),
        &format!("/api/posts/%00{NOTHING}/all"),
        "/api/products/category/a%00b",
        "/api/products/%00",
        "/media/%00.png",
        "/api/posts/following/all?size=1%00",
        "/api/posts/following/all?cursor=%00",
        "/api/posts/following/all?createAt=2025-01-01%00",
        "/api/products/findAll?q=a%00b",
        "/api/products/findAll?category=%00",
        "/api/products/findAll?unknown=%00",
    ] {
        raw(&server, &alice, "GET", target).expect_failure(400);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nul_character_in_a_text_is_a_validation_failure_of_its_field() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let post = server.publish(&alice, "a", "PUBLIC").await;
    for (method, path, body, field) in [
        (Method::POST, "/api/posts/create", json!({ "text": "a\0" }), "text"),
        (Method::POST, "/api/posts/create", json!({ "content": "a\0" }), "text"),
        (Method::POST, "/api/posts/create", json!({ "text": "a", "visibility": "PUBLIC\0" }), "visibility"),
        (Method::PUT, &format!("/api/posts/update/{post}"), json!({ "text": "\0" }), "text"),
        (Method::POST, "/api/comments/create", json!({ "postId": post, "content": "\0a" }), "content"),
        (Method::POST, "/api/comments/create", json!({ "postId": format!("{post}\0"), "content": "a" }), "postId"),
        (Method::PUT, "/api/comments/update", json!({ "postId": post, "content": "a\0a" }), "content"),
        (Method::PUT, "/api/users/me", json!({ "biography": "a\0" }), "biography"),
        (Method::POST, "/api/auth/login", json!({ "identifier": "alice\0", "password": "a" }), "identifier"),
    ] {
        server.call_json(&alice, method, path, body).await.expect_invalid(&[field]);
    }
    for (method, path, field, key) in [
        (Method::POST, "/api/posts/create", "text", "text"),
        (Method::POST, "/api/posts/create", "content", "text"),
        (Method::PUT, &format!("/api/posts/update/{post}"), "text", "text"),
        (Method::PUT, "/api/users/me", "biography", "biography"),
    ] {
        let form = reqwest::multipart::Form::new().text(field, "a\0b");
        server.call_form(&alice, method, path, form).await.expect_invalid(&[key]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_path_or_query_breaks_the_server() {
    let server = Server::start().await;
    let (alice, root) = (server.user("alice").await, server.root().await);
    let (long, very_long) = ("a".repeat(8_000), "%41".repeat(10_000));
    let mut targets = Vec::new();
    for junk in [
        "%",
        "%zz",
        "%ff",
        "%c3%28",
        "%ed%a0%80",
        "%2e%2e",
        "..",
        ".",
        "%2f",
        "%5c",
        "{}",
        "*",
        "'",
        "%22",
        "%0d%0a",
        "%25",
        "-1",
        "0",
        "99999999999999999999999999",
        "0x10",
        "null",
        &long,
        &very_long,
    ] {
        for before in [
            "/",
            "/api/",
            "/api/posts/by-id/",
            "/api/posts/user/",
            "/api/comments/all/",
            "/api/follow/followers/",
            "/api/users/by-id/",
            "/api/products/",
            "/api/products/category/",
            "/media/",
        ] {
            targets.push(format!("{before}{junk}"));
        }
        for parameter in ["size", "cursor", "createAt", "q", "category", junk] {
            targets.push(format!("/api/posts/following/all?{parameter}={junk}"));
            targets.push(format!("/api/products/findAll?{parameter}={junk}"));
        }
    }
    for instant in [
        "9999-12-31T23:59:59.999Z",
        "0000-01-01",
        "-9999-01-01",
        "+999999-12-31T00:00:00Z",
        "2025-02-30",
        "2025-01-01T00:00:00.99999999999999999999Z",
        "2016-12-31T23:59:60Z",
        "2025-01-01T00:00:00+99:99",
        "2025-01-01T00:00:00-23:59",
    ] {
        targets.push(format!("/api/posts/following/all?createAt={instant}"));
    }
    targets.push(format!("/api/posts/following/all?{}", "size=1&".repeat(5_000)));
    for target in &targets {
        for caller in [&alice, &root] {
            let answer = raw(&server, caller, "GET", target);
            assert!(answer.status < 500, "{target:.80}: {answer:?}");
            if answer.status != 200 {
                let status = answer.status;
                answer.expect_failure(status);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_authorization_header_breaks_the_server() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for value in [
        b"".as_slice(),
        b"Bearer",
        b"Bearer ",
        b"Basic YWxpY2U6Y29ycmVjdCBob3JzZQ==",
        b"Bearer \xff\xfe",
        b"\xff",
        b"Bearer a b c",
        b"Bearer ..",
        "Bearer ".repeat(1_000).as_bytes(),
        &[b"Bearer ", "a".repeat(30_000).as_bytes()].concat(),
        alice.token.as_bytes(),
    ] {
        let request = server.request(Method::GET, "/api/users/me").header(AUTHORIZATION, value);
        server.send(request).await.expect_failure(401);
    }
    let lower_case =
        server.request(Method::GET, "/api/users/me").header(AUTHORIZATION, format!("bearer {}", alice.token));
    server.send(lower_case).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_with_broken_encoding_is_refused_and_the_server_keeps_running() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let head = format!(
        "POST /api/posts/create HTTP/1.1\r\nHost: localhost\r\n\
         Authorization: Bearer {}\r\nContent-Type: application/json\r\n",
        alice.token
    );
    let broken_chunks = format!("{head}Transfer-Encoding: chunked\r\n\r\nzz\r\n{{}}\r\n0\r\n\r\n");
    server.send_raw(broken_chunks.as_bytes()).expect_failure(400);
    // Invalid HTTP is rejected before it reaches a handler, but with the same envelope.
    for request in [
        "nonsense\r\n\r\n".to_owned(),
        "GET / HTTP/9.9\r\n\r\n".to_owned(),
        "GET / HTTP/1.1\r\nno header\r\n\r\n".to_owned(),
        format!("{head}Content-Length: -1\r\n\r\n"),
        format!("{head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}"),
        format!("{head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{{}}"),
    ] {
        server.send_raw(request.as_bytes()).expect_failure(400);
    }
    server.get(&alice, "/api/users/me").await.expect(200);
}
