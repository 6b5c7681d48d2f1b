//! More connections, requests and logins than the service accepts at a time.

use std::thread;
use std::time::Duration;

use tokio::task::JoinSet;

use super::raw::Raw;
use crate::client::eventually;
use crate::process::{HANG, Home, Service};

/// The maximum time of an immediate refusal, on a busy machine.
const IMMEDIATE: Duration = Duration::from_secs(10);

/// The maximum number of log lines about one kind of refusal in a test.
const MAX_LINES: usize = 10;

/// Returns the number of refusals in each log line about this limit.
fn logged_refusals(log: &str, setting: &str) -> Vec<u64> {
    let lines = log.lines().filter(|line| line.contains(setting));
    let count = |line: &str| line.split("refused=").nth(1)?.split(' ').next()?.parse().ok();
    lines.map(|line| count(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

/// A timeout that does not expire during a test.
const LONG_TIMEOUT: (&str, &str) = ("AGORA_CLIENT_TIMEOUT", "10m");

/// The head of a request whose body is still missing.
const UNFINISHED: &[u8] =
    b"POST /api/auth/login HTTP/1.1\r\nHost: agora\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\
      Expect: 100-continue\r\n\r\n";

/// Opens a connection and begins a request.
async fn begin(service: &Service) -> Raw {
    let mut raw = Raw::sending(&service.address, UNFINISHED).await;
    raw.until("100 Continue").await;
    raw
}

const COMPLETE: &[u8] = b"GET /api/products/findAll HTTP/1.1\r\nHost: agora\r\nConnection: close\r\n\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_beyond_the_limit_gets_503_and_is_closed() {
    let home = Home::new();
    let service = home.start_with(&[("AGORA_MAX_CONNECTIONS", "8"), LONG_TIMEOUT]);
    let mut open = Vec::new();
    for _ in 0..8 {
        open.push(begin(&service).await);
    }
    for _ in 0..50 {
        let refused = Raw::sending(&service.address, COMPLETE).await.until_closed().await;
        refused.expect_error(503).expect_within(Duration::ZERO, IMMEDIATE);
        assert!(refused.text.contains("retry-after: 1\r\n"), "{refused:?}");
    }
    drop(open);
    eventually("a connection is accepted", async || {
        let answer = Raw::sending(&service.address, COMPLETE).await.until_closed().await;
        answer.text.starts_with("HTTP/1.1 200").then_some(())
    })
    .await;
    let log = service.stop().stderr;
    let refused = logged_refusals(&log, "AGORA_MAX_CONNECTIONS");
    assert!(refused.len() <= MAX_LINES && refused.iter().sum::<u64>() >= 50, "few lines count all refusals: {log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_counts_all_refused_connections_even_if_many_come_at_once() {
    // More than get a 503 at a time: the others are closed without a response.
    const CROWD: usize = 400;
    let home = Home::new();
    let service = home.start_with(&[("AGORA_MAX_CONNECTIONS", "1"), LONG_TIMEOUT]);
    let open = begin(&service).await;
    let mut crowd = Vec::new();
    for _ in 0..CROWD {
        crowd.push(Raw::open(&service.address).await);
    }
    for raw in crowd {
        let refused = raw.until_closed().await;
        if !refused.text.is_empty() {
            refused.expect_error(503);
        }
    }
    drop(open);
    let log = service.stop().stderr;
    let refused = logged_refusals(&log, "AGORA_MAX_CONNECTIONS");
    assert!(refused.len() <= MAX_LINES, "too many lines: {log}");
    assert_eq!(refused.iter().sum::<u64>(), CROWD as u64, "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_beyond_the_limit_gets_503() {
    let home = Home::new();
    let service = home.start_with(&[("AGORA_MAX_REQUESTS", "4"), LONG_TIMEOUT]);
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(begin(&service).await);
    }
    for _ in 0..50 {
        let refused = Raw::sending(&service.address, COMPLETE).await.until_closed().await;
        refused.expect_error(503).expect_within(Duration::ZERO, IMMEDIATE);
        assert!(refused.text.contains("retry-after: 1\r\n") && refused.text.contains("x-request-id"), "{refused:?}");
    }
    drop(held);
    eventually("a request is accepted", async || {
        let answer = Raw::sending(&service.address, COMPLETE).await.until_closed().await;
        answer.text.starts_with("HTTP/1.1 200").then_some(())
    })
    .await;
    let log = service.stop().stderr;
    let refused = logged_refusals(&log, "AGORA_MAX_REQUESTS");
    assert!(refused.len() <= MAX_LINES && refused.iter().sum::<u64>() >= 50, "few lines count all refusals: {log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_one_address_leave_capacity_for_others() {
    let home = Home::new();
    let service = home.start_with(&[("AGORA_MAX_REQUESTS", "4"), ("AGORA_TRUSTED_PROXIES", "127.0.0.1"), LONG_TIMEOUT]);
    let from = |request: &[u8], address: &str| {
        String::from_utf8_lossy(request)
            .replacen("\r\n", &format!("\r\nX-Forwarded-For: {address}\r\n"), 1)
            .into_bytes()
    };
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut raw = Raw::sending(&service.address, &from(UNFINISHED, "198.51.100.7")).await;
        raw.until("100 Continue").await;
        held.push(raw);
    }
    Raw::sending(&service.address, &from(COMPLETE, "198.51.100.7")).await.until_closed().await.expect_error(503);
    for address in ["198.51.100.8", "127.0.0.1"] {
        let answer = Raw::sending(&service.address, &from(COMPLETE, address)).await.until_closed().await;
        assert!(answer.text.starts_with("HTTP/1.1 200"), "{answer:?}");
    }
    drop(held);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn logins_beyond_the_queue_get_503_at_once() {
    const BEYOND: usize = 20;
    let home = Home::new();
    // A hash takes seconds, so that the queue stays full.
    let service = home.start_with(&[("AGORA_BCRYPT_COST", "16")]);
    let hashing_threads = thread::available_parallelism().unwrap().get().saturating_sub(1).max(1);
    let mut logins = JoinSet::new();
    for n in 0..hashing_threads * 101 + BEYOND {
        let api = service.api.clone();
        logins.spawn(async move { api.login(&format!("user-{n}"), "whatever it is").await });
    }
    for _ in 0..BEYOND {
        let answer = tokio::time::timeout(HANG, logins.join_next()).await.expect("it is refused").unwrap().unwrap();
        answer.expect(503);
    }
    logins.abort_all();
    let log = service.kill().stderr;
    let lines = log.matches("too many passwords are waiting").count();
    assert!((1..BEYOND / 2).contains(&lines), "too many lines, or none: {log}");
}
