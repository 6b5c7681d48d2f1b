//! More at once than the service takes on.

use std::thread;
use std::time::Duration;

use tokio::task::JoinSet;

use super::raw::Raw;
use crate::client::eventually;
use crate::process::{HANG, Home, Service};

/// What is refused is refused at once, on a busy machine.
const QUICK: Duration = Duration::from_secs(10);

/// What a test of a minute or so has logged of one kind of refusal at most.
const MOST_LINES: usize = 10;

/// How many were refused, line by line, of what the limit is for.
fn told(log: &str, setting: &str) -> Vec<u64> {
    let lines = log.lines().filter(|line| line.contains(setting));
    let count = |line: &str| line.split("refused=").nth(1)?.split(' ').next()?.parse().ok();
    lines.map(|line| count(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

/// Whoever holds a place holds it for as long as a test takes.
const PATIENT: (&str, &str) = ("AGORA_CLIENT_TIMEOUT", "10m");

/// The head of a request of which the body is still to come.
const BEGINS: &[u8] =
    b"POST /api/auth/login HTTP/1.1\r\nHost: agora\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\
      Expect: 100-continue\r\n\r\n";

/// Opens a connection and begins a request.
async fn begin(service: &Service) -> Raw {
    let mut raw = Raw::sending(&service.address, BEGINS).await;
    raw.until("100 Continue").await;
    raw
}

const ASKS: &[u8] = b"GET /api/products/findAll HTTP/1.1\r\nHost: agora\r\nConnection: close\r\n\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_beyond_the_limit_is_answered_503_and_closed() {
    let home = Home::new();
    let service = home.start_with(&[("AGORA_MAX_CONNECTIONS", "8"), PATIENT]);
    let mut taken = Vec::new();
    for _ in 0..8 {
        taken.push(begin(&service).await);
    }
    for _ in 0..50 {
        let refused = Raw::sending(&service.address, ASKS).await.until_closed().await;
        refused.expect_error(503).expect_within(Duration::ZERO, QUICK);
        assert!(refused.text.contains("retry-after: 1\r\n"), "{refused:?}");
    }
    drop(taken);
    eventually("there is a place", async || {
        let answer = Raw::sending(&service.address, ASKS).await.until_closed().await;
        answer.text.starts_with("HTTP/1.1 200").then_some(())
    })
    .await;
    let log = service.stop().stderr;
    let refused = told(&log, "AGORA_MAX_CONNECTIONS");
    assert!(refused.len() <= MOST_LINES && refused.iter().sum::<u64>() >= 50, "few lines that tell of all: {log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_crowd_of_connections_beyond_the_limit_the_log_tells_how_many_were_refused() {
    // More than are told so at a time.
    const CROWD: usize = 400;
    let home = Home::new();
    let service = home.start_with(&[("AGORA_MAX_CONNECTIONS", "1"), PATIENT]);
    let taken = begin(&service).await;
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
    drop(taken);
    let log = service.stop().stderr;
    let refused = told(&log, "AGORA_MAX_CONNECTIONS");
    assert!(refused.len() <= MOST_LINES, "a few lines, not a flood: {log}");
    assert_eq!(refused.iter().sum::<u64>(), CROWD as u64, "{log}");
    assert!(!log.contains("to tell"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_beyond_the_limit_is_answered_503() {
    let home = Home::new();
    let service = home.start_with(&[("AGORA_MAX_REQUESTS", "4"), PATIENT]);
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(begin(&service).await);
    }
    for _ in 0..50 {
        let refused = Raw::sending(&service.address, ASKS).await.until_closed().await;
        refused.expect_error(503).expect_within(Duration::ZERO, QUICK);
        assert!(refused.text.contains("retry-after: 1\r\n") && refused.text.contains("x-request-id"), "{refused:?}");
    }
    drop(held);
    eventually("there is a place", async || {
        let answer = Raw::sending(&service.address, ASKS).await.until_closed().await;
        answer.text.starts_with("HTTP/1.1 200").then_some(())
    })
    .await;
    let log = service.stop().stderr;
    let refused = told(&log, "AGORA_MAX_REQUESTS");
    assert!(refused.len() <= MOST_LINES && refused.iter().sum::<u64>() >= 50, "few lines that tell of all: {log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_requests_of_one_address_leave_room_for_those_of_others() {
    let home = Home::new();
    let service = home.start_with(&[("AGORA_MAX_REQUESTS", "4"), ("AGORA_TRUSTED_PROXIES", "127.0.0.1"), PATIENT]);
    let of = |request: &[u8], address: &str| {
        String::from_utf8_lossy(request)
            .replacen("\r\n", &format!("\r\nX-Forwarded-For: {address}\r\n"), 1)
            .into_bytes()
    };
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut raw = Raw::sending(&service.address, &of(BEGINS, "198.51.100.7")).await;
        raw.until("100 Continue").await;
        held.push(raw);
    }
    Raw::sending(&service.address, &of(ASKS, "198.51.100.7")).await.until_closed().await.expect_error(503);
    for address in ["198.51.100.8", "127.0.0.1"] {
        let answer = Raw::sending(&service.address, &of(ASKS, address)).await.until_closed().await;
        assert!(answer.text.starts_with("HTTP/1.1 200"), "{answer:?}");
    }
    drop(held);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn logins_beyond_those_that_wait_are_answered_503_at_once() {
    const BEYOND: usize = 20;
    let home = Home::new();
    // A hash takes seconds: none of those that wait has its turn meanwhile.
    let service = home.start_with(&[("AGORA_BCRYPT_COST", "16")]);
    let at_once = thread::available_parallelism().unwrap().get().saturating_sub(1).max(1);
    let mut logins = JoinSet::new();
    for n in 0..at_once * 101 + BEYOND {
        let api = service.api.clone();
        logins.spawn(async move { api.login(&format!("user-{n}"), "whatever it is").await });
    }
    for _ in 0..BEYOND {
        let answer = tokio::time::timeout(HANG, logins.join_next()).await.expect("it waits").unwrap().unwrap();
        answer.expect(503);
    }
    logins.abort_all();
    let log = service.kill().stderr;
    let told = log.matches("too many passwords are waiting").count();
    assert!((1..BEYOND / 2).contains(&told), "a few lines, not a flood: {log}");
}
