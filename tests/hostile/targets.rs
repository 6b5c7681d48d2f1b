//! Unusual and malformed request lines, headers and URLs.

use reqwest::Version;
use serde_json::json;

use super::raw::Raw;
use crate::client::{PASSWORD, Response};
use crate::process::Home;

const CATALOG: &str = "/api/products/findAll";

/// Sends a request that consists of this line and a `Host`, and returns the response.
async fn line(address: &str, line: &str) -> Response {
    Raw::only(address, format!("{line}\r\nHost: agora\r\n\r\n").as_bytes()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn unusual_request_lines_get_ordinary_responses() {
    let home = Home::new();
    let service = home.start();
    let (long, longer, many) = ("a".repeat(60_000), "M".repeat(3000), "a=1&".repeat(15_000));
    for (target, status) in [
        (&*format!("GET http://evil.example{CATALOG} HTTP/1.1"), 200),
        (&*format!("GET {CATALOG}#fragment HTTP/1.1"), 200),
        (&*format!("GET {CATALOG}?{many} HTTP/1.1"), 200),
        (&*format!("GET {CATALOG}?q=%ff HTTP/1.1"), 200),
        (&*format!("GET {CATALOG}?q=% HTTP/1.1"), 200),
        ("GET /api/products/category/%ff HTTP/1.1", 200),
        ("GET http://evil.example HTTP/1.1", 404),
        ("GET evil.example:80 HTTP/1.1", 404),
        ("GET * HTTP/1.1", 404),
        ("OPTIONS * HTTP/1.1", 404),
        ("CONNECT evil.example:80 HTTP/1.1", 404),
        ("GET /media/%2e%2e/%2e%2e/etc/passwd HTTP/1.1", 404),
        ("GET /media/../jwt-secret HTTP/1.1", 404),
        ("GET /media/%252e%252e%252fjwt-secret HTTP/1.1", 404),
        ("GET /docs/../../etc/passwd HTTP/1.1", 404),
        ("GET /docs/%2e%2e/%2e%2e/etc/passwd HTTP/1.1", 404),
        ("GET /api%2fproducts%2ffindAll HTTP/1.1", 404),
        ("GET //api/products/findAll HTTP/1.1", 404),
        ("GET /%00 HTTP/1.1", 404),
        (&*format!("GET /{long} HTTP/1.1"), 404),
        (&*format!("TRACE {CATALOG} HTTP/1.1"), 405),
        (&*format!("CONNECT {CATALOG} HTTP/1.1"), 405),
        (&*format!("OPTIONS {CATALOG} HTTP/1.1"), 405),
        (&*format!("PATCH {CATALOG} HTTP/1.1"), 405),
        (&*format!("get {CATALOG} HTTP/1.1"), 405),
        (&*format!("{longer} {CATALOG} HTTP/1.1"), 405),
        (&*format!("GET {CATALOG}?q={long} HTTP/1.1"), 400),
        (&*format!("GET {CATALOG}?q=%00 HTTP/1.1"), 400),
        ("GET /api/products/%00 HTTP/1.1", 400),
        ("GET /api/products/%zz HTTP/1.1", 400),
    ] {
        let answer = line(&service.address, target).await;
        answer.verify(status);
        assert_eq!(status == 405, answer.header("allow").is_some(), "{target}: {answer:?}");
    }
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_http_gets_400_and_the_connection_is_closed() {
    let home = Home::new();
    let service = home.start();
    for bad in [
        "GET /",
        "GET / HTTP/1.2",
        "GET / HTTP/2.0",
        "GET / http/1.1",
        "GET / HTTP/1.1 ",
        "GET  / HTTP/1.1",
        "GET\t/ HTTP/1.1",
        " GET / HTTP/1.1",
        "GET  HTTP/1.1",
        "G(T / HTTP/1.1",
        "GET /a\0b HTTP/1.1",
        "GET /\u{e9} HTTP/1.1",
        "GET /a b HTTP/1.1",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
        "\x16\x03\x01\x02\0\x01\0\x01\u{fc}\x03\x03",
        "\0",
        "GET / HTTP/1.1\r\nX : y",
        "GET / HTTP/1.1\r\nX: y\r\n z",
        "GET / HTTP/1.1\r\nX: \0",
        "GET / HTTP/1.1\r\nX\0: y",
        "GET / HTTP/1.1\r\nX: \x7f",
        "GET / HTTP/1.1\r\nX: a\rb",
        "GET / HTTP/1.1\r\nX",
        "GET / HTTP/1.1\r\n: x",
        "GET / HTTP/1.1\r\n\u{e9}: x",
        "GET / HTTP/1.1\r\nHost: b",
    ] {
        let answer = line(&service.address, bad).await;
        assert!(answer.verify(400).closes(), "{bad:?}: {answer:?}");
    }
    let no_host = Raw::only(&service.address, b"GET / HTTP/1.1\r\n\r\n").await;
    assert!(no_host.verify(400).closes(), "{no_host:?}");
    // A client that goes on sending for a while still receives the response.
    let large = [b"GET / HTTP/9\r\n".as_slice(), &vec![b'x'; 3_000_000]].concat();
    Raw::only(&service.address, &large).await.verify(400);
    let log = service.stop().stderr;
    assert!(log.lines().count() < 10, "too many lines: {log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn upgrades_are_ignored_and_expect_100_continue_works() {
    let home = Home::new();
    let service = home.start();
    let request = |fields: &str| format!("GET {CATALOG} HTTP/1.1\r\nHost: agora\r\n{fields}\r\n");
    for upgrade in [
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n",
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n",
    ] {
        let answer = Raw::only(&service.address, request(upgrade).as_bytes()).await;
        assert!(answer.verify(200).closes() && answer.header("upgrade").is_none(), "{answer:?}");
    }
    let unknown = "Expect: 200-maybe\r\n";
    Raw::only(&service.address, request(unknown).as_bytes()).await.verify(200);
    let expecting = request("Expect: 100-continue\r\n");
    let answers = Raw::exchange(&service.address, [expecting.as_bytes()], &["GET"; 2]).await;
    assert_eq!((answers[0].version, answers[0].status), (Version::HTTP_11, 100));
    answers[1].verify(200);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn input_of_a_request_cannot_inject_response_headers() {
    const PUBLIC: &str = "https://api.example.org";
    let home = Home::new();
    let service = home.start_with(&[
        ("AGORA_ADMIN_USERNAME", "root"),
        ("AGORA_ADMIN_EMAIL", "root@example.org"),
        ("AGORA_ADMIN_PASSWORD", PASSWORD),
        ("AGORA_PUBLIC_URL", PUBLIC),
        ("AGORA_CORS_ORIGINS", "https://app.example.org"),
    ]);
    let root = service.api.log_in("root").await;
    for sku in ["one", "two"] {
        let product = json!({
            "sku": sku, "name": "Thing", "description": "a\r\nX-Evil: 1", "category": "Things"
        });
        service.api.product(&root, product).await;
    }
    let query = "size=1&q=a%0d%0aX-Evil:%201&x=%0d%0aX-Evil:%201&category=things";
    let fields = "Host: evil.example\r\nX-Forwarded-Host: evil.example\r\nForwarded: host=evil.example\r\n\
                  X-Request-Id: evil.example\r\nOrigin: https://evil.example\r\nIf-None-Match: \"evil.example\"\r\n\
                  X-Forwarded-Proto: evil.example\r\n";
    for target in [format!("http://evil.example{CATALOG}?{query}"), format!("{CATALOG}?{query}")] {
        let request = format!("GET {target} HTTP/1.1\r\n{fields}\r\n");
        let answer = Raw::only(&service.address, request.as_bytes()).await;
        answer.verify(200);
        let link = answer.header("link").expect("there is a next page");
        assert!(link.starts_with(&format!("<{PUBLIC}/")) && link.contains("%0D%0A"), "{link}");
        for (name, value) in &answer.headers {
            assert!(name != "x-evil" && !value.to_str().unwrap().contains("evil.example"), "{name}: {value:?}");
        }
    }
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn preflights_with_other_origins_or_malformed_headers_are_refused() {
    let home = Home::new();
    for (allowed, status) in [("https://app.example.org", 400), ("", 405)] {
        let service = home.start_with(&[("AGORA_CORS_ORIGINS", allowed)]);
        for origin in [
            "https://evil.example",
            "null",
            "",
            "\u{ff}",
            "HTTPS://APP.EXAMPLE.ORG",
            "https://app.example.org/",
            "https://app.example.org:443",
            "https://app.example.org.evil.example",
            "https://app.example.org, https://evil.example",
            "https://evil.example\r\nOrigin: https://app.example.org",
        ] {
            let request = format!(
                "OPTIONS {CATALOG} HTTP/1.1\r\nHost: agora\r\nOrigin: {origin}\r\n\
                 Access-Control-Request-Method: GET\r\nAccess-Control-Request-Headers: authorization\r\n\r\n"
            );
            let answer = Raw::only(&service.address, request.as_bytes()).await;
            answer.verify(status);
            assert_eq!(answer.header("access-control-allow-origin"), None, "{origin:?}");
        }
        for header in ["Method: FOO", "Method: GET\r\nAccess-Control-Request-Headers: a,,;"] {
            let request = format!(
                "OPTIONS {CATALOG} HTTP/1.1\r\nHost: agora\r\nOrigin: https://app.example.org\r\n\
                 Access-Control-Request-{header}\r\n\r\n"
            );
            Raw::only(&service.address, request.as_bytes()).await.verify(status);
        }
        service.stop();
    }
}
