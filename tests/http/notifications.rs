//! `/api/notifications…`: notifications of what other users did.

use reqwest::Method;
use serde_json::{Value, json};

use crate::client::list;
use crate::support::{Server, User};

/// An id that does not exist.
const NOTHING: &str = "01900000-0000-7000-8000-000000000000";

async fn notifications(server: &Server, user: &User, query: &str) -> Vec<Value> {
    list(&server.get(user, &format!("/api/notifications{query}")).await.expect(200).data()).to_vec()
}

async fn unread(server: &Server, user: &User) -> Value {
    server.get(user, "/api/notifications/unread").await.expect(200).data()
}

async fn comment(server: &Server, author: &User, post: &str, body: Value) -> Value {
    server.call_json(author, Method::POST, &format!("/api/posts/{post}/comments"), body).await.expect(201).data()
}

fn mini(user: &User) -> Value {
    json!({ "id": user.id, "username": user.name, "displayName": null, "profilePicture": null, "profilePictureThumbnail": null })
}

#[tokio::test(flavor = "multi_thread")]
async fn users_are_notified_of_what_others_do_with_their_content() {
    let server = Server::start().await;
    let (alice, bob, cleo) = (server.user("alice").await, server.user("bob").await, server.user("cleo").await);
    let long = "é".repeat(200);
    let post = server.publish(&alice, &long, "PUBLIC").await;
    for user in [&bob, &cleo, &alice] {
        server.call(user, Method::POST, &format!("/api/posts/like/{post}")).await.expect(200);
    }
    server.call(&bob, Method::POST, &format!("/api/follow/{}", alice.id)).await.expect(200);
    let first = comment(&server, &alice, &post, json!({ "content": "hello @bob, @alice" })).await;
    let answer = json!({ "content": "hello @alice", "replyToId": first["id"] });
    let reply = comment(&server, &cleo, &post, answer).await;
    let like = format!("/api/comments/{}/like", first["id"].as_str().unwrap());
    server.call(&cleo, Method::PUT, &like).await.expect(200);

    let listed = notifications(&server, &alice, "").await;
    let kinds: Vec<_> = listed.iter().map(|entry| entry["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["commentLike", "reply", "follow", "like"]);
    let about_post = json!({ "id": post, "content": "é".repeat(140), "image": null });
    let entry = |n: usize, count: u64, actors: Value, post: Value, comment: Value| {
        json!({
            "id": listed[n]["id"], "type": kinds[n], "createdAt": listed[n]["createdAt"],
            "updatedAt": listed[n]["updatedAt"], "read": false, "count": count, "actors": actors,
            "post": post, "comment": comment,
        })
    };
    let about = |comment: &Value| json!({ "id": comment["id"], "content": comment["content"] });
    assert_eq!(listed[0], entry(0, 1, json!([mini(&cleo)]), about_post.clone(), about(&first)));
    assert_eq!(listed[1], entry(1, 1, json!([mini(&cleo)]), about_post.clone(), about(&reply)));
    assert_eq!(listed[2], entry(2, 1, json!([mini(&bob)]), Value::Null, Value::Null));
    assert_eq!(listed[3], entry(3, 2, json!([mini(&cleo), mini(&bob)]), about_post.clone(), Value::Null));
    assert_eq!(unread(&server, &alice).await, json!({ "count": 4 }));

    let of_bob = notifications(&server, &bob, "").await;
    assert_eq!(of_bob.len(), 1);
    assert_eq!((&of_bob[0]["type"], &of_bob[0]["comment"]), (&json!("mention"), &about(&first)));
    assert_eq!(notifications(&server, &cleo, "").await, [] as [Value; 0]);

    let filtered = notifications(&server, &alice, "?type=follow&type=like&type=follow&size=1").await;
    assert_eq!(filtered, listed[2..3]);
    let actors = format!("/api/notifications/{}/actors", listed[3]["id"].as_str().unwrap());
    assert_eq!(server.get(&alice, &actors).await.expect(200).data(), json!([mini(&cleo), mini(&bob)]));
    // A notification of somebody else is not found.
    let refused = server.get(&bob, &actors).await.expect(404).json();
    assert_eq!(refused["code"], "notification_not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_notification_is_unread_again_when_it_gains_an_actor() {
    let server = Server::start().await;
    let (alice, bob, cleo) = (server.user("alice").await, server.user("bob").await, server.user("cleo").await);
    let post = server.publish(&alice, "hello", "PUBLIC").await;
    let like = format!("/api/posts/like/{post}");
    server.call(&bob, Method::PUT, &like).await.expect(200);
    server.call(&bob, Method::PUT, &format!("/api/follow/{}", alice.id)).await.expect(200);
    let listed = notifications(&server, &alice, "").await;
    let read = async |id: &Value| {
        server.call_json(&alice, Method::PUT, "/api/notifications/read", json!({ "upTo": id })).await
    };
    let answer = read(&listed[1]["id"]).await.expect(200);
    assert_eq!(answer.data(), Value::Null);
    assert_eq!(unread(&server, &alice).await, json!({ "count": 1 }));
    read(&listed[0]["id"]).await.expect(200);
    // From another device, which has seen less: nothing becomes unread.
    read(&listed[1]["id"]).await.expect(200);
    assert_eq!(unread(&server, &alice).await, json!({ "count": 0 }));
    // Unliking and liking again does not make it unread.
    for method in [Method::DELETE, Method::PUT, Method::DELETE, Method::PUT] {
        server.call(&bob, method, &like).await.expect(200);
    }
    assert_eq!(unread(&server, &alice).await, json!({ "count": 0 }));
    server.call(&cleo, Method::PUT, &like).await.expect(200);
    let grown = &notifications(&server, &alice, "").await[0];
    assert_eq!((&grown["id"], &grown["count"], &grown["read"]), (&listed[1]["id"], &json!(2), &json!(false)));
    assert_eq!(unread(&server, &alice).await, json!({ "count": 1 }));
    // With the `updatedAt` from before it gained an actor, it stays unread; with the current one, it is read.
    for (shown, left) in [(&listed[1], 1), (grown, 0)] {
        let mark = json!({ "upTo": shown["id"], "updatedAt": shown["updatedAt"] });
        server.call_json(&alice, Method::PUT, "/api/notifications/read", mark).await.expect(200);
        assert_eq!(unread(&server, &alice).await, json!({ "count": left }), "{shown}");
    }
    let mark = json!({ "upTo": grown["id"], "updatedAt": "yesterday" });
    let refused = server.call_json(&alice, Method::PUT, "/api/notifications/read", mark).await.expect(400).json();
    assert_eq!(refused["data"], json!({ "updatedAt": ["updatedAt must be an RFC 3339 time or a date"] }));
    read(&json!(NOTHING)).await.expect(404);
    for (id, status) in [(json!("x"), 400), (json!(7), 400), (Value::Null, 400)] {
        let refused = read(&id).await.expect(status).json();
        assert_eq!(refused["data"].as_object().unwrap().keys().collect::<Vec<_>>(), ["upTo"], "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn users_choose_their_notifications() {
    let server = Server::start().await;
    let (alice, bob, cleo) = (server.user("alice").await, server.user("bob").await, server.user("cleo").await);
    let settings = "/api/notifications/settings";
    let mut expected = json!({
        "like": "everyone", "comment": "everyone", "reply": "everyone", "mention": "everyone", "follow": "everyone",
        "commentLike": "everyone", "report": "everyone",
    });
    assert_eq!(server.get(&alice, settings).await.expect(200).data(), expected);
    let change = async |body: Value| server.call_json(&alice, Method::PUT, settings, body).await;
    (expected["like"], expected["follow"]) = (json!("following"), json!("none"));
    let changed = change(json!({ "like": "following", "follow": "none" })).await.expect(200).data();
    assert_eq!(changed, expected);
    assert_eq!(change(json!({})).await.expect(200).data(), expected);
    let refused = change(json!({ "like": "all", "commentLike": 7, "mention": "none" })).await.expect(400).json();
    assert_eq!(refused["codes"], json!({ "like": ["not_allowed"], "commentLike": ["wrong_type"] }));
    assert_eq!(server.get(&alice, settings).await.expect(200).data(), expected, "nothing changed");

    let post = server.publish(&alice, "hello", "PUBLIC").await;
    server.call(&alice, Method::PUT, &format!("/api/follow/{}", cleo.id)).await.expect(200);
    for user in [&bob, &cleo] {
        server.call(user, Method::PUT, &format!("/api/posts/like/{post}")).await.expect(200);
        server.call(user, Method::PUT, &format!("/api/follow/{}", alice.id)).await.expect(200);
    }
    let listed = notifications(&server, &alice, "").await;
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0]["type"], &listed[0]["actors"]), (&json!("like"), &json!([mini(&cleo)])));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_notifies_mentioned_users_but_no_followers() {
    let server = Server::start().await;
    let (alice, bob, cleo) = (server.user("alice").await, server.user("bob").await, server.user("cleo").await);
    server.call(&cleo, Method::PUT, &format!("/api/follow/{}", alice.id)).await.expect(200);
    let private = server.publish(&alice, "@bob @alice @BOB", "PRIVATE").await;
    assert_eq!(notifications(&server, &bob, "").await, [] as [Value; 0], "out of sight");
    let shown = json!({ "visibility": "PUBLIC" });
    server.call_json(&alice, Method::PUT, &format!("/api/posts/update/{private}"), shown).await.expect(200);
    let listed = notifications(&server, &bob, "").await;
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0]["type"], &listed[0]["post"]["id"]), (&json!("mention"), &json!(private)));
    // A user who is mentioned only by a later edit is not notified.
    let edit = json!({ "text": "@bob @cleo" });
    server.call_json(&alice, Method::PUT, &format!("/api/posts/update/{private}"), edit).await.expect(200);
    assert_eq!(notifications(&server, &cleo, "").await, [] as [Value; 0]);
    server.call(&alice, Method::DELETE, &format!("/api/posts/delete/{private}")).await.expect(200);
    assert_eq!(notifications(&server, &bob, "").await, [] as [Value; 0]);
    assert_eq!(unread(&server, &bob).await, json!({ "count": 0 }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_request_notifies_once() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let post = server.publish(&alice, "hello", "PUBLIC").await;
    for _ in 0..2 {
        for (path, body) in [
            (format!("/api/posts/{post}/comments"), json!({ "content": "Indeed" })),
            (format!("/api/posts/like/{post}"), json!({})),
            (format!("/api/follow/{}", alice.id), json!({})),
        ] {
            let request = server.request_as(&bob, Method::POST, &path).header("idempotency-key", "k").json(&body);
            let status = server.send(request).await.status;
            assert!([200, 201].contains(&status), "{path}: {status}");
        }
    }
    let listed = notifications(&server, &alice, "").await;
    assert_eq!(listed.iter().map(|entry| entry["count"].clone()).collect::<Vec<_>>(), [1, 1, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_filters_and_pages_are_refused() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for (query, field) in [("?type=likes", "type"), ("?type=", "type"), ("?size=0", "size"), ("?cursor=x", "cursor")] {
        let refused = server.get(&alice, &format!("/api/notifications{query}")).await.expect(400).json();
        assert!(refused["data"][field].is_array(), "{query}: {refused}");
    }
    server.get(&alice, "/api/notifications/x/actors").await.expect(400);
    server.get(&alice, &format!("/api/notifications/{NOTHING}/actors?size=101")).await.expect(400);
    server.get(&alice, &format!("/api/notifications/{NOTHING}/actors")).await.expect(404);
}
