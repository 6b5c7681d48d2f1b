//! Blocks and mutes: what each side sees.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Server, User};

/// The id of no account.
const NOBODY: &str = "00000000-0000-7000-8000-000000000000";

async fn block(server: &Server, by: &User, whom: &User) {
    server.call(by, Method::PUT, &format!("/api/users/{}/block", whom.id)).await.expect(200);
}

async fn comment(server: &Server, by: &User, post: &str) -> String {
    let path = format!("/api/posts/{post}/comments");
    let body = json!({ "content": "Indeed" });
    server.call_json(by, Method::POST, &path, body).await.expect(201).data()["id"].as_str().unwrap().to_owned()
}

/// Returns the ids of the entries on a page.
async fn ids(server: &Server, user: &User, path: &str) -> Vec<Value> {
    let list = server.get(user, path).await.expect(200).data();
    list.as_array().unwrap().iter().map(|entry| entry["id"].clone()).collect()
}

/// The ids of a user, and of a post and a comment of that user; or else ids that do not exist.
struct Targets {
    user: String,
    post: String,
    comment: String,
}

/// Returns every request about a user, or a post or comment of the user, that is answered 404 if either side blocks the other.
fn requests(targets: &Targets, host: &str) -> Vec<(Method, String, Option<Value>)> {
    let Targets { user, post, comment } = targets;
    let mut requests = Vec::new();
    let mut add = |method: Method, path: String| requests.push((method, path, None));
    for path in [
        format!("/api/users/{user}/profile"),
        format!("/api/users/{user}/followers"),
        format!("/api/users/{user}/followed"),
        format!("/api/follow/followers/{user}"),
        format!("/api/follow/followed/{user}"),
        format!("/api/posts/user/{user}"),
        format!("/api/posts/{user}/all"),
        format!("/api/posts/by-id/{post}"),
        format!("/api/posts/{post}/likes"),
        format!("/api/posts/{post}/comments"),
        format!("/api/comments/all/{post}"),
        format!("/api/comments/{comment}/replies"),
        format!("/api/comments/{comment}/likes"),
        format!("/api/search?type=posts&q=word&from={user}"),
        format!("/api/events?topics=post:{post}"),
    ] {
        add(Method::GET, path);
    }
    for (method, path) in [
        (Method::PUT, format!("/api/follow/follow/{user}")),
        (Method::POST, format!("/api/follow/follow/{user}")),
        (Method::DELETE, format!("/api/follow/follow/{user}")),
        (Method::PUT, format!("/api/users/{user}/mute")),
        (Method::DELETE, format!("/api/users/{user}/mute")),
        (Method::DELETE, format!("/api/users/{user}/block")),
        (Method::PUT, format!("/api/posts/like/{post}")),
        (Method::POST, format!("/api/posts/like/{post}")),
        (Method::DELETE, format!("/api/posts/like/{post}")),
        (Method::PUT, format!("/api/posts/{post}/bookmark")),
        (Method::DELETE, format!("/api/posts/{post}/bookmark")),
        (Method::DELETE, format!("/api/posts/delete/{post}")),
        (Method::DELETE, format!("/api/posts/{post}/comments?author={user}")),
        (Method::PUT, format!("/api/comments/{comment}/like")),
        (Method::DELETE, format!("/api/comments/{comment}/like")),
        (Method::DELETE, format!("/api/comments/delete/{comment}")),
    ] {
        add(method, path);
    }
    for (method, path, body) in [
        (Method::PUT, format!("/api/posts/update/{post}"), json!({ "text": "changed" })),
        (Method::POST, "/api/comments/create".to_owned(), json!({ "postId": post, "content": "hello" })),
        (Method::POST, format!("/api/posts/{post}/comments"), json!({ "content": "hello" })),
        (Method::POST, format!("/api/posts/{host}/comments"), json!({ "content": "hello", "replyToId": comment })),
        (Method::PUT, "/api/comments/update".to_owned(), json!({ "commentId": comment, "content": "hello" })),
        (Method::PUT, "/api/comments/update".to_owned(), json!({ "postId": post, "content": "hello" })),
    ] {
        requests.push((method, path, Some(body)));
    }
    requests
}

