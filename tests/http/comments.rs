//! `/api/comments`

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Response, Server, User};

const CREATE: &str = "/api/comments/create";
const UPDATE: &str = "/api/comments/update";

/// An id that does not exist.
const NOTHING: &str = "01900000-0000-7000-8000-000000000000";

async fn create(server: &Server, author: &User, post: &str, content: &str) -> Response {
    server.call_json(author, Method::POST, CREATE, json!({ "postId": post, "content": content })).await
}

async fn update(server: &Server, caller: &User, body: Value) -> Response {
    server.call_json(caller, Method::PUT, UPDATE, body).await
}

async fn delete(server: &Server, caller: &User, id: &str) -> Response {
    server.call(caller, Method::DELETE, &format!("/api/comments/delete/{id}")).await
}

async fn list(server: &Server, viewer: &User, post: &str) -> Vec<Value> {
    let data = server.get(viewer, &format!("/api/comments/all/{post}")).await.expect(200).data();
    data.as_array().expect("a list").clone()
}

/// Returns the texts of the comments on a post, in the order of the list.
async fn contents(server: &Server, viewer: &User, post: &str) -> Vec<String> {
    let comments = list(server, viewer, post).await;
    comments.iter().map(|comment| comment["content"].as_str().expect("a text").to_owned()).collect()
}

