//! Live updates: who may listen to which topics, and which events are delivered.

use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::client::text;
use crate::sse::{EventStream, listening};
use crate::support::{Server, User};

async fn like(server: &Server, user: &User, post: &str) {
    server.call(user, Method::PUT, &format!("/api/posts/like/{post}")).await.expect(200);
}

async fn comment(server: &Server, user: &User, post: &str, content: &str) -> String {
    let path = format!("/api/posts/{post}/comments");
    let body = json!({ "content": content });
    text(&server.call_json(user, Method::POST, &path, body).await.expect(201).data()["id"])
}

async fn ticket(server: &Server, user: &User) -> String {
    text(&server.call(user, Method::POST, "/api/events/ticket").await.expect(200).data()["ticket"])
}

#[tokio::test]
async fn events_are_delivered_to_listeners() {
    let server = Server::start().await;
    let (ada, bob) = (server.user("ada").await, server.user("bob").await);
    server.follow(&bob, &ada).await;
    let mut at_ada = EventStream::open(&server, &ada, "notifications,public").await;
    let mut at_bob = EventStream::open(&server, &bob, "feed,public").await;
    let post = server.publish(&ada, "Good morning", "PUBLIC").await;
    let published = json!({ "postId": post, "authorId": ada.id });
    assert_eq!(at_bob.expect("feed").await, published);
    assert_eq!(at_bob.expect("public").await, published);
    assert_eq!(at_ada.expect("public").await, published, "users also receive the events of their own actions");

    let mut at_post = EventStream::open(&server, &bob, &format!("post:{post}")).await;
    like(&server, &bob, &post).await;
    assert_eq!(at_post.expect("like").await, json!({ "postId": post, "likeCount": 1 }));
    let notification = at_ada.expect("notification").await;
    let listed = server.get(&ada, "/api/notifications").await.expect(200).data();
    // The other unread notification is of Bob's follow.
    assert_eq!(notification, json!({ "id": listed[0]["id"], "type": "like", "unread": 2 }));
    let made = comment(&server, &bob, &post, "Welcome").await;
    assert_eq!(at_post.expect("comment").await, json!({ "postId": post, "commentId": made }));
    assert_eq!(at_ada.expect("notification").await["unread"], 3);
    let path = format!("/api/posts/update/{post}");
    server.call_json(&ada, Method::PUT, &path, json!({ "text": "Good evening" })).await.expect(200);
    assert_eq!(at_post.expect("post").await, json!({ "postId": post, "change": "updated" }));
    server.call(&ada, Method::DELETE, &format!("/api/posts/delete/{post}")).await.expect(200);
    assert_eq!(at_post.expect("post").await, json!({ "postId": post, "change": "deleted" }));
}

#[tokio::test]
async fn a_stream_resumes_after_the_last_event_id_in_header_or_query() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let mut stream = EventStream::open(&server, &ada, "public").await;
    let first = server.publish(&ada, "one", "PUBLIC").await;
    assert_eq!(stream.expect("public").await["postId"], first);
    let last = stream.last_id().to_owned();
    drop(stream);
    let second = server.publish(&ada, "two", "PUBLIC").await;
    let third = server.publish(&ada, "three", "PUBLIC").await;
    let by_query = server.request_as(&ada, Method::GET, &format!("/api/events?topics=public&lastEventId={last}"));
    let beside_empty = by_query.try_clone().unwrap().header("last-event-id", "");
    for request in [listening(&server, &ada, "public", Some(&last)), by_query, beside_empty] {
        let mut resumed = EventStream::of(request).await;
        assert_eq!(resumed.expect("public").await["postId"], second);
        assert_eq!(resumed.expect("public").await["postId"], third);
    }
    for unknown in ["nonsense", "1-1", "0-0p", &last.replace('-', "0-")] {
        let mut anew = EventStream::resume(&server, &ada, "public", unknown).await;
        assert_eq!(anew.expect("reset").await, json!({}), "{unknown}");
    }
}

#[tokio::test]
async fn a_ticket_opens_one_stream_for_the_account_of_its_token() {
    let server = Server::start().await;
    let (ada, bob) = (server.user("ada").await, server.user("bob").await);
    let post = server.publish(&ada, "to myself", "PRIVATE").await;
    let path = |ticket: &str| format!("/api/events?topics=post:{post}&ticket={ticket}");
    let request = |ticket: &str| server.request(Method::GET, &path(ticket));
    let of_ada = ticket(&server, &ada).await;
    let mut stream = EventStream::of(request(&of_ada)).await;
    like(&server, &ada, &post).await;
    assert_eq!(stream.expect("like").await["likeCount"], 1);
    let again = server.send(request(&of_ada)).await.expect(401).json();
    assert_eq!(again["code"], "unauthenticated");
    server.send(request(&ticket(&server, &bob).await)).await.expect(403);
    for forged in ["", "nonsense", &ada.token, &format!("{}x", ticket(&server, &ada).await)] {
        server.send(request(forged)).await.expect(401);
    }
    let as_token = User { token: ticket(&server, &ada).await, ..ada.clone() };
    server.get(&as_token, "/api/users/me").await.expect(401);
    // A request with a token needs no ticket, and does not use one up.
    let unused = ticket(&server, &ada).await;
    EventStream::of(server.request_as(&ada, Method::GET, &path(&unused))).await;
    EventStream::of(request(&unused)).await;
}

