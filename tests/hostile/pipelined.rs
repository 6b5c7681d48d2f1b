//! Pipelined requests.

use reqwest::Version;
use serde_json::json;

use super::raw::Raw;
use crate::client::{JSON, Response, key};
use crate::picture::picture;
use crate::process::{Home, Service};

/// A request, and the response to it if it is sent alone.
struct Case {
    method: &'static str,
    request: String,
    alone: Response,
}

impl Case {
    async fn new(service: &Service, line: &str, more: &str, body: &str) -> Self {
        let request = format!("{line} HTTP/1.1\r\nHost: agora\r\n{more}\r\n{body}");
        let method = if line.starts_with("HEAD") { "HEAD" } else { "GET" };
        let alone = Raw::exchange(&service.address, [request.as_bytes()], &[method]).await.pop().unwrap();
        assert!(!alone.closes(), "{alone:?}");
        Self { method, request, alone: without_varying_headers(alone) }
    }
}

/// Removes the headers that differ each time.
fn without_varying_headers(mut answer: Response) -> Response {
    for name in ["x-request-id", "date"] {
        answer.headers.remove(name);
    }
    answer
}

async fn cases(service: &Service) -> Vec<Case> {
    let alice = service.api.user("alice").await;
    let image = key(&service.api.post(&alice, "Look", Some(&picture())).await["image"]);
    let media = format!("/media/{image}");
    let get_media = Case::new(service, &format!("GET {media}"), "", "").await;
    let unchanged = format!("If-None-Match: {}\r\n", get_media.alone.header("etag").unwrap());
    let (token, json) = (alice.authorization(), JSON);
    let empty = json!({ "text": "\n\r\n\n\n" }).to_string();
    let length = format!("Content-Length: {}\r\n", empty.len());
    let blank = "{\r\n\r\n\"text\":\n\n\"\"}";
    let chunked = format!("3\r\n{}\r\n{:x};x\r\n{}\r\n0\r\nA: b\r\n\r\n", &blank[..3], blank.len() - 3, &blank[3..]);
    let te = "Transfer-Encoding: chunked\r\n";
    let catalog = "/api/products/findAll";
    vec![
        Case::new(service, &format!("HEAD {media}"), "", "").await,
        Case::new(service, &format!("GET {media}"), &unchanged, "").await,
        Case::new(service, &format!("HEAD {media}"), &unchanged, "").await,
        Case::new(service, &format!("GET {media}"), "Range: bytes=3-7\r\n", "").await,
        get_media,
        Case::new(service, &format!("GET {catalog}"), "", "").await,
        Case::new(service, &format!("HEAD {catalog}"), "", "").await,
        Case::new(service, &format!("PUT {catalog}"), "Content-Length: 0\r\n", "").await,
        Case::new(service, "GET /api/users/me", &token, "").await,
        Case::new(service, "HEAD /api/users/me", &token, "").await,
        Case::new(service, "GET /nowhere", "", "").await,
        Case::new(service, "HEAD /nowhere", "", "").await,
        Case::new(service, "POST /api/posts/create", &format!("{token}{json}{length}"), &empty).await,
        Case::new(service, "POST /api/posts/create", &format!("{token}{json}{te}"), &chunked).await,
        // Refused before the body is read.
        Case::new(service, "POST /api/posts/create", &format!("{json}{te}"), &chunked).await,
        Case::new(service, "GET /api/users/me", &format!("{token}{te}"), &chunked).await,
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn pipelined_requests_get_the_same_responses_as_if_each_was_sent_alone() {
    let home = Home::new();
    let service = home.start();
    let cases = cases(&service).await;
    // Each case is followed by every case, itself included.
    let pairs = cases.iter().flat_map(|one| cases.iter().map(move |other| [one, other]));
    let sent: Vec<&Case> = pairs.flatten().collect();
    let methods: Vec<_> = sent.iter().map(|case| case.method).collect();
    let bytes: String = sent.iter().map(|case| case.request.as_str()).collect();
    for size in [1 << 30, 8192, 1000, 61, 7] {
        let answers = Raw::exchange(&service.address, bytes.as_bytes().chunks(size), &methods).await;
        assert_eq!(answers.len(), sent.len(), "in pieces of {size}");
        for (n, (case, answer)) in sent.iter().zip(answers).enumerate() {
            assert_eq!(without_varying_headers(answer), case.alone, "{n}, in pieces of {size}: {}", case.request);
        }
    }
    service.stop();
}

const CATALOG: &str = "GET /api/products/findAll HTTP/1.1\r\nHost: agora\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn requests_after_one_that_closes_the_connection_get_no_response() {
    let home = Home::new();
    let service = home.start();
    for closes in
        ["Connection: close\r\n", "Connection: keep-alive, close\r\n", "Connection: upgrade\r\nUpgrade: h2c\r\n"]
    {
        // Too many to be read before the connection is closed.
        let behind = format!("{CATALOG}\r\n").repeat(50_000);
        let bytes = format!("{CATALOG}\r\n{CATALOG}{closes}\r\n{behind}");
        let answers = Raw::exchange(&service.address, [bytes.as_bytes()], &["GET"; 3]).await;
        assert_eq!(answers.len(), 2, "{closes}: {answers:?}");
        assert!(!answers[0].verify(200).closes() && answers[1].verify(200).closes(), "{closes}: {answers:?}");
    }
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_after_a_body_that_was_refused_unread_get_no_response() {
    let home = Home::new();
    let service = home.start_with(&[("AGORA_CORS_ORIGINS", "https://app.example.org")]);
    let preflight = "OPTIONS /api/posts/create HTTP/1.1\r\nHost: agora\r\nOrigin: https://app.example.org\r\n\
                     Access-Control-Request-Method: POST\r\n";
    let create = "POST /api/posts/create HTTP/1.1\r\nHost: agora\r\n";
    for (head, status) in [(create, 401), (preflight, 200)] {
        for behind in ["x".repeat(500_000), "GET / HTTP/9\r\n\r\n".repeat(1000), format!("{CATALOG}\r\n").repeat(1000)]
        {
            let bytes = format!("{CATALOG}\r\n{head}Content-Length: 2\r\n\r\n{{}}{behind}");
            for size in [1 << 30, 100_000, 47] {
                let pieces = bytes.as_bytes().chunks(size).take(2000);
                let answers = Raw::exchange(&service.address, pieces, &["GET"; 3]).await;
                assert_eq!(answers.len(), 2, "{behind:.20}: {answers:?}");
                assert!(answers[1].verify(status).closes(), "{answers:?}");
            }
        }
    }
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_has_the_http_version_of_its_request() {
    let home = Home::new();
    let service = home.start();
    let old = "GET /api/products/findAll HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
    let bytes = format!("{CATALOG}\r\n{old}{CATALOG}\r\n{old}{old}");
    let answers = Raw::exchange(&service.address, [bytes.as_bytes()], &["GET"; 5]).await;
    let versions: Vec<_> = answers.iter().map(|answer| (answer.version, answer.status)).collect();
    let (new, old) = ((Version::HTTP_11, 200), (Version::HTTP_10, 200));
    assert_eq!(versions, [new, old, new, old, old]);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_over_http_1_0_has_no_chunks_and_ends_with_the_connection() {
    let home = Home::new();
    let service = home.start();
    let token = service.api.user("alice").await.authorization();
    let request = format!("GET /api/users/me/export HTTP/1.0\r\n{token}Connection: keep-alive\r\n\r\n");
    let answer = Raw::sending(&service.address, request.as_bytes()).await.until_closed().await.text;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.0 200") && !head.contains("transfer-encoding"), "{head}");
    assert!(!head.contains("keep-alive") && body.starts_with("PK"), "{answer}");
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_request_gets_one_response_after_those_of_the_valid_ones_before_it() {
    let home = Home::new();
    let service = home.start();
    for bad in ["GET / HTTP/9.9\r\n\r\n", "\x16\x03\x01\x02", "GET / HTTP/1.1\r\n\r\n", "GET /\0"] {
        let bytes = format!("{CATALOG}\r\n{CATALOG}\r\n{bad}{CATALOG}\r\n{CATALOG}\r\n");
        let answers = Raw::exchange(&service.address, [bytes.as_bytes()], &["GET"; 4]).await;
        assert_eq!(answers.len(), 3, "{bad:?}: {answers:?}");
        assert!(answers[0].verify(200) == &answers[0] && !answers[1].verify(200).closes());
        assert!(answers[2].verify(400).closes(), "{bad:?}: {answers:?}");
    }
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_chunked_body_gets_one_response_and_nothing_after_it_is_served() {
    let home = Home::new();
    let service = home.start();
    let alice = service.api.user("alice").await;
    let behind = format!("{CATALOG}\r\n");
    let token = alice.authorization();
    for (token, status) in [(token.as_str(), 400), ("", 401)] {
        let head = format!(
            "POST /api/posts/create HTTP/1.1\r\nHost: agora\r\n{token}Content-Type: application/json\r\n\
             Transfer-Encoding: chunked\r\n\r\n"
        );
        for bad in [
            "-2\r\n",
            "zz\r\n",
            "2\n{}\n0\n\n",
            "2\r\n{}0\r\n\r\n",
            "2\r\n{}\r\n0\r\nA: \0\r\n\r\n",
            "\r\n",
            "2;\0\r\n{}",
        ] {
            let bytes = format!("{CATALOG}\r\n{head}{bad}{}", behind.repeat(10));
            for pieces in [bytes.as_bytes().chunks(1 << 30), bytes.as_bytes().chunks(11)] {
                let answers = Raw::exchange(&service.address, pieces, &["GET"; 3]).await;
                assert_eq!(answers.len(), 2, "{bad:?}: {answers:?}");
                answers[0].verify(200);
                assert!(answers[1].verify(status).closes() || status == 401, "{bad:?}: {answers:?}");
            }
        }
    }
    service.stop();
}
