//! What an observer of times or logs learns: nothing.

use std::time::{Duration, Instant};

use reqwest::{Method, header::CONTENT_TYPE};
use serde_json::json;

use crate::{
    api::{Api, PASSWORD, picture},
    process::{Home, run},
};

async fn time_of_refusal(api: &Api, identifier: &str) -> Duration {
    let begun = Instant::now();
    api.login(identifier, "battery staple").await.expect(401);
    begun.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_account_is_refused_in_the_time_of_a_wrong_password() {
    let home = Home::new();
    let service = home.start_with(&[("AGORA_BCRYPT_COST", "10")]);
    let api = &service.api;
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    // Few attempts on each account: many would be held back.
    for name in ["alice", "bob", "carol"] {
        api.register(name).await.expect(201);
        for n in 0..7 {
            known.push(time_of_refusal(api, name).await);
            unknown.push(time_of_refusal(api, &format!("not-{name}-{n}")).await);
        }
    }
    let (known, unknown) = (median(known), median(unknown));
    let ratio = unknown.as_secs_f64() / known.as_secs_f64();
    assert!((0.5..=2.0).contains(&ratio), "{unknown:?} instead of {known:?}");
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_contain_no_secrets() {
    const CHANGED: &str = "a new battery staple";
    const WRONG: &str = "a wrong guess";
    const ADMIN: &str = "the root of it all";
    const GIVEN_SECRET: &str = "a secret of more than thirty-two bytes";
    let log = ("AGORA_LOG", "debug");
    let home = Home::new();

    let service = home.start_with(&[log]);
    let api = &service.api;
    let alice = api.user("alice").await;
    api.register("alice").await.expect(409);
    api.login("alice", WRONG).await.expect(401);
    let malformed = format!("{{\"identifier\": \"alice\", \"password\": \"{WRONG}\"");
    let malformed =
        api.request(Method::POST, "/api/auth/login").header(CONTENT_TYPE, "application/json").body(malformed);
    api.send(malformed).await.expect(400);
    let change = json!({ "currentPassword": PASSWORD, "newPassword": CHANGED });
    api.send(api.request_as(&alice, Method::PUT, "/api/users/me/password").json(&change)).await.expect(200);
    let refreshed = api.call(&alice, Method::POST, "/api/auth/refresh").await.expect(200).json();
    api.post(&alice, "A day at the sea", Some(&picture())).await;
    let mut forged = alice.clone();
    forged.token.push('x');
    api.get(&forged, "/api/users/me").await.expect(401);
    api.call(&alice, Method::POST, "/api/auth/logout").await.expect(200);
    api.get(&alice, "/api/users/me").await.expect(401);
    let first = service.stop();
    assert!(first.stderr.contains("/api/auth/login"), "nothing was logged: {}", first.stderr);

    let second = home.start_with(&[
        log,
        ("AGORA_JWT_SECRET", GIVEN_SECRET),
        ("AGORA_ADMIN_USERNAME", "root"),
        ("AGORA_ADMIN_EMAIL", "root@example.org"),
        ("AGORA_ADMIN_PASSWORD", ADMIN),
    ]);
    let root = second.api.login("root", ADMIN).await.expect(200).json();
    let second = second.stop();
    let mut create = home.agora(&["admin", "create", "--username", "eve", "--email", "eve@example.org"]);
    create.env(log.0, log.1);
    let created = run(create, WRONG).expect_success();

    let shown = format!("{first:?}{second:?}{created:?}");
    let tokens = [&alice.token, refreshed["token"].as_str().unwrap(), root["token"].as_str().unwrap()];
    // Of a token, even the signature alone.
    let signatures = tokens.map(|token| token.rsplit('.').next().unwrap());
    let secrets = [PASSWORD, CHANGED, WRONG, ADMIN, GIVEN_SECRET, &home.secret()];
    for secret in tokens.into_iter().chain(signatures).chain(secrets).chain(home.backend.secrets()) {
        assert!(!shown.contains(secret), "{secret} was shown");
    }
}
