//! `/api/auth`: registration and login.

mod sessions;

use futures_util::future::join_all;
use reqwest::Method;
use reqwest::header::WWW_AUTHENTICATE;
use serde_json::{Value, json};

use crate::support::{PASSWORD, Response, Server};

/// Returns a valid registration, overridden with these fields.
fn registration(fields: &Value) -> Value {
    let mut body = json!({ "username": "alice", "email": "alice@example.org", "password": PASSWORD });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    body
}

/// Returns an email address of this length, with 64 characters before the `@`.
fn email_of(length: usize) -> String {
    let (local, label, rest) = ("a".repeat(64), "b".repeat(63), "c".repeat(length - 193));
    format!("{local}@{label}.{label}.{rest}")
}

async fn login_with(server: &Server, body: &Value) -> Response {
    server.send(server.request(Method::POST, "/api/auth/login").json(body)).await
}

fn token_of(answer: &Response) -> String {
    answer.json()["token"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn registration_returns_only_a_message() {
    let server = Server::start().await;
    let answer = server.register_as(registration(&json!({}))).await.expect(201);
    assert_eq!(answer.json(), json!({ "message": "User registered successfully" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn registered_fields_are_stored_as_given_except_for_trimming() {
    let server = Server::start().await;
    let body = json!({
        "username": "  Ælice Ö. \n", "email": " Alice@Example.org ", "password": " spaces stay ", "biography": " Hi! ",
    });
    server.register_as(body).await.expect(201);
    server.login("Ælice Ö.", "spaces stay").await.expect(401);
    let token = token_of(&server.login("Ælice Ö.", " spaces stay ").await.expect(200));
    let me = server.send(server.request(Method::GET, "/api/users/me").bearer_auth(token)).await.expect(200).data();
    assert_eq!(me["username"], "Ælice Ö.");
    assert_eq!(me["email"], "Alice@Example.org");
    assert_eq!(me["biography"], "Hi!");
    assert_eq!(me["authorities"], json!([{ "authority": "USER" }]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_username_has_two_field_names_and_the_preferred_one_wins_unless_blank() {
    let server = Server::start().await;
    for (i, (names, expected)) in [
        (json!({ "username": "by-username" }), "by-username"),
        (json!({ "name": "by-name" }), "by-name"),
        (json!({ "username": "preferred", "name": "ignored" }), "preferred"),
        (json!({ "username": " ", "name": "beside-blank" }), "beside-blank"),
        (json!({ "username": null, "name": "beside-null" }), "beside-null"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut body = json!({ "email": format!("user{i}@example.org"), "password": PASSWORD });
        body.as_object_mut().unwrap().extend(names.as_object().unwrap().clone());
        server.register_as(body).await.expect(201);
        server.login(expected, PASSWORD).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn registration_accepts_fields_at_both_length_limits() {
    let server = Server::start().await;
    for (i, fields) in [
        json!({ "username": "x" }),
        json!({ "username": "ä".repeat(50) }),
        json!({ "email": email_of(254) }),
        json!({ "password": "8 bytes!" }),
        json!({ "password": "p".repeat(72) }),
        json!({ "password": "ä".repeat(36) }),
        json!({ "biography": "ö".repeat(1000) }),
        json!({ "biography": " " }),
        json!({ "biography": null }),
    ]
    .into_iter()
    .enumerate()
    {
        let mut body = json!({ "username": format!("user{i}"), "email": format!("user{i}@example.org") });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        server.register_as(registration(&body)).await.expect(201);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_field_of_a_registration_is_required() {
    let server = Server::start().await;
    for (field, message) in
        [("username", "Username is required"), ("email", "Email is required"), ("password", "Password is required")]
    {
        let mut missing = registration(&json!({}));
        missing.as_object_mut().unwrap().remove(field);
        let blank = [json!(null), json!(""), json!(" \t ")].map(|value| registration(&json!({ field: value })));
        for body in [missing].into_iter().chain(blank) {
            let answer = server.register_as(body).await.expect_invalid(&[field]);
            assert_eq!(answer.data(), json!({ field: [message] }));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_field_of_a_registration_is_named() {
    let server = Server::start().await;
    for (field, value) in [
        ("username", json!("x".repeat(51))),
        ("username", json!("alice@home")),
        ("username", json!("al\u{7}ice")),
        ("username", json!("al\nice")),
        ("username", json!("al\0ice")),
        ("username", json!(1)),
        ("email", json!("alice")),
        ("email", json!("alice@")),
        ("email", json!("@example.org")),
        ("email", json!("alice@exam ple.org")),
        ("email", json!("Alice <alice@example.org>")),
        ("email", json!("a\0@example.org")),
        ("email", json!(email_of(255))),
        ("email", json!(["alice@example.org"])),
        ("password", json!("7 bytes")),
        ("password", json!("p".repeat(73))),
        ("password", json!("ä".repeat(37))),
        ("password", json!("correct\0horse")),
        ("password", json!({ "password": PASSWORD })),
        ("biography", json!("ö".repeat(1001))),
        ("biography", json!("a\0b")),
        ("biography", json!(true)),
    ] {
        let answer = server.register_as(registration(&json!({ field: value }))).await.expect_invalid(&[field]);
        let messages = answer.data()[field].as_array().unwrap().clone();
        assert!(!messages.is_empty() && messages.iter().all(Value::is_string), "{field}: {messages:?}");
    }
    server.login("alice", PASSWORD).await.expect(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_invalid_fields_of_a_registration_are_named_at_once() {
    let server = Server::start().await;
    let answer = server.register_as(json!({})).await.expect_invalid(&["email", "password", "username"]);
    assert_eq!(
        answer.data(),
        json!({
            "username": ["Username is required"],
            "email": ["Email is required"],
            "password": ["Password is required"],
        })
    );
    let wrong_types = json!({ "name": 1, "email": [], "password": {}, "biography": 1.5 });
    server.register_as(wrong_types).await.expect_invalid(&["biography", "email", "password", "username"]);
    let mixed = json!({ "username": "a@b", "email": "x", "password": "short", "biography": "b".repeat(1001) });
    server.register_as(mixed).await.expect_invalid(&["biography", "email", "password", "username"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_username_or_email_conflicts_in_any_letter_case() {
    let server = Server::start().await;
    server.register_as(registration(&json!({ "username": "Émile", "email": "Emile@Example.org" }))).await.expect(201);
    for (username, email, taken) in [
        ("Émile", "other@example.org", "Username"),
        ("éMILE", "other@example.org", "Username"),
        (" émile ", "other@example.org", "Username"),
        ("other", "Emile@Example.org", "Email"),
        ("other", "eMILE@eXAMPLE.ORG", "Email"),
    ] {
        let body = registration(&json!({ "username": username, "email": email }));
        server.register_as(body).await.expect_error(409, &format!("{taken} is already taken"));
    }
    server.register_as(registration(&json!({ "username": "other", "email": "other@example.org" }))).await.expect(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_fifty_concurrent_registrations_of_a_name_one_succeeds() {
    let server = Server::start().await;
    let racing = (0..50).map(|i| {
        let username = if i % 2 == 0 { "alice" } else { "ALICE" };
        server.register_as(registration(&json!({ "username": username, "email": format!("alice{i}@example.org") })))
    });
    let answers = join_all(racing).await.into_iter().map(|answer| answer.status);
    let (created, others): (Vec<_>, Vec<_>) = answers.partition(|status| *status == 201);
    assert_eq!((created.len(), others), (1, vec![409; 49]));
    let accounts = server.get(&server.root().await, "/api/users/all").await.expect(200).data();
    assert_eq!(accounts.as_array().unwrap().len(), 2, "{accounts}");
}

#[tokio::test(flavor = "multi_thread")]
async fn login_returns_only_a_token() {
    let server = Server::start().await;
    server.user("alice").await;
    let answer = server.login("alice", PASSWORD).await.expect(200).json();
    let fields: Vec<_> = answer.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["token"]);
    assert!(answer["token"].is_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn login_accepts_username_or_email_in_any_letter_case() {
    let server = Server::start().await;
    server.user("alice").await;
    for names in [
        json!({ "identifier": "alice" }),
        json!({ "identifier": "aLICE" }),
        json!({ "identifier": " alice " }),
        json!({ "identifier": "alice@example.org" }),
        json!({ "identifier": "ALICE@Example.ORG" }),
        json!({ "email": "alice@example.org" }),
        json!({ "email": "Alice@Example.org" }),
        json!({ "username": "alice" }),
        json!({ "username": "ALICE" }),
        json!({ "identifier": " ", "email": "alice@example.org" }),
        json!({ "identifier": null, "email": "", "username": "alice" }),
        json!({ "identifier": "alice", "email": "nobody@example.org", "username": "nobody" }),
    ] {
        let mut body = names;
        body["password"] = json!(PASSWORD);
        login_with(&server, &body).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_without_identifier_or_password_is_invalid() {
    let server = Server::start().await;
    let invalid: [(Value, &[&str]); 6] = [
        (json!({ "password": PASSWORD }), &["identifier"]),
        (json!({ "identifier": " ", "email": null, "username": "", "password": PASSWORD }), &["identifier"]),
        (json!({ "identifier": 7, "password": PASSWORD }), &["identifier"]),
        (json!({ "identifier": "root" }), &["password"]),
        (json!({ "identifier": "root", "password": 12345678 }), &["password"]),
        (json!({}), &["identifier", "password"]),
    ];
    for (body, fields) in invalid {
        login_with(&server, &body).await.expect_invalid(fields);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_login_does_not_reveal_why() {
    let server = Server::start().await;
    let (root, bob) = (server.root().await, server.user("bob").await);
    let path = format!("/api/users/{}/enabled", bob.id);
    server.call_json(&root, Method::PUT, &path, json!({ "enabled": false })).await.expect(200);
    for (identifier, password) in [
        ("root", "wrong password"),
        ("root", "CORRECT HORSE"),
        ("root", " correct horse"),
        ("root", "x"),
        ("root", &"x".repeat(500)),
        ("nobody", PASSWORD),
        ("nobody@example.org", PASSWORD),
        ("bob", PASSWORD),
        ("bob", "wrong password"),
    ] {
        let answer = server.login(identifier, password).await.expect(401);
        assert_eq!(
            answer.json(),
            json!({ "success": false, "status": 401, "code": "invalid_credentials", "message": "Invalid credentials" })
        );
        assert_eq!(answer.header(WWW_AUTHENTICATE), Some("Bearer"));
    }
}
