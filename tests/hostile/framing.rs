//! Request smuggling: requests with ambiguous or invalid framing, whose end a proxy may see elsewhere.

use std::time::{Duration, Instant};

use super::raw::Raw;
use crate::client::Response;
use crate::process::Home;

/// The request that an attacker smuggles behind another.
const HIDDEN: &str = "GET /hidden HTTP/1.1\r\nHost: agora\r\n\r\n";

/// Less than the time for which the service waits for a body.
const IMMEDIATE: Duration = Duration::from_secs(25);

/// A body of two bytes.
const CHUNKED: &str = "2\r\n{}\r\n0\r\n\r\n";

/// Sends a registration with these headers and this body, followed by [`HIDDEN`]. Returns the responses.
async fn register(address: &str, version: &str, fields: &str, body: &str) -> Vec<Response> {
    let head = format!("POST /api/auth/register HTTP/{version}\r\nHost: agora\r\nContent-Type: application/json\r\n");
    let bytes = format!("{head}{fields}\r\n{body}{HIDDEN}");
    Raw::exchange(address, [bytes.as_bytes()], &["POST", "GET", "GET"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_with_valid_framing_ends_there_and_the_next_request_is_served() {
    let home = Home::new();
    let service = home.start();
    for (fields, body) in [
        ("Content-Length: 2\r\n", "{}"),
        ("Content-Length: 002\r\n", "{}"),
        ("Content-Length:2 \t\r\n", "{}"),
        ("Transfer-Encoding: chunked\r\n", CHUNKED),
        ("transfer-encoding:\tCHUNKED \r\n", CHUNKED),
        ("Transfer-Encoding: chunked\r\n", "2 \r\n{}\r\n000\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\n", "1;a=\"b\"\r\n{\r\n01;c\r\n}\r\n0;d\r\nContent-Length: 50\r\n\r\n"),
    ] {
        let answers = register(&service.address, "1.1", fields, body).await;
        assert_eq!(answers.len(), 2, "{fields:?}: {answers:?}");
        assert!(String::from_utf8_lossy(&answers[0].verify(400).body).contains("Validation failed"), "{answers:?}");
        answers[1].verify(404);
    }
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_with_ambiguous_or_invalid_framing_gets_400_and_nothing_after_it_is_served() {
    let home = Home::new();
    let service = home.start();
    let mut heads = Vec::new();
    for length in [
        "+2",
        "-1",
        "0x2",
        "2, 2",
        "2,2",
        "2 2",
        "2;",
        "2.0",
        "1e0",
        "",
        " ",
        "99999999999999999999",
        "2\u{b}",
        "\u{b2}",
    ] {
        heads.push(("1.1", format!("Content-Length: {length}\r\n"), "{}"));
    }
    for coding in [
        "xchunked",
        "chunked, identity",
        "identity, chunked",
        "identity",
        "chunked,",
        ",chunked",
        "\"chunked\"",
        "gzip",
        "gzip, chunked",
        "chunked;q=1",
        "",
        "chunked\u{b}",
        "\u{b}chunked",
        "chunked chunked",
        "chun\0ked",
    ] {
        heads.push(("1.1", format!("Transfer-Encoding: {coding}\r\n"), CHUNKED));
    }
    for fields in [
        "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
        "Content-Length: 12\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n",
        "Transfer-Encoding : chunked\r\n",
        " Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding:\r\n chunked\r\n",
        "X: y\r\n Transfer-Encoding: chunked\r\n",
        "X: y\rTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding\0: chunked\r\n",
        "Transfer_Encoding\u{e9}: chunked\r\n",
        "Content-Length: 2\r\nContent-Length: 2\r\n",
        "Content-Length: 2\r\nContent-Length: 20\r\n",
        "Content-Length: 0\r\nContent-Length: 2\r\n",
        "Content-Length : 2\r\n",
        "Content-Length\t: 2\r\n",
        "Content-Length:\r\n 2\r\n",
        "Content-Length 2\r\n",
        ": 2\r\n",
    ] {
        heads.push(("1.1", fields.to_owned(), CHUNKED));
    }
    heads.push(("1.0", "Transfer-Encoding: chunked\r\n".to_owned(), CHUNKED));
    heads.push(("1.0", String::new(), "{}"));
    for (version, fields, body) in heads {
        let answers = register(&service.address, version, &fields, body).await;
        assert_eq!(answers.len(), 1, "{fields:?}: {answers:?}");
        assert!(answers[0].verify(400).closes(), "{fields:?}: {answers:?}");
    }
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_body_gets_400() {
    let home = Home::new();
    let service = home.start();
    let long = |length: &str| format!("Content-Length: {length}\r\n");
    let chunked = || "Transfer-Encoding: chunked\r\n".to_owned();
    for (fields, body) in [
        (long("1000"), "{}"),
        (long("18446744073709551615"), "{}"),
        (chunked(), "3e8\r\n{}"),
        (chunked(), "ffffffffffffffff\r\n{}"),
        (chunked(), "fffffffffffffffff\r\n{}"),
        (chunked(), "2\r\n{}\r\n"),
        (chunked(), "2\r\n{}\r\n0\r\nA: "),
    ] {
        let answers = register(&service.address, "1.1", &fields, body).await;
        assert_eq!(answers.len(), 1, "{fields:?} {body:?}: {answers:?}");
        answers[0].verify(400);
    }
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_request_with_a_body_gets_400_at_once() {
    let home = Home::new();
    let service = home.start();
    for connection in ["", "Connection: upgrade\r\n"] {
        for length in ["", "Content-Length: 2\r\n"] {
            let fields = format!("{connection}Upgrade: websocket\r\n{length}");
            let begun = Instant::now();
            let answers = register(&service.address, "1.1", &fields, "{}").await;
            let [answer] = &answers[..] else { panic!("{fields:?}: {answers:?}") };
            assert!(String::from_utf8_lossy(&answer.verify(400).body).contains("websocket"), "{fields:?} {answer:?}");
            assert!(begun.elapsed() < IMMEDIATE, "{fields:?}");
        }
    }
    // Without a body, the upgrade is ignored.
    let request =
        "GET /api/products/findAll HTTP/1.1\r\nHost: agora\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
    assert!(Raw::only(&service.address, request.as_bytes()).await.verify(200).closes());
    service.stop();
}
