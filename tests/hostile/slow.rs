//! Clients that are slow to send a head or a body, or to read a response.

use std::time::Duration;

use reqwest::Method;
use tokio::task::block_in_place;

use super::raw::Raw;
use crate::client::{FORM, JSON, User, key, text};
use crate::picture::noise;
use crate::private_postgres;
use crate::process::{Home, Service};

/// The client timeout in these tests; 30 s by default.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(2);

/// The maximum time until a connection is closed: the timeout, and the time for which the service then still reads, on a busy
/// machine.
const MAX_CLOSE: Duration = Duration::from_secs(15);

fn start_with_short_timeout(home: &Home) -> Service {
    home.start_with(&[("AGORA_CLIENT_TIMEOUT", "2s")])
}

/// Returns the head of a user's request.
fn head(user: &User, request: &str, more: &str) -> String {
    format!("{request} HTTP/1.1\r\nHost: agora\r\n{}{more}\r\n", user.authorization())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_head_gets_408_and_the_connection_is_closed() {
    let home = Home::new();
    let service = start_with_short_timeout(&home);
    let begun = Raw::sending(&service.address, b"GET /api/products/findAll HTTP/1.1\r\nHost: ag").await;
    let silent = Raw::open(&service.address).await;
    let mut second = Raw::sending(&service.address, b"GET /api/products/findAll HTTP/1.1\r\nHost: agora\r\n\r\n").await;
    second.until("\"products\":[]").await;
    second.send(b"GET /api/products/findAll HTTP/1.1\r\n").await;
    let (begun, silent, second) = tokio::join!(begun.until_closed(), silent.until_closed(), second.until_closed());
    begun.expect_error(408).expect_within(CLIENT_TIMEOUT, MAX_CLOSE);
    second.expect_error(408).expect_within(CLIENT_TIMEOUT, MAX_CLOSE);
    assert_eq!(silent.text, "", "no response without a request");
    silent.expect_within(CLIENT_TIMEOUT, MAX_CLOSE);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unfinished_body_gets_408_and_the_connection_is_closed() {
    let home = Home::new();
    let service = start_with_short_timeout(&home);
    let alice = service.api.user("alice").await;
    let (json, form) = (JSON, FORM);
    let keyed = "Idempotency-Key: one\r\n";
    let part = "--b\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nHel";
    let mut unfinished = Vec::new();
    for (more, body) in [
        (format!("{json}Content-Length: 100\r\n"), "{\"text\": \"Hel"),
        (format!("{json}Transfer-Encoding: chunked\r\n"), "8\r\n{\"text\":\r\n"),
        (format!("{form}Content-Length: 1000\r\n"), part),
        (format!("{json}{keyed}Content-Length: 100\r\n"), "{\"text\": \"Hel"),
        (format!("{form}{keyed}Content-Length: 1000\r\n"), part),
    ] {
        let request = head(&alice, "POST /api/posts/create", &more) + body;
        unfinished.push(Raw::sending(&service.address, request.as_bytes()).await);
    }
    for raw in unfinished {
        raw.until_closed().await.expect_error(408).expect_within(CLIENT_TIMEOUT, MAX_CLOSE);
    }
    assert_eq!(service.api.get(&alice, &format!("/api/posts/user/{}", alice.id)).await.data(), serde_json::json!([]));
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_body_does_not_delay_other_writes_of_its_account() {
    let url = block_in_place(private_postgres::fresh_database);
    let home = Home::new();
    // On PostgreSQL, the writes of an account are serialized.
    let service = block_in_place(|| home.start_with(&[("AGORA_DATABASE_URL", &url), ("AGORA_WORKERS", "2")]));
    let alice = service.api.user("alice").await;
    let post = text(&service.api.post(&alice, "Hello", None).await["id"]);
    let body = "{\"biography\": \"Slow\"}";
    let fields = format!("{JSON}Expect: 100-continue\r\nContent-Length: {}\r\n", body.len());
    let mut slow = Raw::sending(&service.address, head(&alice, "PUT /api/users/me", &fields).as_bytes()).await;
    slow.until("100 Continue").await;
    slow.send(&body.as_bytes()[..5]).await;
    let like = service.api.request_as(&alice, Method::PUT, &format!("/api/posts/like/{post}"));
    service.api.send(like).await.expect(200);
    slow.send(&body.as_bytes()[5..]).await;
    slow.until("\"biography\":\"Slow\"").await;
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_arrives_byte_by_byte_gets_408_and_the_connection_is_closed() {
    let home = Home::new();
    let service = start_with_short_timeout(&home);
    let alice = service.api.user("alice").await;
    let request = head(&alice, "POST /api/posts/create", "Content-Type: application/json\r\nContent-Length: 1000\r\n");
    let mut raw = Raw::sending(&service.address, request.as_bytes()).await;
    // Until the service stops reading.
    for _ in 0..20 {
        if raw.try_send(b" ").await.is_err() {
            break;
        }
        tokio::time::sleep(CLIENT_TIMEOUT / 10).await;
    }
    raw.until_closed().await.expect_error(408).expect_within(CLIENT_TIMEOUT, MAX_CLOSE);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_connection_of_a_refused_unfinished_body_is_closed() {
    let home = Home::new();
    let service = start_with_short_timeout(&home);
    for length in ["Content-Length: 1000", "Transfer-Encoding: chunked"] {
        let head = format!("POST /api/posts/create HTTP/1.1\r\nHost: agora\r\n{length}\r\n\r\n3e8\r\n");
        let refused = Raw::sending(&service.address, head.as_bytes()).await.until_closed().await;
        refused.expect_error(401).expect_within(Duration::ZERO, MAX_CLOSE);
    }
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_connection_of_a_client_that_does_not_read_responses_is_closed() {
    let home = Home::new();
    let service = start_with_short_timeout(&home);
    let alice = service.api.user("alice").await;
    let post = service.api.post(&alice, "Look", Some(&noise(1300))).await;
    let raw = Raw::sending(&service.address, &large_downloads(&key(&post["image"]))).await;
    let after = raw.until_cut().await;
    assert!((CLIENT_TIMEOUT..MAX_CLOSE).contains(&after), "{after:?}");
    service.stop();
}

/// Returns requests whose responses exceed all buffers of the connection.
pub(crate) fn large_downloads(key: &str) -> Vec<u8> {
    format!("GET /media/{key} HTTP/1.1\r\nHost: agora\r\n\r\n").repeat(10).into_bytes()
}
