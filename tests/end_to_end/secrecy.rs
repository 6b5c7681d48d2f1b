//! Neither response times nor logs reveal secrets.

use std::time::{Duration, Instant};

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde_json::json;

use crate::client::{Client, PASSWORD};
use crate::picture::picture;
use crate::process::{Home, run};

async fn time_of_refusal(api: &Client, identifier: &str) -> Duration {
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
    // Few attempts per account, since more would be rate-limited.
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
    const BODY: &str = "A day at the sea";
    // At the most verbose level, also of the libraries.
    let log = ("AGORA_LOG", "trace,tokio_postgres=trace,hyper=trace");
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
    api.call_json(&alice, Method::PUT, "/api/users/me/password", change).await.expect(200);
    let refreshed = api.call(&alice, Method::POST, "/api/auth/refresh").await.expect(200).json();
    api.post(&alice, BODY, Some(&picture())).await;
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
    // Not even the signature of a token alone.
    let signatures = tokens.map(|token| token.rsplit('.').next().unwrap());
    let headers = tokens.map(|token| format!("Bearer {token}"));
    // Not even the prefix of a password hash.
    let secrets = [PASSWORD, CHANGED, WRONG, ADMIN, GIVEN_SECRET, &home.secret(), BODY, "$2b$"];
    let secrets = tokens.into_iter().chain(signatures).chain(headers.iter().map(|header| &**header)).chain(secrets);
    for secret in secrets.chain(home.backend.secrets()) {
        for form in forms(secret) {
            assert!(!shown.contains(&form), "{secret} was shown as {form}");
        }
    }
}

/// Returns the forms in which a text may appear: as it is, as the list of its bytes, in hexadecimal and in base64.
fn forms(secret: &str) -> [String; 5] {
    let bytes = format!("{:?}", secret.as_bytes());
    let hexadecimal: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let base64 = STANDARD_NO_PAD.encode(secret);
    [secret.to_owned(), bytes.trim_matches(['[', ']']).to_owned(), hexadecimal.to_uppercase(), hexadecimal, base64]
}
