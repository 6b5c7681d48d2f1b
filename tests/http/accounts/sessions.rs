//! Sessions: tokens, their renewal, logout, and password changes.

use std::time::Duration;

use agora_config::Secret;
use agora_domain::accounts::{TokenClaims, TokenIssuer};
use agora_domain::clock::Timestamp;
use agora_domain::id::{SessionId, UserId};
use agora_security::JwtIssuer;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use reqwest::Method;
use reqwest::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use serde_json::{Value, json};
use uuid::Uuid;

use super::token_of;
use crate::support::{PASSWORD, Server, User};

const LOGOUT: &str = "/api/auth/logout";
const REFRESH: &str = "/api/auth/refresh";
const ME: &str = "/api/users/me";
const MY_PASSWORD: &str = "/api/users/me/password";

/// Returns the user with another token.
fn with_token(user: &User, token: &str) -> User {
    User { token: token.to_owned(), ..user.clone() }
}

async fn me_status(server: &Server, user: &User) -> u16 {
    server.get(user, ME).await.status
}

/// Returns the header and the claims of a token.
fn decoded(token: &str) -> (Value, Value) {
    let mut parts = token.split('.').map(|part| serde_json::from_slice(&base64url(part)).unwrap_or_default());
    (parts.next().unwrap(), parts.next().unwrap())
}

