//! Failures behind the interface: what clients receive, and what is logged. The use cases are real, the ports are mocks.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agora_domain::accounts::{
    Credentials, Password, PasswordAttempt, PasswordHash, PasswordHasher, Role, Roles, Session, SessionState,
    TokenClaims, VerifiedToken,
};
use agora_domain::clock::Timestamp;
use agora_domain::error::Conflict;
use agora_domain::health::MockProbe;
use agora_domain::id::{SessionId, UserId};
use agora_domain::idempotency::{Begun, Lookup, MockIdempotencyRepository, Outcome};
use agora_domain::limits::Requester;
use agora_domain::media::OpenImage;
use agora_domain::products::CatalogVersion;
use agora_domain::{Error, Result};
use agora_http::{LoadLimits, ReplicaServices, ShutdownFlag};
use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net;
use tokio::sync::{Semaphore, mpsc};
use uuid::Uuid;

#[path = "../../../tests/support/client.rs"]
mod client;
#[path = "../../../tests/support/contract.rs"]
mod contract;
#[path = "faults/departures.rs"]
mod departures;
#[path = "faults/lists.rs"]
mod lists;
#[path = "faults/log.rs"]
mod log;
#[path = "faults/ports.rs"]
mod ports;
#[path = "faults/replica.rs"]
mod replica;
#[path = "faults/services.rs"]
mod services;

use client::{Client, JSON, PASSWORD, Response, registration, request_bytes};
use ports::Ports;

/// The cause of failures, which must never reach a client.
const SECRET: &str = "no such column: hunter2 in /var/lib/agora/agora.db";

/// The path of the catalog.
const LISTING: &str = "/api/products/findAll";

const INTERNAL: &str = "Internal server error";
const UNAVAILABLE: &str = "The service is temporarily unavailable";
const TOO_LONG: &str = "The request took too long";

/// Sends a GET with a bearer token.
async fn get(api: &Client, path: &str) -> Response {
    api.send(api.request(Method::GET, path).bearer_auth("token")).await
}

/// Registers an account under an `Idempotency-Key`.
async fn register_once(api: &Client) -> Response {
    let request = api.request(Method::POST, "/api/auth/register").json(&registration("alice"));
    api.send(request.header("Idempotency-Key", "key")).await
}