#[tokio::test]
async fn a_ticket_is_valid_for_no_other_endpoint_and_ends_with_its_session() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let issued = ticket(&server, &ada).await;
    server.fetch(&format!("/api/users/me?ticket={issued}")).await.expect(401);
    server.call(&ada, Method::POST, "/api/auth/logout").await.expect(200);
    server.fetch(&format!("/api/events?topics=public&ticket={issued}")).await.expect(401);
}

#[tokio::test]
async fn unknown_topics_are_refused() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let unknown = "018f0000-0000-7000-8000-000000000000";
    let many = vec![format!("post:{unknown}"); 3].join(",")
        + &(0..50).map(|n| format!(",post:{n:08}-0000-7000-8000-000000000000")).collect::<String>();
    for (topics, code) in [
        ("", "required"),
        (",", "required"),
        ("nothing", "not_allowed"),
        ("post:1", "not_allowed"),
        (&many, "out_of_range"),
    ] {
        let refused = server.get(&ada, &format!("/api/events?topics={topics}")).await.expect(400).json();
        assert_eq!((&refused["code"], &refused["codes"]), (&json!("validation_failed"), &json!({ "topics": [code] })));
    }
    server.get(&ada, "/api/events").await.expect(400);
    // A malformed topic is reported before an unknown one.
    server.get(&ada, &format!("/api/events?topics=post:{unknown},nothing")).await.expect(400);
    let missing = server.get(&ada, &format!("/api/events?topics=public,post:{unknown}")).await.expect(404).json();
    assert_eq!(missing["code"], "post_not_found");
}

#[tokio::test]
async fn a_head_request_returns_the_headers_of_a_stream_and_opens_none() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    for _ in 0..20 {
        let head = server.call(&ada, Method::HEAD, "/api/events?topics=public").await.expect(200);
        assert_eq!((head.header(CONTENT_TYPE), head.header(CONTENT_LENGTH)), (Some("text/event-stream"), None));
    }
    let stream = listening(&server, &ada, "public", None).header(ACCEPT_ENCODING, "zstd, gzip").send().await.unwrap();
    assert_eq!(stream.status(), StatusCode::OK);
    let headers = stream.headers();
    assert_eq!(headers["cache-control"], "no-store");
    assert_eq!(headers["x-accel-buffering"], "no");
    assert!(!headers.contains_key(CONTENT_ENCODING));
}

#[tokio::test]
async fn an_account_has_at_most_ten_streams_which_do_not_count_as_requests_in_flight() {
    let server = Server::start_with(|config| config.max_requests = 4).await;
    let (ada, bob) = (server.user("ada").await, server.user("bob").await);
    let mut streams = Vec::new();
    for _ in 0..10 {
        streams.push(EventStream::open(&server, &ada, "public").await);
    }
    let refused = server.get(&ada, "/api/events?topics=public").await.expect(429);
    assert_eq!(refused.json()["code"], "rate_limited");
    assert!(refused.header(RETRY_AFTER).is_some());
    EventStream::open(&server, &bob, "public").await;
    let post = server.publish(&bob, "Good morning", "PUBLIC").await;
    for stream in &mut streams {
        assert_eq!(stream.expect("public").await["postId"], post);
    }
}

#[tokio::test]
async fn a_stream_ends_on_logout_disabling_and_loss_of_the_role() {
    let server = Server::start().await;
    let root = server.root().await;
    let [out, disabled, without_role] = [server.user("ada").await, server.user("bob").await, server.user("cleo").await];
    let mut streams = Vec::new();
    for user in [&out, &disabled, &without_role] {
        streams.push(EventStream::open(&server, user, "notifications").await);
    }
    server.call(&out, Method::POST, "/api/auth/logout").await.expect(200);
    let path = format!("/api/users/{}/enabled", disabled.id);
    server.call_json(&root, Method::PUT, &path, json!({ "enabled": false })).await.expect(200);
    server.change_role(&root, &without_role, "REMOVE", "USER").await.expect(200);
    for stream in streams {
        assert_eq!(stream.reason().await, "session_ended");
    }
}
