//! The health probes, of a healthy service and an impaired one.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use reqwest::Method;
use reqwest::header::{CACHE_CONTROL, RETRY_AFTER};
use serde_json::{Value, json};
use url::Url;

use crate::support::{Response, Server};

const LIVE: &str = "/health/live";
const READY: &str = "/health/ready";

/// The time after which a test fails; far longer than anything here takes.
const TIMEOUT: Duration = Duration::from_secs(60);

fn statuses(answer: &Response) -> [Value; 3] {
    let data = answer.data();
    ["database", "images", "migrations"].map(|check| {
        let milliseconds = data[check]["milliseconds"].as_f64().unwrap();
        assert!((0.0..10_000.0).contains(&milliseconds), "{data}");
        data[check]["status"].clone()
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_healthy_service_reports_that_without_authentication() {
    let server = Server::start().await;
    let live = server.fetch(LIVE).await.expect(200);
    assert_eq!(live.json(), json!({ "message": "The service is alive", "data": null }));
    let ready = wait_for_readiness(&server, 200).await;
    assert_eq!(ready.json()["message"], "The service is ready");
    assert_eq!(statuses(&ready), ["ok", "ok", "ok"].map(Value::from));
    for path in [LIVE, READY] {
        assert_eq!(server.fetch(path).await.header(CACHE_CONTROL), Some("no-store"));
        assert!(server.send(server.request(Method::HEAD, path)).await.expect(200).body.is_empty());
        server.send(server.request(Method::POST, path)).await.expect_error(405, "Method not allowed");
    }
}

/// Requests readiness until it has the expected status.
async fn wait_for_readiness(server: &Server, status: u16) -> Response {
    let begun = Instant::now();
    loop {
        let answer = server.fetch(READY).await;
        if answer.status == status {
            return answer;
        }
        assert!(begun.elapsed() < TIMEOUT, "{answer:?}");
        // Outcomes are cached for a second.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_reflects_the_loss_and_return_of_the_image_store() {
    let parent = tempfile::tempdir().unwrap();
    let media = parent.path().join("media");
    let url = Url::from_file_path(&media).unwrap();
    let server = Server::start_with(|config| config.media_url = Some(url.into())).await;
    wait_for_readiness(&server, 200).await;
    fs::remove_dir(&media).unwrap();
    let answer = wait_for_readiness(&server, 503).await;
    assert_eq!(statuses(&answer), ["ok", "failed", "ok"].map(Value::from));
    let body = String::from_utf8(answer.body.clone()).unwrap();
    assert!(!body.contains("media") && !body.contains(parent.path().to_str().unwrap()), "{body}");
    assert_eq!(answer.header(RETRY_AFTER), Some("1"));
    server.fetch(LIVE).await.expect(200);
    fs::create_dir(&media).unwrap();
    wait_for_readiness(&server, 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn health_probes_are_answered_when_the_limit_on_requests_is_reached() {
    let server = Server::start_with(|config| config.max_requests = 1).await;
    let mut upload = TcpStream::connect(server.url().trim_start_matches("http://")).unwrap();
    upload.set_read_timeout(Some(TIMEOUT)).unwrap();
    let head = "POST /api/auth/login HTTP/1.1\r\nHost: agora\r\nContent-Type: application/json\r\n\
        Content-Length: 100\r\nExpect: 100-continue\r\n\r\n";
    upload.write_all(head.as_bytes()).unwrap();
    let mut went_on = [0; 12];
    upload.read_exact(&mut went_on).unwrap();
    assert_eq!(&went_on, b"HTTP/1.1 100");

    let listing = server.fetch("/api/products/findAll").await;
    listing.expect_error(503, "The service is overloaded");
    for path in [LIVE, READY] {
        server.fetch(path).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn health_probes_are_exempt_from_rate_limits() {
    let server = Server::start_with(|config| {
        config.trusted_proxies = "127.0.0.1".parse().unwrap();
        config.requests_per_address = Some(1);
    })
    .await;
    let from = |path: &str| server.request(Method::GET, path).header("X-Forwarded-For", "198.51.100.7");
    for path in [LIVE, READY].repeat(5) {
        server.send(from(path)).await.expect(200);
    }
    server.send(from("/api/products/findAll")).await.expect(200);
    server.send(from("/api/products/findAll")).await.expect_failure(429);
}
