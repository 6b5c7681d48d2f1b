//! Heads that are too large.

use super::raw::Raw;
use crate::process::Home;

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_is_too_large_gets_431_and_the_connection_is_closed() {
    let home = Home::new();
    let service = home.start();
    let long = format!("GET / HTTP/1.1\r\nHost: agora\r\nX-Long: {}", "x".repeat(200_000));
    let raw = Raw::sending(&service.address, long.as_bytes()).await;
    raw.until_closed().await.expect_error(431);
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(97));
    let answer = Raw::only(&service.address, many.as_bytes()).await;
    assert!(answer.verify(431).closes(), "{answer:?}");
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn many_pipelined_requests_are_not_mistaken_for_a_large_head() {
    const REQUESTS: usize = 2000;
    let home = Home::new();
    let service = home.start();
    let one = "GET /api/products/findAll HTTP/1.1\r\nHost: agora\r\nX-Pad: 0123456789\r\n";
    let requests = format!("{one}\r\n").repeat(REQUESTS) + one + "Connection: close\r\n\r\n";
    assert!(requests.len() > 128 * 1024);
    let raw = Raw::sending(&service.address, requests.as_bytes()).await;
    let answers = raw.until_closed().await;
    assert_eq!(answers.text.matches("HTTP/1.1 200 OK").count(), REQUESTS + 1);
    service.stop();
}
