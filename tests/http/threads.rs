//! `/api/posts/{postId}/comments` and `/api/comments/{commentId}/…`: replies, and likes of comments.

use reqwest::Method;
use serde_json::{Value, json};

use crate::client::list;
use crate::support::{Response, Server, User};

/// An id that does not exist.
const NOTHING: &str = "01900000-0000-7000-8000-000000000000";

async fn send(server: &Server, author: &User, post: &str, body: Value) -> Response {
    server.call_json(author, Method::POST, &format!("/api/posts/{post}/comments"), body).await
}

/// Writes a comment, or answers one. Returns the comment.
async fn comment(server: &Server, author: &User, post: &str, content: &str, answered: Option<&Value>) -> Value {
    let body = json!({ "content": content, "replyToId": answered.map(|it| it["id"].clone()) });
    send(server, author, post, body).await.expect(201).data()
}

async fn read(server: &Server, viewer: &User, path: &str) -> Vec<Value> {
    list(&server.get(viewer, path).await.expect(200).data()).to_vec()
}

async fn contents(server: &Server, viewer: &User, path: &str) -> Vec<String> {
    let comments = read(server, viewer, path).await;
    comments.iter().map(|comment| comment["content"].as_str().unwrap().to_owned()).collect()
}

fn id(comment: &Value) -> &str {
    comment["id"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_created_comment_is_returned_and_listed_alike() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let post = server.publish(&alice, "text", "PUBLIC").await;
    let answer = send(&server, &bob, &post, json!({ "content": " @Alice see #Rust \n" })).await.expect(201);
    let made = answer.data();
    assert_eq!(answer.json()["message"], "Comment created successfully");
    let expected = json!({
        "id": made["id"], "content": "@Alice see #Rust", "parentId": null, "replyToId": null,
        "author": { "id": bob.id, "username": "bob", "displayName": null, "profilePicture": null, "profilePictureThumbnail": null },
        "entities": [
            { "type": "mention", "start": 0, "end": 6, "userId": alice.id },
            { "type": "hashtag", "start": 11, "end": 16, "tag": "rust" },
        ],
        "replyCount": 0, "likeCount": 0, "likedByMe": false,
        "createdAt": made["createdAt"], "updatedAt": made["createdAt"],
    });
    assert_eq!(made, expected);
    assert_eq!(read(&server, &alice, &format!("/api/posts/{post}/comments")).await, [expected]);

    let edit = json!({ "commentId": made["id"], "content": "https://a.example" });
    server.call_json(&bob, Method::PUT, "/api/comments/update", edit).await.expect(200);
    let edited = &read(&server, &alice, &format!("/api/posts/{post}/comments")).await[0];
    let url = json!([{ "type": "url", "start": 0, "end": 17, "url": "https://a.example" }]);
    assert_eq!((&edited["content"], &edited["entities"]), (&json!("https://a.example"), &url));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_joins_the_thread_of_the_comment_it_answers() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let post = server.publish(&alice, "text", "PUBLIC").await;
    let first = comment(&server, &alice, &post, "first", None).await;
    comment(&server, &alice, &post, "second", None).await;
    let reply = comment(&server, &bob, &post, "reply", Some(&first)).await;
    let answer = comment(&server, &alice, &post, "answer", Some(&reply)).await;
    assert_eq!((&reply["parentId"], &reply["replyToId"]), (&first["id"], &first["id"]));
    assert_eq!((&answer["parentId"], &answer["replyToId"]), (&first["id"], &reply["id"]));

    let top_level = format!("/api/posts/{post}/comments");
    assert_eq!(contents(&server, &bob, &top_level).await, ["first", "second"]);
    assert_eq!(contents(&server, &bob, &format!("{top_level}?order=newest")).await, ["second", "first"]);
    assert_eq!(read(&server, &bob, &top_level).await[0]["replyCount"], 2);
    for of in [&first, &reply, &answer] {
        let path = format!("/api/comments/{}/replies", id(of));
        assert_eq!(contents(&server, &bob, &path).await, ["reply", "answer"], "of any comment of the thread");
    }
    let flat = contents(&server, &bob, &format!("/api/comments/all/{post}")).await;
    assert_eq!(flat, ["first", "second", "reply", "answer"]);
    assert_eq!(super::posts::seen(&server, &bob, &post).await["commentCount"], 4);

    server.call(&bob, Method::DELETE, &format!("/api/comments/delete/{}", id(&reply))).await.expect(200);
    assert_eq!(contents(&server, &bob, &format!("/api/comments/{}/replies", id(&first))).await, ["answer"]);
    server.call(&alice, Method::DELETE, &format!("/api/comments/delete/{}", id(&first))).await.expect(200);
    assert_eq!(contents(&server, &bob, &format!("/api/comments/all/{post}")).await, ["second"]);
    assert_eq!(super::posts::seen(&server, &bob, &post).await["commentCount"], 1);
    server.get(&bob, &format!("/api/comments/{}/replies", id(&answer))).await.expect_error(404, "Comment not found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_must_answer_a_comment_on_the_same_post() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let (post, other) = (server.publish(&alice, "one", "PUBLIC").await, server.publish(&alice, "two", "PUBLIC").await);
    let elsewhere = comment(&server, &alice, &other, "elsewhere", None).await;
    for answered in [NOTHING, id(&elsewhere)] {
        let refused = send(&server, &bob, &post, json!({ "content": "a", "replyToId": answered })).await;
        assert_eq!(refused.json()["code"], "comment_not_found");
        refused.expect_error(404, "Comment not found");
    }
    for (body, fields) in [
        (json!({}), &["content"][..]),
        (json!({ "content": " " }), &["content"]),
        (json!({ "content": "a".repeat(501), "replyToId": "5" }), &["content", "replyToId"]),
        (json!({ "content": "a", "replyToId": 5 }), &["replyToId"]),
        (json!({ "content": "a", "replyToId": "" }), &["replyToId"]),
    ] {
        send(&server, &bob, &post, body).await.expect_invalid(fields);
    }
    // An unknown post is reported before an invalid body.
    send(&server, &bob, NOTHING, json!({})).await.expect_error(404, "Post not found");
    let hidden = server.publish(&alice, "three", "PRIVATE").await;
    send(&server, &bob, &hidden, json!({})).await.expect_failure(403);
    for order in ["", "Oldest", "random"] {
        let path = format!("/api/posts/{post}/comments?order={order}");
        server.get(&bob, &path).await.expect_invalid(&["order"]);
    }
    server
        .get(&bob, &format!("/api/posts/{post}/comments?order=x&size=0&cursor=y"))
        .await
        .expect_invalid(&["cursor", "order", "size"]);
    assert!(read(&server, &bob, &format!("/api/posts/{post}/comments")).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comment_is_liked_and_unliked_any_number_of_times() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let post = server.publish(&alice, "text", "PUBLIC").await;
    let made = comment(&server, &alice, &post, "text", None).await;
    let (like, likes) = (format!("/api/comments/{}/like", id(&made)), format!("/api/comments/{}/likes", id(&made)));
    let seen = async |viewer: &User| {
        let found = read(&server, viewer, &format!("/api/posts/{post}/comments")).await.remove(0);
        (found["likeCount"].as_u64().unwrap(), found["likedByMe"].as_bool().unwrap())
    };
    for user in [&alice, &bob, &alice] {
        let done = server.call(user, Method::PUT, &like).await.expect(200);
        assert_eq!(done.json(), json!({ "message": "Comment liked successfully", "data": null }));
    }
    let mini = |user: &User| json!({ "id": user.id, "username": user.name, "displayName": null, "profilePicture": null, "profilePictureThumbnail": null });
    assert_eq!(read(&server, &alice, &likes).await, [mini(&bob), mini(&alice)]);
    assert_eq!(seen(&bob).await, (2, true));
    for _ in 0..2 {
        let done = server.call(&bob, Method::DELETE, &like).await.expect(200);
        assert_eq!(done.json(), json!({ "message": "Comment unliked successfully", "data": null }));
        assert_eq!((seen(&bob).await, seen(&alice).await), ((1, false), (1, true)));
    }
    for method in [Method::PUT, Method::DELETE] {
        let unknown = format!("/api/comments/{NOTHING}/like");
        server.call(&bob, method, &unknown).await.expect_error(404, "Comment not found");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_shows_the_comment_only_if_the_caller_may_still_view_the_post() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let post = server.publish(&alice, "text", "PUBLIC").await;
    let retry = async || {
        let request = server.request(Method::POST, &format!("/api/posts/{post}/comments")).bearer_auth(&bob.token);
        server.send(request.header("idempotency-key", "key").json(&json!({ "content": "once" }))).await
    };
    let made = retry().await.expect(201).data();
    assert_eq!(retry().await.expect(201).data(), made);
    for (visibility, status) in [("PRIVATE", 403), ("PUBLIC", 201)] {
        let path = format!("/api/posts/update/{post}");
        server.call_json(&alice, Method::PUT, &path, json!({ "visibility": visibility })).await.expect(200);
        retry().await.expect(status);
    }
    assert_eq!(contents(&server, &alice, &format!("/api/posts/{post}/comments")).await, ["once"]);
}