fn base64url(text: &str) -> Vec<u8> {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bits: String = text.chars().map(|c| format!("{:06b}", ALPHABET.find(c).expect("base64url"))).collect();
    let bytes = bits.as_bytes().chunks_exact(8).map(|byte| std::str::from_utf8(byte).unwrap());
    bytes.map(|byte| u8::from_str_radix(byte, 2).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_has_the_user_the_session_and_an_expiry_after_an_hour() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let (header, claims) = decoded(&alice.token);
    assert_eq!(header["alg"], "HS256");
    assert_eq!(claims["sub"], json!(alice.id));
    assert!(Uuid::parse_str(claims["sid"].as_str().unwrap()).is_ok(), "{claims}");
    assert!(!claims["iss"].as_str().unwrap().is_empty());
    assert_eq!(claims["exp"].as_i64().unwrap(), claims["iat"].as_i64().unwrap() + 3600);
    let again = decoded(&server.log_in("alice").await.token).1;
    assert_ne!(again["sid"], claims["sid"], "a login opens a session of its own");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_token_is_refused() {
    let secret = |letter: &str| letter.repeat(32);
    let server = Server::start_with(|config| config.jwt_secret = Some(Secret::from(secret("s")))).await;
    let alice = server.user("alice").await;
    let (_, claims) = decoded(&alice.token);
    let id = |name: &str| Uuid::parse_str(claims[name].as_str().unwrap()).unwrap();
    let forged = |secret: &str, user: Uuid, session: Uuid, seconds: i64| {
        let now = Timestamp::from_unix_millis((claims["iat"].as_i64().unwrap() + seconds) * 1000);
        let claims = TokenClaims { user: UserId::new(user), session: SessionId::new(session) };
        JwtIssuer::new(secret.as_bytes(), Duration::from_secs(3600)).issue(claims, now).unwrap()
    };
    let (user, session) = (id("sub"), id("sid"));
    // A token forged with the right secret is accepted: so each of the others is refused for the stated reason alone.
    let right = forged(&secret("s"), user, session, 0);
    assert_eq!(me_status(&server, &with_token(&alice, &right)).await, 200);

    let (message, signature) = alice.token.rsplit_once('.').unwrap();
    let payload = message.split_once('.').unwrap().1;
    let none = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0";
    let root_token = server.root().await.token;
    let root_payload = root_token.split('.').nth(1).unwrap();
    let header = alice.token.split('.').next().unwrap();
    for (why, token) in [
        ("another secret", forged(&secret("t"), user, session, 0)),
        ("expired an hour ago", forged(&secret("s"), user, session, -7200)),
        ("an unknown session", forged(&secret("s"), user, user, 0)),
        ("the session of somebody else", forged(&secret("s"), session, session, 0)),
        ("the claims of another token", format!("{header}.{root_payload}.{signature}")),
        ("a signature cut short", alice.token[..alice.token.len() - 2].to_owned()),
        ("no signature", format!("{message}.")),
        ("algorithm none", format!("{none}.{payload}.")),
        ("algorithm none, signed", format!("{none}.{payload}.{signature}")),
        ("two parts", message.to_owned()),
        ("no token at all", "token".to_owned()),
    ] {
        let answer = server.get(&with_token(&alice, &token), ME).await;
        assert_eq!(answer.status, 401, "{why}");
        assert_eq!(answer.header(WWW_AUTHENTICATE), Some("Bearer error=\"invalid_token\""), "{why}");
        answer.expect_failure(401);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_names_its_key_and_is_verified_with_no_other() {
    const OWN: &str = "the secret that tokens are signed with";
    const ACCEPTED: &str = "the secret that tokens were signed with";
    let server = Server::start_with(|config| {
        config.jwt_secret = Some(Secret::from(OWN.to_owned()));
        config.jwt_accepted_secret = Some(Secret::from(ACCEPTED.to_owned()));
    })
    .await;
    let alice = server.user("alice").await;
    let (header, claims) = decoded(&alice.token);
    let name_of = |secret: &str| {
        let nobody = TokenClaims { user: UserId::new(Uuid::nil()), session: SessionId::new(Uuid::nil()) };
        let issuer = JwtIssuer::new(secret.as_bytes(), Duration::from_secs(3600));
        let token = issuer.issue(nobody, Timestamp::from_unix_millis(0)).unwrap();
        decoded(&token).0["kid"].as_str().unwrap().to_owned()
    };
    let (own, accepted) = (name_of(OWN), name_of(ACCEPTED));
    assert_eq!(header["kid"], json!(own));
    for (secret, name, expected) in [
        (OWN, Some(&own), 200),
        (OWN, None, 200),
        (OWN, Some(&accepted), 401),
        (OWN, Some(&"another".to_owned()), 401),
        (ACCEPTED, Some(&accepted), 200),
        (ACCEPTED, None, 200),
        (ACCEPTED, Some(&own), 401),
        (ACCEPTED, Some(&"another".to_owned()), 401),
    ] {
        let header = Header { kid: name.cloned(), ..Header::new(Algorithm::HS256) };
        let token = jsonwebtoken::encode(&header, &claims, &EncodingKey::from_secret(secret.as_bytes())).unwrap();
        assert_eq!(me_status(&server, &with_token(&alice, &token)).await, expected, "{secret}: {name:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_protected_call_needs_a_bearer_token() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let call = |value: Option<String>| {
        let request = server.request(Method::GET, ME);
        server.send(value.into_iter().fold(request, |request, value| request.header(AUTHORIZATION, value)))
    };
    for value in [None, Some("Basic YWxpY2U6cGFzcw=="), Some("Bearer"), Some("Bearer "), Some(&alice.token)] {
        let answer = call(value.map(str::to_owned)).await.expect_failure(401);
        assert_eq!(answer.header(WWW_AUTHENTICATE), Some("Bearer"), "{value:?}");
    }
    for scheme in ["Bearer", "bearer", "BEARER"] {
        call(Some(format!("{scheme} {}", alice.token))).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refresh_returns_a_token_of_the_same_session() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let answer = server.call(&alice, Method::POST, REFRESH).await.expect(200);
    let token = token_of(&answer);
    assert_eq!(answer.json(), json!({ "token": token }));
    let (before, after) = (decoded(&alice.token).1, decoded(&token).1);
    assert_eq!((&before["sub"], &before["sid"]), (&after["sub"], &after["sid"]));
    let renewed = with_token(&alice, &token);
    assert_eq!(me_status(&server, &renewed).await, 200);
    // Both tokens belong to one session, so both end with it.
    server.call(&renewed, Method::POST, LOGOUT).await.expect(200);
    for token in [&alice, &renewed] {
        server.call(token, Method::POST, REFRESH).await.expect(401);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn logout_ends_its_session_at_once_and_no_other() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let elsewhere = server.log_in("alice").await;
    let answer = server.call(&alice, Method::POST, LOGOUT).await.expect(200);
    assert_eq!(answer.json(), json!({ "message": "Logged out successfully", "data": null }));
    let refused = server.get(&alice, ME).await.expect(401);
    assert_eq!(refused.header(WWW_AUTHENTICATE), Some("Bearer error=\"invalid_token\""));
    server.call(&alice, Method::POST, LOGOUT).await.expect(401);
    for other in [&elsewhere, &bob, &server.log_in("alice").await] {
        assert_eq!(me_status(&server, other).await, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_password_ends_every_other_session() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let elsewhere = server.log_in("alice").await;
    let body = json!({ "currentPassword": PASSWORD, "newPassword": "battery staple" });
    let answer = server.call_json(&alice, Method::PUT, MY_PASSWORD, body).await.expect(200);
    assert_eq!(answer.json(), json!({ "message": "Password changed successfully", "data": null }));
    assert_eq!(me_status(&server, &elsewhere).await, 401);
    assert_eq!(me_status(&server, &alice).await, 200);
    assert_eq!(me_status(&server, &bob).await, 200);
    server.login("alice", PASSWORD).await.expect_error(401, "Invalid credentials");
    server.login("alice", "battery staple").await.expect(200);
    server.login("bob", PASSWORD).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_change_of_password_changes_nothing() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let elsewhere = server.log_in("alice").await;
    let (good, wrong) = ("battery staple", "wrong password");
    let long = "p".repeat(73);
    let invalid: [(Value, &[&str]); 9] = [
        (json!({ "currentPassword": wrong, "newPassword": good }), &["currentPassword"]),
        (json!({ "currentPassword": "", "newPassword": good }), &["currentPassword"]),
        (json!({ "currentPassword": 1, "newPassword": good }), &["currentPassword"]),
        (json!({ "newPassword": good }), &["currentPassword"]),
        (json!({ "currentPassword": PASSWORD, "newPassword": "7 bytes" }), &["newPassword"]),
        (json!({ "currentPassword": PASSWORD, "newPassword": long }), &["newPassword"]),
        (json!({ "currentPassword": PASSWORD }), &["newPassword"]),
        // The current password is not checked if the new one is invalid.
        (json!({ "currentPassword": wrong, "newPassword": "short" }), &["newPassword"]),
        (json!({}), &["currentPassword", "newPassword"]),
    ];
    for (body, fields) in invalid {
        server.call_json(&alice, Method::PUT, MY_PASSWORD, body).await.expect_invalid(fields);
    }
    assert_eq!(me_status(&server, &elsewhere).await, 200);
    server.login("alice", PASSWORD).await.expect(200);
}
