//! SIGTERM, SIGINT and SIGHUP: the service completes the requests in flight, then it exits.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use serde_json::json;

use crate::client::{FORM, JSON, PASSWORD, Response, User, eventually, form_bytes, request_bytes, text};
use crate::connection::Connection;
use crate::picture::picture;
use crate::process::{AGORA, Home, Process, Service};

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_completes_requests_in_flight_and_refuses_new_connections() {
    expect_graceful_stop("TERM").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sigint_completes_requests_in_flight_and_refuses_new_connections() {
    expect_graceful_stop("INT").await;
}

async fn expect_graceful_stop(signal: &str) {
    let home = Home::new();
    // Slow hashes, so that some are still queued when the signal arrives.
    let service = home.start_with(&[("AGORA_BCRYPT_COST", "10")]);
    let alice = service.api.user("alice").await;
    let address = service.address.clone();

    let login = json!({ "identifier": "alice", "password": PASSWORD }).to_string();
    // Each request is in flight as soon as its connection is open, since idle connections are soon closed.
    let begun = |path: &str, headers: &str, body: &[u8]| {
        let mut connection = Connection::open(&address);
        connection.begin(path, headers, body);
        connection
    };
    let mut logins: Vec<_> = (0..16).map(|_| begun("/api/auth/login", JSON, login.as_bytes())).collect();
    let form = form_bytes(&picture());
    let mut upload = begun("/api/posts/create", &(alice.authorization() + FORM), &form);
    let mut idle = Connection::open(&address);
    for connection in &mut logins {
        connection.send(login.as_bytes());
    }

    service.signal(signal);
    eventually("connections are refused", async || Connection::is_refused(&address).then_some(())).await;

    upload.send(&form);
    let post = upload.answer().expect(201).data();
    for mut connection in logins {
        let body = connection.answer().expect(200).text();
        assert!(body.contains("token"), "{body}");
    }
    // A connection without a request neither delays the exit nor makes it fail.
    idle.expect_end();
    service.finish().expect_success();

    let service = home.start();
    let stored = service.api.view(&alice, &text(&post["id"])).await;
    service.api.image(&stored["image"]).await;
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_aborts_requests_in_flight_during_a_graceful_stop() {
    let home = Home::new();
    let service = home.start();
    let alice = service.api.user("alice").await;
    let mut unsent = Connection::open(&service.address);
    unsent.begin("/api/posts/create", &(alice.authorization() + FORM), &form_bytes(&picture()));
    let address = service.address.clone();
    service.signal("TERM");
    eventually("connections are refused", async || Connection::is_refused(&address).then_some(())).await;
    service.signal("TERM");
    service.finish().expect_success();
    assert!(unsent.try_answer().is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn sighup_stops_gracefully_even_if_it_is_received_twice() {
    let home = Home::new();
    // With the default action of the signal, even if it is ignored where these tests run.
    let service = Service::start(home.release("env", &["--default-signal=HUP", AGORA]));
    let alice = service.api.user("alice").await;
    let (mut upload, form) = (Connection::open(&service.address), form_bytes(&picture()));
    upload.begin("/api/posts/create", &(alice.authorization() + FORM), &form);
    let address = service.address.clone();
    service.signal("HUP");
    eventually("connections are refused", async || Connection::is_refused(&address).then_some(())).await;
    service.signal("HUP");
    upload.send(&form);
    upload.answer().expect(201);
    assert!(service.finish().expect_success().stderr.contains("stopped"));
}

#[tokio::test(flavor = "multi_thread")]
async fn under_nohup_a_service_ignores_sighup() {
    let home = Home::new();
    let service = Service::start(home.release("nohup", &[AGORA]));
    service.signal("HUP");
    service.api.user("alice").await;
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_service_exits_successfully_even_if_signalled_twice() {
    let home = Home::new();
    let service = home.start();
    service.signal("TERM");
    // The second signal may arrive after the exit.
    service.signal("TERM");
    let finished = service.finish().expect_success();
    assert!(finished.stderr.contains("stopped"), "{finished:?}");
}

/// A client that writes over a persistent connection, one request after the other, until the service closes it.
struct Writer {
    connection: Connection,
    user: User,
    name: String,
    /// The texts of the posts that were acknowledged.
    acknowledged: Vec<String>,
}

impl Writer {
    /// Writes until the connection ends; returns the acknowledged texts, and when the request without a response was sent.
    fn write(mut self, sent: &AtomicUsize) -> (Vec<String>, Option<Instant>) {
        for n in 0.. {
            let text = format!("{} {n}", self.name);
            let body = json!({ "text": text }).to_string();
            let request = request_bytes("POST /api/posts/create", &(self.user.authorization() + JSON), body);
            if self.connection.try_send(&request).is_err() {
                return (self.acknowledged, None);
            }
            let sent_at = Instant::now();
            sent.fetch_add(1, Ordering::Relaxed);
            match self.connection.try_answer() {
                Ok(answer) => drop(answer.expect(201)),
                Err(_) => return (self.acknowledged, Some(sent_at)),
            }
            self.acknowledged.push(text);
        }
        (self.acknowledged, None)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_under_load_loses_no_response_and_no_acknowledged_write() {
    const CLIENTS: usize = 24;
    let home = Home::new();
    // One thread and many clients, so that most requests are queued at any moment.
    for round in 1..=3 {
        let service = home.start_with(&[("AGORA_WORKERS", "1")]);
        let name = format!("writer-{round}");
        let user = service.api.user(&name).await;
        let sent = Arc::new(AtomicUsize::new(0));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|n| {
                let (connection, user) = (Connection::open(&service.address), user.clone());
                let client = Writer { connection, user, name: format!("client {n}"), acknowledged: Vec::new() };
                let sent = Arc::clone(&sent);
                thread::spawn(move || client.write(&sent))
            })
            .collect();
        let enough = CLIENTS * (2 + round);
        eventually("enough is sent", async || (sent.load(Ordering::Relaxed) >= enough).then_some(())).await;
        let signalled = Instant::now();
        service.signal("TERM");
        let ends: Vec<_> = clients.into_iter().map(|client| client.join().unwrap()).collect();
        service.finish().expect_success();

        let service = home.start();
        // All pages of the list, since there is more than one.
        let posts = service.api.walk(&user, &format!("/api/posts/{}/all", user.id), "data").await;
        let stored: BTreeSet<_> = posts.iter().map(|post| text(&post["content"])).collect();
        for (acknowledged, unanswered) in ends {
            assert!(!acknowledged.is_empty(), "a client that was never served");
            assert!(acknowledged.iter().all(|text| stored.contains(text)), "{acknowledged:?} {stored:?}");
            // A request sent after the signal may find the connection closed, as HTTP allows.
            assert!(
                unanswered.is_none_or(|at| at >= signalled),
                "sent {:?} before the signal",
                unanswered.map(|at| signalled - at)
            );
        }
        service.stop();
    }
}

/// Polls the readiness until it is as expected; returns that response, or `None` if the service exits first.
fn poll_readiness(probe: &mut Connection, is_ready: bool) -> Option<Response> {
    loop {
        probe.try_send(b"GET /health/ready HTTP/1.1\r\nHost: agora\r\n\r\n").ok()?;
        let answer = probe.try_answer().ok()?;
        if (answer.status == 200) == is_ready {
            return Some(answer);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_stopping_is_alive_but_not_ready() {
    const ROUNDS: usize = 5;
    let home = Home::new();
    // Probes are answered only for a moment after the signal, which a busy machine may miss: hence several rounds.
    let answers = (0..ROUNDS).map(|_| {
        let service = home.start();
        let mut probe = Connection::open(&service.address);
        poll_readiness(&mut probe, true).expect("it is ready");
        let polling = thread::spawn(move || poll_readiness(&mut probe, false));
        service.signal("TERM");
        let answer = polling.join().unwrap();
        service.finish().expect_success();
        answer
    });
    let answer = answers.flatten().next().expect("it ends without a word").expect_failure(503);
    assert!(answer.text().contains("shutting down"), "{answer:?}");
}

#[test]
fn a_signal_ends_a_service_that_is_starting_and_waits_for_the_database() {
    let home = Home::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command = home.agora(&[]);
    command.env("AGORA_DATABASE_URL", format!("postgres://agora@{}/agora", silent.local_addr().unwrap()));
    let process = Process::spawn(command, "");
    let connection = silent.accept().unwrap();
    process.signal("TERM");
    process.finish().expect_success();
    drop(connection);
}
