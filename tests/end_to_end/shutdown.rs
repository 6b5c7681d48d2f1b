//! SIGTERM and SIGINT: what is in flight is finished, then the service ends.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use serde_json::{Value, json};

use crate::{
    api::{Answer, PASSWORD, eventually, list, picture, text},
    connection::Connection,
    process::Home,
};

#[tokio::test(flavor = "multi_thread")]
async fn requests_in_flight_are_answered_at_sigterm_and_new_connections_refused() {
    finishes_what_is_in_flight("TERM").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_in_flight_are_answered_at_sigint_and_new_connections_refused() {
    finishes_what_is_in_flight("INT").await;
}

async fn finishes_what_is_in_flight(signal: &str) {
    let home = Home::new();
    // Hashes that take a while, one after the other: some are still in line when the service is told to stop.
    let service = home.start_with(&[("AGORA_BCRYPT_COST", "10")]);
    let alice = service.api.user("alice").await;
    let address = service.address.clone();

    let login = json!({ "identifier": "alice", "password": PASSWORD }).to_string();
    let mut logins: Vec<_> = (0..16).map(|_| Connection::open(&address)).collect();
    let mut upload = Connection::open(&address);
    let mut idle = Connection::open(&address);
    for connection in &mut logins {
        connection.begin("/api/auth/login", "Content-Type: application/json\r\n", login.as_bytes());
    }
    let form = form(&picture());
    let headers =
        format!("Authorization: Bearer {}\r\nContent-Type: multipart/form-data; boundary={BOUNDARY}\r\n", alice.token);
    upload.begin("/api/posts/create", &headers, &form);
    for connection in &mut logins {
        connection.send(login.as_bytes());
    }

    service.tell(signal);
    eventually("connections are refused", async || Connection::is_refused(&address).then_some(())).await;

    upload.send(&form);
    let (status, post) = upload.answer();
    assert_eq!(status, 201, "{post}");
    for mut connection in logins {
        let (status, body) = connection.answer();
        assert_eq!(status, 200, "{body}");
        assert!(body.contains("token"), "{body}");
    }
    // Nothing was asked on this one: that does not keep the service from ending, nor make it fail.
    idle.expect_end();
    service.finish().expect_success();

    let service = home.start();
    let post: Value = Answer { status, body: post.into_bytes() }.data();
    let stored = service.api.view(&alice, &text(&post["id"])).await;
    service.api.image(&stored["image"]).await;
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_service_ends_at_once_and_twice_told_alike() {
    let home = Home::new();
    let service = home.start();
    service.tell("TERM");
    // The second may come after its end.
    service.tell("TERM");
    let finished = service.finish().expect_success();
    assert!(finished.stderr.contains("stopped"), "{finished:?}");
}

/// One who writes on a connection that is kept, one request after the other, until the service has gone away.
struct Client {
    connection: Connection,
    token: String,
    name: String,
    /// The texts of the posts that were acknowledged.
    acknowledged: Vec<String>,
}

impl Client {
    /// Writes to the end; what was acknowledged, and when the request was sent that was not answered.
    fn write(mut self, sent: &AtomicUsize) -> (Vec<String>, Option<Instant>) {
        for n in 0.. {
            let text = format!("{} {n}", self.name);
            let body = json!({ "text": text }).to_string();
            let request = format!(
                "POST /api/posts/create HTTP/1.1\r\nHost: agora\r\nAuthorization: Bearer {}\r\n\
                 Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                self.token,
                body.len()
            );
            if self.connection.try_send(request.as_bytes()).is_err() {
                return (self.acknowledged, None);
            }
            let sent_at = Instant::now();
            sent.fetch_add(1, Ordering::Relaxed);
            match self.connection.try_answer() {
                Ok((201, _)) => self.acknowledged.push(text),
                Ok(other) => panic!("{other:?}"),
                Err(_) => return (self.acknowledged, Some(sent_at)),
            }
        }
        (self.acknowledged, None)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_reply_is_lost_at_sigterm_under_load_and_no_acknowledged_write() {
    const CLIENTS: usize = 24;
    let home = Home::new();
    // Few threads and many clients: at any moment, most requests wait.
    for round in 1..=3 {
        let service = home.start_with(&[("AGORA_WORKERS", "1")]);
        let name = format!("writer-{round}");
        let user = service.api.user(&name).await;
        let sent = Arc::new(AtomicUsize::new(0));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|n| {
                let (connection, token) = (Connection::open(&service.address), user.token.clone());
                let client = Client { connection, token, name: format!("client {n}"), acknowledged: Vec::new() };
                let sent = Arc::clone(&sent);
                thread::spawn(move || client.write(&sent))
            })
            .collect();
        let enough = CLIENTS * (2 + round);
        eventually("enough is sent", async || (sent.load(Ordering::Relaxed) >= enough).then_some(())).await;
        let told = Instant::now();
        service.tell("TERM");
        let ends: Vec<_> = clients.into_iter().map(|client| client.join().unwrap()).collect();
        service.finish().expect_success();

        let service = home.start();
        let posts = service.api.get(&user, &format!("/api/posts/{}/all", user.id)).await.expect(200).data();
        let stored: BTreeSet<_> = list(&posts).iter().map(|post| text(&post["content"])).collect();
        for (acknowledged, unanswered) in ends {
            assert!(!acknowledged.is_empty(), "a client that was never served");
            assert!(acknowledged.iter().all(|text| stored.contains(text)), "{acknowledged:?} {stored:?}");
            // What was sent while the service was ending may find the connection closed, as HTTP has it.
            assert!(
                unanswered.is_none_or(|at| at >= told),
                "sent {:?} before the signal",
                unanswered.map(|at| told - at)
            );
        }
        service.stop();
    }
}

const BOUNDARY: &str = "----------------agora";

/// A form with a picture.
fn form(picture: &[u8]) -> Vec<u8> {
    let head = format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"image\"; filename=\"a.png\"\r\n\
         Content-Type: image/png\r\n\r\n"
    );
    [head.as_bytes(), picture, format!("\r\n--{BOUNDARY}--\r\n").as_bytes()].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_was_told_to_stop_is_alive_but_not_ready() {
    let home = Home::new();
    let service = home.start();
    let mut probe = Connection::open(&service.address);
    let mut ready = || {
        probe.send(b"GET /health/ready HTTP/1.1\r\nHost: agora\r\n\r\n");
        probe.answer()
    };
    assert_eq!(ready().0, 200);
    service.tell("TERM");
    // It goes on for a moment, in which its probes are still answered.
    let (status, body) = loop {
        let answer = ready();
        if answer.0 != 200 {
            break answer;
        }
    };
    assert_eq!(status, 503, "{body}");
    assert!(body.contains("shutting down"), "{body}");
    service.finish().expect_success();
}
