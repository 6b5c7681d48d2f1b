//! Rate limits: logins, registrations, wrong passwords, and the limits that the operator may set.

use agora_config::Config;
use reqwest::Method;
use reqwest::header::RETRY_AFTER;
use serde_json::json;

use crate::support::{PASSWORD, Response, Server, User};

/// Addresses reserved for documentation: two clients, and two addresses in one IPv6 network.
const HERE: &str = "198.51.100.7";
const THERE: &str = "198.51.100.8";
const NETWORK: [&str; 2] = ["2001:db8::1", "2001:db8::ffff:1"];

const MY_PASSWORD: &str = "/api/users/me/password";

/// Starts a server that trusts a proxy on loopback.
async fn start_behind_proxy(change: impl FnOnce(&mut Config)) -> Server {
    Server::start_with(|config| {
        config.trusted_proxies = "127.0.0.1".parse().unwrap();
        change(config);
    })
    .await
}

/// Sends a request that comes from an address according to the proxy.
async fn call_from(server: &Server, address: &str, method: Method, path: &str) -> Response {
    server.send(server.request(method, path).header("X-Forwarded-For", address)).await
}

async fn login_from(server: &Server, address: &str, name: &str, password: &str) -> Response {
    let body = json!({ "identifier": name, "password": password });
    let request = server.request(Method::POST, "/api/auth/login").header("X-Forwarded-For", address);
    server.send(request.json(&body)).await
}

fn header_number(answer: &Response, name: &'static str) -> Option<u32> {
    answer.header(name).map(|value| value.parse().unwrap())
}

/// Checks that a request exceeded this limit. Returns the seconds until the next one is served.
#[track_caller]
fn expect_too_many(answer: Response, limit: u32) -> u32 {
    let answer = answer.expect_failure(429);
    let wait: u32 = answer.header(RETRY_AFTER).unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{answer:?}");
    assert_eq!(header_number(&answer, "ratelimit-limit"), Some(limit));
    assert_eq!(
        (header_number(&answer, "ratelimit-remaining"), header_number(&answer, "ratelimit-reset")),
        (Some(0), Some(wait))
    );
    wait
}

#[tokio::test]
async fn an_address_may_log_in_and_register_sixty_times_a_minute_each() {
    let server = start_behind_proxy(|_| ()).await;
    for path in ["/api/auth/login", "/api/auth/register"] {
        for left in (0..60).rev() {
            // Refused requests count as well.
            let answer = call_from(&server, HERE, Method::POST, path).await.expect(415);
            assert_eq!(header_number(&answer, "ratelimit-limit"), Some(60));
            assert_eq!(header_number(&answer, "ratelimit-remaining"), Some(left));
        }
        expect_too_many(call_from(&server, HERE, Method::POST, path).await, 60);
        call_from(&server, THERE, Method::POST, path).await.expect(415);
    }
    call_from(&server, HERE, Method::GET, "/api/products/findAll").await.expect(200);
}

#[tokio::test]
async fn an_ipv6_network_counts_as_one_address() {
    let server = start_behind_proxy(|_| ()).await;
    for n in 0..60 {
        call_from(&server, NETWORK[n % 2], Method::POST, "/api/auth/login").await.expect(415);
    }
    for address in NETWORK {
        expect_too_many(call_from(&server, address, Method::POST, "/api/auth/login").await, 60);
    }
    call_from(&server, "2001:db8:0:1::1", Method::POST, "/api/auth/login").await.expect(415);
}

#[tokio::test]
async fn loopback_is_exempt_and_a_forged_forwarded_header_is_ignored() {
    let server = Server::start().await;
    for n in 0..70 {
        let claimed = if n % 2 == 0 { HERE } else { "127.0.0.1" };
        let answer = call_from(&server, claimed, Method::POST, "/api/auth/login").await.expect(415);
        assert_eq!(header_number(&answer, "ratelimit-limit"), None);
    }
    // A client behind the proxy cannot claim a loopback address.
    let server = start_behind_proxy(|_| ()).await;
    for _ in 0..60 {
        call_from(&server, &format!("127.0.0.1, {HERE}"), Method::POST, "/api/auth/login").await.expect(415);
    }
    expect_too_many(call_from(&server, &format!("::1, {HERE}"), Method::POST, "/api/auth/login").await, 60);
}

#[tokio::test]
async fn ten_wrong_passwords_make_the_right_one_wait() {
    let server = start_behind_proxy(|_| ()).await;
    let alice = server.user("alice").await;
    let spellings = ["alice", "ALICE ", "alice@example.org", "Alice@Example.org"];
    for n in 0..10 {
        let answer = server.login(spellings[n % 4], "a guess").await;
        answer.expect_error(401, "Invalid credentials");
    }
    for name in spellings {
        expect_too_many(server.login(name, PASSWORD).await, 10);
    }
    // Other accounts are unaffected, and so are logins of alice from another address and her open session.
    server.user("bob").await;
    login_from(&server, HERE, "alice", PASSWORD).await.expect(200);
    server.get(&alice, "/api/users/me").await.expect(200);
    let change = json!({ "currentPassword": PASSWORD, "newPassword": "a new password" });
    let answer = server.call_json(&alice, Method::PUT, MY_PASSWORD, change).await;
    expect_too_many(answer, 10);
}

