//! Headers for browsers: CORS, security and caching.

use reqwest::Method;
use reqwest::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, CACHE_CONTROL,
    CONTENT_SECURITY_POLICY, ORIGIN, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use serde_json::json;

use crate::client::Client;
use crate::support::{PASSWORD, Response, Server};

const APP: &str = "https://app.example.org";

async fn start_allowing(origins: &str) -> Server {
    Server::start_with(|config| config.cors_origins = origins.parse().unwrap()).await
}

/// Sends a CORS preflight request.
async fn preflight(server: &Server, origin: &str, method: &str, headers: &str) -> Response {
    let request = server.request(Method::OPTIONS, "/api/posts/create").header(ORIGIN, origin);
    let request = request.header(ACCESS_CONTROL_REQUEST_METHOD, method);
    // The OpenAPI document does not describe preflights, so this client does not check them.
    Client::new(server.url()).send(request.header(ACCESS_CONTROL_REQUEST_HEADERS, headers)).await
}

async fn catalog(server: &Server, origin: &str) -> Response {
    server.send(server.request(Method::GET, "/api/products/findAll").header(ORIGIN, origin)).await.expect(200)
}

#[tokio::test]
async fn every_response_has_security_and_cache_headers() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let register = json!({ "username": "bob", "email": "bob@example.org", "password": PASSWORD });
    for (answer, cache) in [
        (server.get(&alice, "/api/users/me").await.expect(200), "no-store"),
        (server.get(&alice, "/api/posts/following/all").await.expect(200), "no-store"),
        (server.get(&alice, "/api/posts/by-id/nonsense").await.expect(400), "no-store"),
        (server.get(&alice, "/api/users/all").await.expect(403), "no-store"),
        (server.login("alice", PASSWORD).await.expect(200), "no-store"),
        (server.login("alice", "a guess").await.expect(401), "no-store"),
        (server.register_as(register).await.expect(201), "no-store"),
        (server.fetch("/nowhere").await.expect(404), "no-store"),
        (server.send(server.request(Method::PUT, "/api/users/all")).await.expect(405), "no-store"),
        (server.fetch("/media/nothing.png").await.expect(404), "no-store"),
        (server.fetch("/api/products/findAll").await.expect(200), "public, no-cache"),
        (server.fetch("/docs/").await.expect(200), "public, max-age=3600"),
    ] {
        assert_eq!(answer.header(X_CONTENT_TYPE_OPTIONS), Some("nosniff"), "{answer:?}");
        assert_eq!(answer.header(REFERRER_POLICY), Some("no-referrer"), "{answer:?}");
        let policy = answer.header(CONTENT_SECURITY_POLICY).unwrap();
        assert!(policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{answer:?}");
        assert_eq!(answer.header(CACHE_CONTROL), Some(cache), "{answer:?}");
    }
}

#[tokio::test]
async fn no_cors_headers_are_sent_by_default() {
    let server = Server::start().await;
    assert_eq!(catalog(&server, APP).await.header(ACCESS_CONTROL_ALLOW_ORIGIN), None);
    preflight(&server, APP, "POST", "authorization").await.expect_error(405, "Method not allowed");
}

#[tokio::test]
async fn pages_of_the_configured_sites_may_call() {
    let server = start_allowing("https://app.example.org, http://localhost:3000").await;
    for origin in [APP, "http://localhost:3000"] {
        let asked = preflight(&server, origin, "PUT", "authorization, if-match, traceparent, tracestate").await;
        let asked = asked.expect(200);
        assert_eq!(asked.header(ACCESS_CONTROL_ALLOW_ORIGIN), Some(origin));
        let methods = asked.header(ACCESS_CONTROL_ALLOW_METHODS).unwrap();
        assert!(["GET", "POST", "PUT", "DELETE"].iter().all(|method| methods.contains(method)), "{methods}");
        let headers = asked.header(ACCESS_CONTROL_ALLOW_HEADERS).unwrap().to_lowercase();
        assert!(
            ["authorization", "content-type", "idempotency-key", "traceparent"]
                .iter()
                .all(|name| headers.contains(name))
        );

        let answer = catalog(&server, origin).await;
        assert_eq!(answer.header(ACCESS_CONTROL_ALLOW_ORIGIN), Some(origin));
        assert!(answer.header(VARY).unwrap().contains("Origin"), "{answer:?}");
        let exposed = answer.header(ACCESS_CONTROL_EXPOSE_HEADERS).unwrap().to_lowercase();
        for name in
            ["link", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "x-request-id", "etag", "allow"]
        {
            assert!(exposed.contains(name), "{name} is missing: {exposed}");
        }
        // Pages can read failures as well.
        let failed = server.send(server.request(Method::GET, "/api/users/me").header(ORIGIN, origin)).await.expect(401);
        assert_eq!(failed.header(ACCESS_CONTROL_ALLOW_ORIGIN), Some(origin));
        let credentials = "access-control-allow-credentials";
        assert_eq!(failed.header(credentials), None);
    }
}

#[tokio::test]
async fn pages_of_sites_that_are_not_configured_may_not_call() {
    let server = start_allowing(APP).await;
    for origin in ["https://evil.example.org", "https://app.example.org.evil.example", "http://app.example.org", "null"]
    {
        preflight(&server, origin, "GET", "authorization").await.expect_failure(400);
        assert_eq!(catalog(&server, origin).await.header(ACCESS_CONTROL_ALLOW_ORIGIN), None, "{origin}");
    }
    preflight(&server, APP, "PATCH", "authorization").await.expect_failure(400);
    preflight(&server, APP, "GET", "x-other").await.expect_failure(400);
}

#[tokio::test]
async fn pages_of_every_site_may_call_if_so_configured() {
    let server = start_allowing("*").await;
    for origin in [APP, "null"] {
        assert_eq!(catalog(&server, origin).await.header(ACCESS_CONTROL_ALLOW_ORIGIN), Some("*"));
        preflight(&server, origin, "POST", "authorization").await.expect(200);
    }
}