/// Checks that a response is exactly the error envelope with this status and message. Returns the request id.
#[track_caller]
fn expect_failure(answer: Response, status: u16, message: &str) -> String {
    let answer = answer.expect_failure(status);
    assert!(!format!("{answer:?}").contains("hunter2"));
    assert_eq!(answer.header(RETRY_AFTER).is_some(), status == 503);
    let code = match status {
        401 => "unauthenticated",
        404 if message == "Route not found" => "route_not_found",
        404 => "product_not_found",
        409 => "conflict",
        422 => "idempotency_key_reused",
        500 => "internal",
        503 if message == "The service is overloaded" => "overloaded",
        503 => "unavailable",
        other => panic!("{other}"),
    };
    let envelope = json!({ "success": false, "status": status, "code": code, "message": message });
    assert_eq!(answer.json(), envelope);
    answer.header("x-request-id").unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_is_an_internal_error_and_the_server_lives_on() {
    let mut ports = Ports::default();
    ports.products.expect_version().returning(|| Ok(CatalogVersion::new(Uuid::nil())));
    ports.products.expect_list().returning(|_, _| panic!("{SECRET}"));
    ports.products.expect_find().returning(|_| Ok(None));
    let api = ports.start();
    for _ in 0..3 {
        expect_failure(get(&api, LISTING).await, 500, INTERNAL);
        let unknown = format!("/api/products/{}", Uuid::nil());
        expect_failure(get(&api, &unknown).await, 404, "Product not found");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_while_the_caller_is_authenticated_is_an_internal_error() {
    let mut ports = Ports::default();
    ports.tokens.expect_verify().returning(|_, _| panic!("{SECRET}"));
    let api = ports.start();
    expect_failure(get(&api, "/api/users/me").await, 500, INTERNAL);
    expect_failure(get(&api, "/nothing").await, 404, "Route not found");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cause_of_a_failure_is_not_sent_to_clients() {
    let api = Ports::with_failing_listing(|| Error::internal(SECRET));
    expect_failure(get(&api, LISTING).await, 500, INTERNAL);
    let api = Ports::with_failing_listing(|| Error::unavailable(SECRET));
    expect_failure(get(&api, LISTING).await, 503, UNAVAILABLE);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_session_lookup_is_not_reported_as_an_invalid_token() {
    type Failure = (fn() -> Error, u16, &'static str);
    let failures: [Failure; 2] =
        [(|| Error::unavailable(SECRET), 503, UNAVAILABLE), (|| Error::internal(SECRET), 500, INTERNAL)];
    for (error, status, message) in failures {
        let mut ports = Ports::default();
        let (user, session) = (UserId::new(Uuid::nil()), SessionId::new(Uuid::nil()));
        ports.tokens.expect_verify().returning(move |_, _| {
            let claims = TokenClaims { user, session };
            Ok(VerifiedToken { claims, expires_at: Timestamp::from_unix_millis(i64::MAX) })
        });
        ports.sessions.expect_find().returning(move |_| Err(error()));
        expect_failure(get(&ports.start(), "/api/users/me").await, status, message);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unforeseen_conflict_is_answered_409() {
    let api = Ports::with_failing_listing(|| Error::Conflict(Conflict::Unforeseen));
    expect_failure(get(&api, LISTING).await, 409, "The request conflicts with the current state");
}

/// A hasher that never finishes.
struct StuckHasher;

#[async_trait]
impl PasswordHasher for StuckHasher {
    async fn hash(&self, _: &Password, _: &Requester) -> Result<PasswordHash> {
        std::future::pending().await
    }

    async fn verify(&self, _: &PasswordAttempt, _: Option<PasswordHash>, _: &Requester) -> Result<bool> {
        std::future::pending().await
    }

    fn needs_rehash(&self, _: &PasswordHash) -> bool {
        false
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_beyond_its_deadline_is_answered_503() {
    let request_time = Duration::from_millis(20);
    let mut ports = Ports { passwords: Arc::new(StuckHasher), request_time, ..Ports::default() };
    ports.accounts.expect_find_id().returning(|_| Ok(None));
    let api = ports.start();
    for _ in 0..2 {
        expect_failure(api.register("alice").await, 503, TOO_LONG);
    }
}

/// Returns a repository that expects one attempt to begin and to be abandoned, and a channel that reports the abandonment.
fn expect_one_abandoned_attempt() -> (MockIdempotencyRepository, mpsc::UnboundedReceiver<()>) {
    let mut records = MockIdempotencyRepository::new();
    let (told, abandoned) = mpsc::unbounded_channel();
    let begun = Arc::new(Mutex::new(None));
    let attempt = Arc::clone(&begun);
    records.expect_begin().once().returning(move |_, _, id, _| {
        *begun.lock().unwrap() = Some(id);
        Ok(Begun::First)
    });
    records.expect_abandon().once().withf(move |id| *attempt.lock().unwrap() == Some(*id)).returning(move |_| {
        told.send(()).unwrap();
        Ok(())
    });
    (records, abandoned)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_attempt_under_a_key_is_abandoned() {
    type Failure = (fn() -> Result<Option<UserId>>, u16, &'static str);
    let failures: [Failure; 3] = [
        (|| Err(Error::unavailable(SECRET)), 503, UNAVAILABLE),
        (|| Err(Error::internal(SECRET)), 500, INTERNAL),
        (|| panic!("{SECRET}"), 500, INTERNAL),
    ];
    for (failure, status, message) in failures {
        let (idempotency, mut abandoned) = expect_one_abandoned_attempt();
        let mut ports = Ports { idempotency, ..Ports::default() };
        ports.accounts.expect_find_id().returning(move |_| failure());
        let api = ports.start();
        expect_failure(register_once(&api).await, status, message);
        abandoned.recv().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_under_a_key_beyond_its_deadline_is_abandoned() {
    let (idempotency, mut abandoned) = expect_one_abandoned_attempt();
    let request_time = Duration::from_millis(20);
    let mut ports = Ports { passwords: Arc::new(StuckHasher), idempotency, request_time, ..Ports::default() };
    ports.accounts.expect_find_id().returning(|_| Ok(None));
    let api = ports.start();
    expect_failure(register_once(&api).await, 503, TOO_LONG);
    abandoned.recv().await.unwrap();
}

/// A hasher that accepts every password and finds every hash outdated. Each call of `hash` is reported on a channel, and then
/// waits for a permit.
struct SteppedHasher {
    calls: mpsc::UnboundedSender<()>,
    permits: Semaphore,
    outcome: fn() -> Result<PasswordHash>,
}

impl SteppedHasher {
    fn new(outcome: fn() -> Result<PasswordHash>) -> (Arc<Self>, mpsc::UnboundedReceiver<()>) {
        let (calls, calls_receiver) = mpsc::unbounded_channel();
        (Arc::new(Self { calls, permits: Semaphore::new(0), outcome }), calls_receiver)
    }
}

#[async_trait]
impl PasswordHasher for SteppedHasher {
    async fn hash(&self, _: &Password, _: &Requester) -> Result<PasswordHash> {
        self.calls.send(()).unwrap();
        self.permits.acquire().await.unwrap().forget();
        (self.outcome)()
    }

    async fn verify(&self, _: &PasswordAttempt, _: Option<PasswordHash>, _: &Requester) -> Result<bool> {
        Ok(true)
    }

    fn needs_rehash(&self, _: &PasswordHash) -> bool {
        true
    }
}

/// Returns ports that accept every token as that of an account with the role USER.
fn with_member() -> Ports {
    let user = UserId::new(Uuid::from_u128(1));
    let mut ports = Ports::default();
    let session = Session { id: SessionId::new(Uuid::nil()), user, opened_at: Timestamp::from_unix_millis(0) };
    let roles = Roles::NONE.with(Role::User, true);
    let claims = TokenClaims { user, session: session.id };
    let token = VerifiedToken { claims, expires_at: Timestamp::from_unix_millis(i64::MAX) };
    ports.tokens.expect_verify().returning(move |_, _| Ok(token));
    ports.sessions.expect_find().returning(move |_| {
        // So recent that no new time of use is stored.
        let last_seen_at = Timestamp::from_unix_millis(i64::MAX);
        Ok(Some(SessionState { session, revoked: false, enabled: true, roles, last_seen_at }))
    });
    ports
}

/// Starts a server on these ports, where alice has an account with the hash `stored`, and logs in as alice. Returns the client.
async fn log_in(ports: Ports) -> Client {
    log_in_with_replica(ports, None).await
}

async fn log_in_with_replica(mut ports: Ports, replica: Option<ReplicaServices>) -> Client {
    ports.accounts.expect_find_credentials().returning(|_| {
        let (user, password) = (UserId::new(Uuid::nil()), PasswordHash::new("stored".to_owned()));
        Ok(Some(Credentials { user, password, enabled: true }))
    });
    ports.sessions.expect_open().once().returning(|_, _, _| Ok(true));
    ports.tokens.expect_issue().once().returning(|_, _| Ok("a.b.c".to_owned()));
    let api = ports.start_with_replica(replica);
    api.login("alice", PASSWORD).await.expect(200);
    api
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_answered_before_its_password_is_rehashed() {
    let (hasher, mut calls) = SteppedHasher::new(|| Ok(PasswordHash::new("hashed".to_owned())));
    let mut ports = Ports { passwords: hasher.clone(), ..Ports::default() };
    let (renewed, mut was_renewed) = mpsc::unbounded_channel();
    ports.accounts.expect_renew_password_hash().once().returning(move |_, verified, new| {
        renewed.send((verified.as_str().to_owned(), new.as_str().to_owned())).unwrap();
        Ok(())
    });
    log_in(ports).await;
    calls.recv().await.unwrap();
    hasher.permits.add_permits(1);
    assert_eq!(was_renewed.recv().await.unwrap(), ("stored".to_owned(), "hashed".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_under_a_known_key_is_answered_from_the_record_and_not_carried_out() {
    let meets = |met: Lookup| {
        let mut ports = Ports::default();
        ports.idempotency.expect_begin().once().returning(move |_, _, _, _| Ok(Begun::Found(met.clone())));
        ports.start()
    };
    let running = register_once(&meets(Lookup::Running)).await;
    assert_eq!(running.headers[RETRY_AFTER], "1");
    let body: Value = serde_json::from_slice(&running.body).unwrap();
    let message = "A request with this Idempotency-Key is under way";
    assert_eq!(body, json!({ "success": false, "status": 409, "code": "idempotency_in_progress", "message": message }));
    let differs = register_once(&meets(Lookup::Differs)).await;
    expect_failure(differs, 422, "Idempotency-Key was used for another request");
    let again = register_once(&meets(Lookup::Done(Outcome::Registered(UserId::new(Uuid::nil()))))).await;
    assert_eq!((again.status, &again.headers["idempotency-replayed"]), (201, &HeaderValue::from_static("true")));
    let mut ports = Ports::default();
    ports.idempotency.expect_begin().once().returning(|_, _, _, _| Err(Error::unavailable(SECRET)));
    ports.idempotency.expect_abandon().once().returning(|_| Ok(()));
    expect_failure(register_once(&ports.start()).await, 503, UNAVAILABLE);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_does_not_arrive_in_time_is_answered_408() {
    let api = Ports { request_time: Duration::from_millis(20), ..Ports::default() }.start();
    let mut connection = TcpStream::connect(api.url().trim_start_matches("http://")).unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let head = "POST /api/auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    connection.write_all(format!("{head}Content-Length: 10\r\n\r\n{{").as_bytes()).unwrap();
    let mut status = [0; 12];
    connection.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 408");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_whose_bytes_fail_is_cut_off_rather_than_completed() {
    let mut ports = Ports::default();
    ports.store.expect_open().returning(|_, _, _| {
        let bytes = stream::iter([Ok(vec![0; 10].into()), Err(Error::internal(SECRET))]).boxed();
        Ok(Some(OpenImage { size: 100, range: Some(0..100), bytes }))
    });
    let api = ports.start();
    let image = api.request(Method::GET, "/media/00000000000000000000000000000000.png");
    assert!(api.try_send(image).await.is_none(), "an answer that was not cut off");
    expect_failure(get(&api, "/nothing").await, 404, "Route not found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_service_is_alive_but_not_ready() {
    let stopping = ShutdownFlag::default();
    let api = Ports { stopping: stopping.clone(), ..Ports::default() }.start();
    assert_eq!(get(&api, "/health/ready").await.status, 200);
    stopping.begin();
    expect_failure(get(&api, "/health/ready").await, 503, "The service is shutting down");
    assert_eq!(get(&api, "/health/live").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_names_the_failed_dependency_but_not_the_cause() {
    let mut images = MockProbe::new();
    images.expect_probe().returning(|| Err(Error::unavailable(SECRET)));
    let api = Ports { images, ..Ports::default() }.start();
    for _ in 0..3 {
        let answer = get(&api, "/health/ready").await;
        assert_eq!((answer.status, &answer.headers[RETRY_AFTER]), (503, &HeaderValue::from_static("1")));
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!((&body["success"], &body["status"]), (&json!(false), &json!(503)));
        let statuses = ["database", "images", "migrations"].map(|check| body["data"][check]["status"].clone());
        assert_eq!(statuses, ["ok", "failed", "ok"].map(Value::from));
        assert!(!body.to_string().contains("hunter2"), "{body}");
    }
    assert_eq!(get(&api, "/health/live").await.status, 200);
}
