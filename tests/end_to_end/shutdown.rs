//! SIGTERM and SIGINT: what is in flight is finished, then the service ends.

use serde_json::{Value, json};

use crate::{
    api::{Answer, PASSWORD, eventually, picture, text},
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

const BOUNDARY: &str = "----------------agora";

/// A form with a picture.
fn form(picture: &[u8]) -> Vec<u8> {
    let head = format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"image\"; filename=\"a.png\"\r\n\
         Content-Type: image/png\r\n\r\n"
    );
    [head.as_bytes(), picture, format!("\r\n--{BOUNDARY}--\r\n").as_bytes()].concat()
}