#[tokio::test(flavor = "multi_thread")]
async fn to_a_blocked_user_the_other_account_seems_not_to_exist() {
    let server = Server::start().await;
    let [alice, bob, carol] = [server.user("alice").await, server.user("bob").await, server.user("carol").await];
    let host = server.publish(&carol, "Welcome", "PUBLIC").await;
    let post = server.publish(&alice, "My word", "PUBLIC").await;
    let on_host = comment(&server, &alice, &host).await;
    block(&server, &alice, &bob).await;
    let there = Targets { user: alice.id.clone(), post, comment: on_host };
    let gone = Targets { user: NOBODY.to_owned(), post: NOBODY.to_owned(), comment: NOBODY.to_owned() };
    for ((method, path, body), (_, absent, no_body)) in requests(&there, &host).into_iter().zip(requests(&gone, &host))
    {
        let ask = async |path: &str, body: Option<Value>| {
            let answer = match body {
                Some(body) => server.call_json(&bob, method.clone(), path, body).await,
                None => server.call(&bob, method.clone(), path).await,
            };
            let mut headers: Vec<_> =
                answer.headers.iter().map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())).collect();
            // These differ between requests. The connection is closed if the response came before the body had arrived.
            let volatile =
                ["date", "connection", "x-request-id", "ratelimit-remaining", "ratelimit-reset", "ratelimit"];
            headers.retain(|(name, _)| !volatile.contains(&name.as_str()));
            headers.sort();
            let mut body: Value = answer.json();
            if let Some(body) = body.as_object_mut() {
                body.retain(|name, _| !["requestId", "timestamp"].contains(&name.as_str()));
            }
            (answer.status, headers, body)
        };
        let (found, expected) = (ask(&path, body).await, ask(&absent, no_body).await);
        assert_eq!(expected.0, 404, "{method} {absent}");
        assert_eq!(found, expected, "{method} {path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_side_of_a_block_sees_what_the_contract_says() {
    let server = Server::start().await;
    let [alice, bob, carol] = [server.user("alice").await, server.user("bob").await, server.user("carol").await];
    let root = server.root().await;
    let post = server.publish(&carol, "Welcome #party", "PUBLIC").await;
    let of_bob = server.publish(&bob, "Mine #party", "PUBLIC").await;
    for guest in [&alice, &bob] {
        server.call(guest, Method::PUT, &format!("/api/posts/like/{post}")).await.expect(200);
        comment(&server, guest, &post).await;
    }
    server.call(&alice, Method::PUT, &format!("/api/posts/like/{of_bob}")).await.expect(200);
    let own = comment(&server, &alice, &of_bob).await;
    block(&server, &alice, &bob).await;

    let profile = |of: &User| format!("/api/users/{}/profile", of.id);
    let seen = server.get(&alice, &profile(&bob)).await.expect(200).data();
    assert_eq!((&seen["relationship"]["blocking"], &seen["postCount"]), (&json!(true), &json!(0)));
    server.get(&bob, &profile(&alice)).await.expect(404);
    server.get(&root, &profile(&alice)).await.expect(200);
    assert_eq!(ids(&server, &alice, "/api/users/me/blocks").await, [json!(bob.id)]);
    assert!(ids(&server, &bob, "/api/users/me/blocks").await.is_empty());

    for (viewer, likers, posts) in [(&alice, 1, 1), (&bob, 1, 2), (&carol, 2, 2), (&root, 2, 2)] {
        let shown = server.get(viewer, &format!("/api/posts/by-id/{post}")).await.expect(200).data();
        assert_eq!(shown["likedBy"].as_array().unwrap().len(), likers);
        assert_eq!((&shown["likeCount"], &shown["commentCount"]), (&json!(2), &json!(2)), "counts stay");
        assert_eq!(ids(&server, viewer, &format!("/api/posts/{post}/comments")).await.len(), likers);
        assert_eq!(ids(&server, viewer, "/api/tags/party/posts").await.len(), posts);
    }

    // The blocker can still take back own likes, once, and edit and delete own comments.
    server.call(&alice, Method::DELETE, &format!("/api/posts/like/{of_bob}")).await.expect(200);
    server.call(&alice, Method::DELETE, &format!("/api/posts/like/{of_bob}")).await.expect(404);
    let change = json!({ "commentId": own, "content": "changed" });
    server.call_json(&alice, Method::PUT, "/api/comments/update", change).await.expect(200);
    // A mention across a block is plain text.
    let mention = server.publish(&bob, "Hello @alice and @carol", "PUBLIC").await;
    let shown = server.get(&carol, &format!("/api/posts/by-id/{mention}")).await.expect(200).data();
    let mentioned: Vec<_> = shown["entities"].as_array().unwrap().iter().map(|it| &it["userId"]).collect();
    assert_eq!(mentioned, [&json!(carol.id)]);
    // Only the author of a post can delete comments on it that the author does not see.
    assert!(ids(&server, &bob, &format!("/api/posts/{of_bob}/comments")).await.is_empty());
    server.call(&bob, Method::DELETE, &format!("/api/comments/delete/{own}")).await.expect(404);
    let all = format!("/api/posts/{of_bob}/comments?author={}", alice.id);
    server.call(&carol, Method::DELETE, &all).await.expect(403);
    for (author, code) in [("", "required"), ("?author=", "required"), ("?author=bob", "invalid_format")] {
        let path = format!("/api/posts/{of_bob}/comments{author}");
        let refused = server.call(&bob, Method::DELETE, &path).await.expect_invalid(&["author"]);
        assert_eq!(refused.json()["codes"]["author"], json!([code]));
    }
    server.call(&bob, Method::DELETE, &all).await.expect(200);
    assert!(ids(&server, &root, &format!("/api/posts/{of_bob}/comments")).await.is_empty());

    // Both may block each other. Then each is invisible to the other, except in the own list of blocks.
    block(&server, &bob, &alice).await;
    server.get(&alice, &profile(&bob)).await.expect(404);
    assert_eq!(ids(&server, &alice, "/api/users/me/blocks").await, [json!(bob.id)]);
    for (by, whom) in [(&alice, &bob), (&bob, &alice)] {
        server.call(by, Method::DELETE, &format!("/api/users/{}/block", whom.id)).await.expect(200);
    }
    server.get(&bob, &profile(&alice)).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mute_takes_hours_or_none_and_is_listed_with_its_end() {
    let server = Server::start().await;
    let [alice, bob] = [server.user("alice").await, server.user("bob").await];
    let path = format!("/api/users/{}/mute", bob.id);
    for (body, code) in [
        (json!({ "hours": 0 }), "out_of_range"),
        (json!({ "hours": 8761 }), "out_of_range"),
        (json!({ "hours": 1.5 }), "wrong_type"),
        (json!({ "hours": "1" }), "wrong_type"),
    ] {
        let refused = server.call_json(&alice, Method::PUT, &path, body).await.expect(400).json();
        assert!(refused.to_string().contains(code), "{refused}");
    }
    assert!(ids(&server, &alice, "/api/users/me/mutes").await.is_empty());
    let until = async || server.get(&alice, "/api/users/me/mutes").await.expect(200).data()[0]["mutedUntil"].clone();
    server.call_json(&alice, Method::PUT, &path, json!({ "hours": 8760 })).await.expect(200);
    assert!(until().await.is_string());
    for body in [Some(json!({})), Some(json!({ "hours": null })), None] {
        match body {
            Some(body) => server.call_json(&alice, Method::PUT, &path, body).await.expect(200),
            None => server.call(&alice, Method::PUT, &path).await.expect(200),
        };
        assert!(until().await.is_null());
    }
    let profile = server.get(&alice, &format!("/api/users/{}/profile", bob.id)).await.expect(200).data();
    assert_eq!(profile["relationship"]["muting"], true);
    for action in ["block", "mute"] {
        let own = format!("/api/users/{}/{action}", alice.id);
        let refused = server.call(&alice, Method::PUT, &own).await.expect(400).json();
        assert!(refused.to_string().contains("self_not_allowed"), "{refused}");
    }
    server.call(&alice, Method::DELETE, &path).await.expect(200);
    assert!(ids(&server, &alice, "/api/users/me/mutes").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_to_mute_is_checked_before_the_duration() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let never = json!({ "hours": 0 });
    let nobody = format!("/api/users/{}/mute", uuid::Uuid::from_u128(1));
    server.call_json(&alice, Method::PUT, &nobody, never.clone()).await.expect(404);
    let own = format!("/api/users/{}/mute", alice.id);
    let refused = server.call_json(&alice, Method::PUT, &own, never).await.expect(400).json();
    assert!(refused.to_string().contains("self_not_allowed"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_user_can_be_muted_and_blocked_and_both_can_be_undone_repeatedly() {
    let server = Server::start().await;
    let (root, [alice, bob]) = (server.root().await, [server.user("alice").await, server.user("bob").await]);
    let disable = json!({ "enabled": false });
    server.call_json(&root, Method::PUT, &format!("/api/users/{}/enabled", bob.id), disable).await.expect(200);
    for action in ["block", "mute"] {
        let path = format!("/api/users/{}/{action}", bob.id);
        for method in [Method::PUT, Method::PUT, Method::DELETE, Method::DELETE] {
            server.call(&alice, method, &path).await.expect(200);
        }
    }
}
