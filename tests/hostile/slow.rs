//! Clients that take their time: to send a head, a body, or to read an answer.

use std::time::Duration;

use reqwest::Method;
use tokio::task::block_in_place;

use super::raw::Raw;
use crate::client::{FORM, JSON, User, key, text};
use crate::picture::noise;
use crate::private_postgres;
use crate::process::{Home, Service};

/// What these tests give a client; 30 s by default.
const TIME: Duration = Duration::from_secs(2);

/// When it must have been cut: the time and how long it is listened to afterwards, on a busy machine.
const CUT: Duration = Duration::from_secs(15);

fn impatient(home: &Home) -> Service {
    home.start_with(&[("AGORA_CLIENT_TIMEOUT", "2s")])
}

/// The beginning of a request of somebody.
fn head(user: &User, request: &str, more: &str) -> String {
    format!("{request} HTTP/1.1\r\nHost: agora\r\n{}{more}\r\n", user.authorization())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_dawdles_is_answered_408_and_cut() {
    let home = Home::new();
    let service = impatient(&home);
    let begun = Raw::sending(&service.address, b"GET /api/products/findAll HTTP/1.1\r\nHost: ag").await;
    let silent = Raw::open(&service.address).await;
    let mut second = Raw::sending(&service.address, b"GET /api/products/findAll HTTP/1.1\r\nHost: agora\r\n\r\n").await;
    second.until("\"products\":[]").await;
    second.send(b"GET /api/products/findAll HTTP/1.1\r\n").await;
    let (begun, silent, second) = tokio::join!(begun.until_closed(), silent.until_closed(), second.until_closed());
    begun.expect_error(408).expect_within(TIME, CUT);
    second.expect_error(408).expect_within(TIME, CUT);
    assert_eq!(silent.text, "", "nothing was asked");
    silent.expect_within(TIME, CUT);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_dawdles_is_answered_408_and_cut() {
    let home = Home::new();
    let service = impatient(&home);
    let alice = service.api.user("alice").await;
    let (json, form) = (JSON, FORM);
    let keyed = "Idempotency-Key: one\r\n";
    let part = "--b\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nHel";
    let mut dawdling = Vec::new();
    for (more, body) in [
        (format!("{json}Content-Length: 100\r\n"), "{\"text\": \"Hel"),
        (format!("{json}Transfer-Encoding: chunked\r\n"), "8\r\n{\"text\":\r\n"),
        (format!("{form}Content-Length: 1000\r\n"), part),
        (format!("{json}{keyed}Content-Length: 100\r\n"), "{\"text\": \"Hel"),
        (format!("{form}{keyed}Content-Length: 1000\r\n"), part),
    ] {
        let request = head(&alice, "POST /api/posts/create", &more) + body;
        dawdling.push(Raw::sending(&service.address, request.as_bytes()).await);
    }
    for raw in dawdling {
        raw.until_closed().await.expect_error(408).expect_within(TIME, CUT);
    }
    assert_eq!(service.api.get(&alice, &format!("/api/posts/user/{}", alice.id)).await.data(), serde_json::json!([]));
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_dawdles_keeps_no_other_write_of_its_account_waiting() {
    let url = block_in_place(private_postgres::fresh_database);
    let home = Home::new();
    // One write of an account at a time.
    let service = block_in_place(|| home.start_with(&[("AGORA_DATABASE_URL", &url), ("AGORA_WORKERS", "2")]));
    let alice = service.api.user("alice").await;
    let post = text(&service.api.post(&alice, "Hello", None).await["id"]);
    let body = "{\"biography\": \"Slow\"}";
    let fields = format!("{JSON}Expect: 100-continue\r\nContent-Length: {}\r\n", body.len());
    let mut dawdling = Raw::sending(&service.address, head(&alice, "PUT /api/users/me", &fields).as_bytes()).await;
    dawdling.until("100 Continue").await;
    dawdling.send(&body.as_bytes()[..5]).await;
    let like = service.api.request_as(&alice, Method::PUT, &format!("/api/posts/like/{post}"));
    service.api.send(like).await.expect(200);
    dawdling.send(&body.as_bytes()[5..]).await;
    dawdling.until("\"biography\":\"Slow\"").await;
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_drips_is_answered_408_and_cut() {
    let home = Home::new();
    let service = impatient(&home);
    let alice = service.api.user("alice").await;
    let request = head(&alice, "POST /api/posts/create", "Content-Type: application/json\r\nContent-Length: 1000\r\n");
    let mut raw = Raw::sending(&service.address, request.as_bytes()).await;
    // Until the service no longer listens.
    for _ in 0..20 {
        if raw.try_send(b" ").await.is_err() {
            break;
        }
        tokio::time::sleep(TIME / 10).await;
    }
    raw.until_closed().await.expect_error(408).expect_within(TIME, CUT);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_body_that_dawdles_is_cut() {
    let home = Home::new();
    let service = impatient(&home);
    for length in ["Content-Length: 1000", "Transfer-Encoding: chunked"] {
        let head = format!("POST /api/posts/create HTTP/1.1\r\nHost: agora\r\n{length}\r\n\r\n3e8\r\n");
        let refused = Raw::sending(&service.address, head.as_bytes()).await.until_closed().await;
        refused.expect_error(401).expect_within(Duration::ZERO, CUT);
    }
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_its_answers_is_cut() {
    let home = Home::new();
    let service = impatient(&home);
    let alice = service.api.user("alice").await;
    let post = service.api.post(&alice, "Look", Some(&noise(1300))).await;
    let raw = Raw::sending(&service.address, &unread(&key(&post["image"]))).await;
    let cut = raw.cut().await;
    assert!((TIME..CUT).contains(&cut), "{cut:?}");
    service.stop();
}

/// Requests for an image, for so many megabytes that no buffers of the system hold them.
pub(crate) fn unread(key: &str) -> Vec<u8> {
    format!("GET /media/{key} HTTP/1.1\r\nHost: agora\r\n\r\n").repeat(10).into_bytes()
}
