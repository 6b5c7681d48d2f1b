//! The OpenAPI document, and the page to read it.

use reqwest::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, VARY, X_CONTENT_TYPE_OPTIONS,
};
use reqwest::{Method, Url};
use serde_json::json;

use crate::contract::DOCUMENT;
use crate::support::Server;

#[tokio::test(flavor = "multi_thread")]
async fn the_document_is_served_to_everybody() {
    let server = Server::start().await;
    for _ in 0..2 {
        let answer = server.fetch("/api-docs/openapi.json").await.expect(200);
        assert_eq!(answer.header(CONTENT_TYPE), Some("application/json"));
        assert_eq!(answer.json(), *DOCUMENT);
        assert!(answer.json()["openapi"].as_str().unwrap().starts_with("3.1."));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_found_with_and_without_a_slash_at_the_end() {
    let server = Server::start().await;
    let answer = server.fetch("/docs").await.expect(308);
    assert_eq!(answer.header(LOCATION), Some("docs/"));
    let target = Url::parse(server.url()).unwrap().join("/docs").unwrap().join("docs/").unwrap();
    let followed = server.fetch(target.path()).await.expect(200);
    let page = server.fetch("/docs/").await.expect(200);
    assert_eq!(page.header(CONTENT_TYPE), Some("text/html; charset=utf-8"));
    assert_eq!(followed.body, page.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_file_of_the_page_is_served_locally_with_its_content_type() {
    let server = Server::start().await;
    let page = String::from_utf8(server.fetch("/docs/").await.expect(200).body).unwrap();
    let addresses: Vec<_> = page.split(['"', '\'']).skip(1).step_by(2).filter(|it| it.contains('.')).collect();
    assert!(addresses.len() >= 5, "{page}");
    for address in addresses {
        assert!(!address.contains("//"), "{address} leads elsewhere");
        let part = server.fetch(&format!("/docs/{}", address.trim_start_matches("./"))).await.expect(200);
        let content_type = match address.rsplit('.').next().unwrap() {
            "css" => "text/css; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            "png" => "image/png",
            other => panic!("{other}"),
        };
        assert_eq!(part.header(CONTENT_TYPE), Some(content_type), "{address}");
        assert_eq!(part.header(X_CONTENT_TYPE_OPTIONS), Some("nosniff"), "{address}");
        assert!(part.header(CONTENT_SECURITY_POLICY).unwrap().starts_with("default-src 'none'"), "{address}");
        assert!(!part.body.is_empty(), "{address}");
    }
    let start = server.fetch("/docs/swagger-initializer.js").await.expect(200).body;
    let start = String::from_utf8(start).unwrap();
    assert!(start.contains(r#""url": "../api-docs/openapi.json""#), "{start}");
    // No external validator is called.
    assert!(start.contains(r#""validatorUrl": "none""#) && !start.contains("http"), "{start}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_and_the_document_are_compressed_if_the_client_accepts_it() {
    let server = Server::start().await;
    for (path, is_compressed) in [
        ("/api-docs/openapi.json", true),
        ("/docs/swagger-ui-bundle.js", true),
        ("/docs/swagger-ui.css", true),
        ("/docs/", false),
    ] {
        let plain = server.fetch(path).await.expect(200);
        assert_eq!((plain.header(CONTENT_ENCODING), plain.header(VARY)), (None, Some("Accept-Encoding")), "{path}");
        for encoding in ["zstd", "gzip"] {
            let answer = server.request(Method::GET, path).header(ACCEPT_ENCODING, encoding);
            let answer = server.send(answer).await.expect(200);
            assert_eq!(answer.header(CONTENT_ENCODING), is_compressed.then_some(encoding), "{path}");
            assert_eq!(answer.header(CONTENT_TYPE), plain.header(CONTENT_TYPE), "{path}");
            assert_eq!(answer.header(VARY), Some("Accept-Encoding"), "{path}");
            assert!(answer.decoded() == plain.body, "{path}, {encoding}");
            assert!(!is_compressed || answer.body.len() < plain.body.len() / 2, "{path}, {encoding}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_files_of_the_page_are_not_found() {
    let server = Server::start().await;
    for path in [
        "/docs/nothing.js",
        "/docs/..%2findex.html",
        "/docs/a/b",
        "/docs/%2Fapi-docs%2Fopenapi.json",
        "/api-docs",
        "/api-docs/",
    ] {
        server.fetch(path).await.expect_error(404, "Route not found");
    }
    let answer = server.send(server.request(Method::POST, "/docs/").json(&json!({}))).await;
    answer.expect_error(405, "Method not allowed");
}