/// Writes a comment. Returns its id.
async fn comment(server: &Server, author: &User, post: &str, content: &str) -> String {
    create(server, author, post, content).await.expect(201);
    let comments = list(server, author, post).await;
    comments.last().expect("the comment")["id"].as_str().expect("an id").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comment_is_created_and_listed_with_its_author_and_post() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let post = server.publish(&alice, "text", "PUBLIC").await;
    server.call(&alice, Method::PUT, &format!("/api/posts/like/{post}")).await.expect(200);
    let empty = server.get(&bob, &format!("/api/comments/all/{post}")).await.expect(200);
    assert_eq!(empty.json(), json!({ "message": "success", "data": [] }));

    for (author, content) in [(&bob, "first"), (&alice, " second\n"), (&bob, "third")] {
        let answer = create(&server, author, &post, content).await.expect(201);
        assert_eq!(answer.json(), json!({ "message": "Comment created successfully", "data": null }));
    }

    let summary =
        |user: &User| json!({ "id": user.id, "username": user.name, "email": format!("{}@example.org", user.name) });
    let mut embedded = super::posts::seen(&server, &bob, &post).await;
    assert_eq!((&embedded["commentCount"], &embedded["likeCount"]), (&json!(3), &json!(1)));
    embedded["author"] = summary(&alice);
    let comments = list(&server, &bob, &post).await;
    let expected = [(&bob, "first"), (&alice, "second"), (&bob, "third")];
    assert_eq!(comments.len(), expected.len());
    for (found, (author, content)) in comments.iter().zip(expected) {
        assert_eq!(
            *found,
            json!({
                "id": found["id"],
                "content": content,
                "author": summary(author),
                "post": embedded,
                "createdAt": found["createdAt"],
                "updatedAt": found["createdAt"],
            })
        );
        let written = found["createdAt"].as_str().unwrap();
        assert!(
            written.len() == 29 && written.ends_with("+00:00") && written >= embedded["createdAt"].as_str().unwrap()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comment_has_1_to_500_characters_after_trimming() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let post = server.publish(&alice, "text", "PUBLIC").await;
    let id = comment(&server, &alice, &post, "old").await;
    for character in ["a", "\u{e4}", "\u{1f600}"] {
        for accepted in [character.to_owned(), character.repeat(500), format!("\n {} ", character.repeat(500))] {
            create(&server, &alice, &post, &accepted).await.expect(201);
            update(&server, &alice, json!({ "commentId": id, "content": accepted })).await.expect(200);
            assert_eq!(contents(&server, &alice, &post).await[0], accepted.trim());
        }
        let too_long = character.repeat(501);
        create(&server, &alice, &post, &too_long).await.expect_invalid(&["content"]);
        update(&server, &alice, json!({ "commentId": id, "content": too_long })).await.expect_invalid(&["content"]);
    }
    for refused in [json!(""), json!(" \n\t\u{2003}"), json!(null), json!(5), json!(["a"]), json!("a\0b")] {
        let body = json!({ "postId": post, "commentId": id, "content": refused });
        server.call_json(&alice, Method::POST, CREATE, body.clone()).await.expect_invalid(&["content"]);
        update(&server, &alice, body).await.expect_invalid(&["content"]);
    }
    assert_eq!(list(&server, &alice, &post).await.len(), 10, "what was refused was not stored");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ids_in_a_body_are_checked_together_with_the_content() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for (body, fields) in [
        (json!({ "content": "a" }), &["postId"][..]),
        (json!({ "postId": null, "content": "a" }), &["postId"]),
        (json!({ "postId": "5", "content": "a" }), &["postId"]),
        (json!({ "postId": 5, "content": "a" }), &["postId"]),
        (json!({ "postId": "", "content": "a" }), &["postId"]),
        (json!({}), &["content", "postId"]),
        (json!({ "postId": "5", "content": " " }), &["content", "postId"]),
    ] {
        server.call_json(&alice, Method::POST, CREATE, body).await.expect_invalid(fields);
    }
    for (body, fields) in [
        (json!({ "content": "a" }), &["commentId"][..]),
        (json!({ "commentId": null, "id": null, "postId": null, "content": "a" }), &["commentId"]),
        (json!({ "commentId": "5", "content": "a" }), &["commentId"]),
        (json!({ "commentId": 5, "content": "a" }), &["commentId"]),
        (json!({ "id": "5", "content": "a" }), &["commentId"]),
        (json!({ "postId": "5", "content": "a" }), &["postId"]),
        (json!({}), &["commentId", "content"]),
        (json!({ "postId": "5" }), &["content", "postId"]),
    ] {
        update(&server, &alice, body).await.expect_invalid(fields);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commenting_and_reading_comments_require_the_right_to_view() {
    let server = Server::start().await;
    let (alice, bob, root) = (server.user("alice").await, server.user("bob").await, server.root().await);
    let hidden = server.publish(&alice, "text", "FOLLOWERS").await;
    create(&server, &bob, &hidden, "a").await.expect_failure(403);
    server.get(&bob, &format!("/api/comments/all/{hidden}")).await.expect_failure(403);
    server.follow(&bob, &alice).await;
    for caller in [&alice, &bob, &root] {
        create(&server, caller, &hidden, &caller.name).await.expect(201);
    }
    for caller in [&alice, &bob, &root] {
        assert_eq!(contents(&server, caller, &hidden).await, ["alice", "bob", "root"]);
        create(&server, caller, NOTHING, "a").await.expect_error(404, "Post not found");
        server.get(caller, &format!("/api/comments/all/{NOTHING}")).await.expect_error(404, "Post not found");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_names_a_comment_or_the_post_for_the_callers_newest_comment() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let (post, other) =
        (server.publish(&alice, "text", "PUBLIC").await, server.publish(&alice, "other", "PUBLIC").await);
    let (first, _) = (comment(&server, &bob, &post, "1").await, comment(&server, &bob, &post, "2").await);
    comment(&server, &alice, &post, "3").await;
    let elsewhere = comment(&server, &alice, &other, "4").await;
    for (body, expected) in [
        (json!({ "commentId": first, "content": "by commentId" }), ["by commentId", "2", "3"]),
        (json!({ "id": first, "content": "by id" }), ["by id", "2", "3"]),
        (json!({ "commentId": first, "id": elsewhere, "content": "preferred" }), ["preferred", "2", "3"]),
        (json!({ "commentId": " ", "id": first, "content": "not blank" }), ["not blank", "2", "3"]),
        (json!({ "commentId": first, "postId": other, "content": "no matter" }), ["no matter", "2", "3"]),
        (json!({ "commentId": first, "postId": NOTHING, "content": "at all" }), ["at all", "2", "3"]),
        (json!({ "commentId": first, "postId": "5", "content": "indeed" }), ["indeed", "2", "3"]),
        (json!({ "postId": post, "content": "newest" }), ["indeed", "newest", "3"]),
        (json!({ "commentId": null, "postId": post, "content": " trimmed " }), ["indeed", "trimmed", "3"]),
        (json!({ "commentId": "", "id": " ", "postId": post, "content": "blank ids" }), ["indeed", "blank ids", "3"]),
    ] {
        let answer = update(&server, &bob, body).await.expect(200);
        assert_eq!(answer.json(), json!({ "message": "Comment updated successfully", "data": null }));
        assert_eq!(contents(&server, &bob, &post).await, expected);
    }
    let edited = &list(&server, &bob, &post).await[0];
    assert!(edited["updatedAt"].as_str() >= edited["createdAt"].as_str(), "{edited}");
    assert_eq!(contents(&server, &bob, &other).await, ["4"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_of_a_missing_or_foreign_comment_is_refused() {
    let server = Server::start().await;
    let (alice, bob, root) = (server.user("alice").await, server.user("bob").await, server.root().await);
    let post = server.publish(&alice, "text", "PUBLIC").await;
    let id = comment(&server, &bob, &post, "1").await;
    for other in [&alice, &root] {
        update(&server, other, json!({ "commentId": id, "content": "mine" })).await.expect_failure(403);
        let newest = json!({ "postId": post, "content": "mine" });
        update(&server, other, newest).await.expect_error(404, "Comment not found");
    }
    for body in [
        json!({ "commentId": NOTHING, "content": "a" }),
        json!({ "postId": NOTHING, "content": "a" }),
        json!({ "commentId": NOTHING, "postId": post, "content": "a" }),
    ] {
        update(&server, &bob, body).await.expect_error(404, "Comment not found");
    }
    assert_eq!(contents(&server, &bob, &post).await, ["1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn authors_who_lost_sight_of_the_post_still_edit_and_delete_their_comments() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let post = server.publish(&alice, "text", "PUBLIC").await;
    let (first, _) = (comment(&server, &bob, &post, "1").await, comment(&server, &bob, &post, "2").await);
    let hide = json!({ "visibility": "PRIVATE" });
    server.call_json(&alice, Method::PUT, &format!("/api/posts/update/{post}"), hide).await.expect(200);

    create(&server, &bob, &post, "3").await.expect_failure(403);
    update(&server, &bob, json!({ "commentId": first, "content": "edited" })).await.expect(200);
    update(&server, &bob, json!({ "postId": post, "content": "edited, too" })).await.expect(200);
    assert_eq!(contents(&server, &alice, &post).await, ["edited", "edited, too"]);
    delete(&server, &bob, &first).await.expect(200);
    assert_eq!(contents(&server, &alice, &post).await, ["edited, too"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_authors_of_comment_and_post_delete_a_comment_and_nobody_else() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let (eve, root) = (server.user("eve").await, server.root().await);
    let post = server.publish(&alice, "text", "PUBLIC").await;
    for author in [&bob, &alice] {
        let id = comment(&server, &bob, &post, "a").await;
        for other in [&eve, &root] {
            delete(&server, other, &id).await.expect_failure(403);
        }
        let answer = delete(&server, author, &id).await.expect(200);
        assert_eq!(answer.json(), json!({ "message": "Comment deleted successfully", "data": null }));
        for caller in [&bob, &eve] {
            delete(&server, caller, &id).await.expect_error(404, "Comment not found");
        }
        update(&server, &bob, json!({ "commentId": id, "content": "b" })).await.expect_error(404, "Comment not found");
    }
    assert!(list(&server, &bob, &post).await.is_empty());
    assert_eq!(super::posts::seen(&server, &bob, &post).await["commentCount"], 0);
    delete(&server, &bob, NOTHING).await.expect_error(404, "Comment not found");
}