#[tokio::test]
async fn an_unknown_account_is_refused_like_a_known_one() {
    let server = Server::start().await;
    for _ in 0..10 {
        server.login("nobody", "a guess").await.expect_error(401, "Invalid credentials");
    }
    expect_too_many(server.login("Nobody", "a guess").await, 10);
}

#[tokio::test]
async fn wrong_current_passwords_count_as_guesses() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let guess = json!({ "currentPassword": "a guess", "newPassword": "a new password" });
    for _ in 0..10 {
        let answer = server.call_json(&alice, Method::PUT, MY_PASSWORD, guess.clone()).await;
        answer.expect_invalid(&["currentPassword"]);
    }
    expect_too_many(server.call_json(&alice, Method::PUT, MY_PASSWORD, guess).await, 10);
    expect_too_many(server.login("alice", PASSWORD).await, 10);
}

#[tokio::test]
async fn after_ten_password_changes_the_next_one_from_that_address_must_wait() {
    let server = start_behind_proxy(|_| ()).await;
    let alice = server.user("alice").await;
    let change = json!({ "currentPassword": PASSWORD, "newPassword": PASSWORD });
    for _ in 0..10 {
        server.call_json(&alice, Method::PUT, MY_PASSWORD, change.clone()).await.expect(200);
    }
    expect_too_many(server.call_json(&alice, Method::PUT, MY_PASSWORD, change.clone()).await, 10);
    // A thief of the token cannot prevent its owner, at another address, from ending the session.
    let elsewhere = server.request(Method::PUT, MY_PASSWORD).bearer_auth(&alice.token).header("X-Forwarded-For", HERE);
    server.send(elsewhere.json(&change)).await.expect(200);
    server.login("alice", PASSWORD).await.expect(200);
    let bob = server.user("bob").await;
    server.call_json(&bob, Method::PUT, MY_PASSWORD, change).await.expect(200);
}

#[tokio::test]
async fn an_invalid_new_password_reveals_nothing_about_the_current_one_and_is_not_counted() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for n in 0..24 {
        let current = if n % 2 == 0 { PASSWORD } else { "a guess" };
        let invalid = json!({ "currentPassword": current, "newPassword": "short" });
        server.call_json(&alice, Method::PUT, MY_PASSWORD, invalid).await.expect_invalid(&["newPassword"]);
    }
    let change = json!({ "currentPassword": PASSWORD, "newPassword": "a new password" });
    server.call_json(&alice, Method::PUT, MY_PASSWORD, change).await.expect(200);
}

#[tokio::test]
async fn the_operator_may_limit_the_requests_of_an_address() {
    let server = start_behind_proxy(|config| config.requests_per_address = Some(5)).await;
    let paths = ["/api/products/findAll", "/api/users/me", "/nowhere", "/docs/", "/api/products"];
    for (left, path) in (0..5).rev().zip(paths) {
        let answer = call_from(&server, HERE, Method::GET, path).await;
        assert_ne!(answer.status, 429, "{path}");
        assert_eq!(
            (header_number(&answer, "ratelimit-limit"), header_number(&answer, "ratelimit-remaining")),
            (Some(5), Some(left))
        );
    }
    expect_too_many(call_from(&server, HERE, Method::GET, "/api/products/findAll").await, 5);
    call_from(&server, THERE, Method::GET, "/api/products/findAll").await.expect(200);
    // Without `X-Forwarded-For`, the client is on loopback, which is exempt.
    for _ in 0..10 {
        server.fetch("/api/products/findAll").await.expect(200);
    }
}

#[tokio::test]
async fn the_operator_may_limit_the_requests_of_an_account() {
    let server = Server::start_with(|config| config.requests_per_account = Some(5)).await;
    // Each account has already sent one request, as part of logging in.
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let again = User {
        token: server.login("alice", PASSWORD).await.expect(200).json()["token"].as_str().unwrap().into(),
        ..alice.clone()
    };
    for (left, session) in (0..4).rev().zip([&alice, &again, &alice, &again]) {
        let answer = server.get(session, "/api/users/me").await.expect(200);
        assert_eq!(header_number(&answer, "ratelimit-remaining"), Some(left));
    }
    for session in [&alice, &again] {
        expect_too_many(server.get(session, "/api/users/me").await, 5);
    }
    server.get(&bob, "/api/users/me").await.expect(200);
}
