//! `PUT /api/posts/update/{postId}` and `DELETE /api/posts/delete/{postId}`

use reqwest::{Method, header};
use serde_json::{Value, json};

use super::{form, form_with_image, publish_with_image, seen};
use crate::images;
use crate::support::{Response, Server, User};

const NOTHING: &str = "01900000-0000-7000-8000-000000000000";

async fn update_form(server: &Server, caller: &User, id: &str, fields: &[(&'static str, &str)]) -> Response {
    server.call_form(caller, Method::PUT, &format!("/api/posts/update/{id}"), form(fields)).await
}

async fn update_json(server: &Server, caller: &User, id: &str, body: Value) -> Response {
    server.call_json(caller, Method::PUT, &format!("/api/posts/update/{id}"), body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_changes_the_given_fields_and_returns_the_post() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let mut before = publish_with_image(&server, &alice, "old").await;
    let id = before["id"].as_str().unwrap().to_owned();
    for (fields, field, value) in [
        ([("text", " new ")], "content", "new"),
        ([("content", "newer")], "content", "newer"),
        ([("visibility", "FOLLOWERS")], "visibility", "FOLLOWERS"),
    ] {
        let answer = update_form(&server, &alice, &id, &fields).await.expect(200);
        assert_eq!(answer.json()["message"], "Post updated successfully");
        let after = answer.data();
        assert!(after["updatedAt"].as_str() >= before["updatedAt"].as_str(), "{after}");
        before[field] = json!(value);
        before["updatedAt"] = after["updatedAt"].clone();
        assert_eq!(after, before, "{fields:?}");
        assert_eq!(seen(&server, &alice, &id).await, before);
    }
    let body = json!({ "text": "by JSON", "visibility": "PRIVATE" });
    let after = update_json(&server, &alice, &id, body).await.expect(200).data();
    assert_eq!((&after["content"], &after["visibility"]), (&json!("by JSON"), &json!("PRIVATE")));
    assert_eq!((&after["image"], &after["createdAt"]), (&before["image"], &before["createdAt"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_update_leaves_the_post_unchanged() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let before = publish_with_image(&server, &alice, "text").await;
    let id = before["id"].as_str().unwrap();
    let path = format!("/api/posts/update/{id}");
    let closing_boundary = server
        .request(Method::PUT, &path)
        .bearer_auth(&alice.token)
        .header(header::CONTENT_TYPE, "multipart/form-data; boundary=x")
        .body("--x--\r\n");
    for (what, answer) in [
        ("no body and no content type", server.call(&alice, Method::PUT, &path).await),
        ("an empty object", update_json(&server, &alice, id, json!({})).await),
        ("nulls", update_json(&server, &alice, id, json!({ "text": null, "removeImage": null })).await),
        ("an unknown field", update_form(&server, &alice, id, &[("title", "new")]).await),
        ("a form without parts", server.send(closing_boundary).await),
        ("a form without even a boundary", update_form(&server, &alice, id, &[]).await),
        ("removeImage=false", update_json(&server, &alice, id, json!({ "removeImage": false })).await),
        ("removeImage=false", update_form(&server, &alice, id, &[("removeImage", "false")]).await),
        ("the same text", update_form(&server, &alice, id, &[("text", "text")]).await),
    ] {
        assert_eq!(answer.expect(200).data(), before, "{what}");
    }
    assert_eq!(seen(&server, &alice, id).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blank_text_clears_the_text_only_of_a_post_with_an_image() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for blank in ["", " \n"] {
        let post = publish_with_image(&server, &alice, "text").await;
        let after = update_form(&server, &alice, post["id"].as_str().unwrap(), &[("text", blank)]).await.expect(200);
        assert_eq!((&after.data()["content"], &after.data()["image"]), (&json!(""), &post["image"]));

        let id = server.publish(&alice, "text", "PUBLIC").await;
        update_form(&server, &alice, &id, &[("text", blank)]).await.expect_invalid(&["text"]);
        update_json(&server, &alice, &id, json!({ "content": blank })).await.expect_invalid(&["text"]);
        assert_eq!(seen(&server, &alice, &id).await["content"], "text");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_image_is_replaced_or_removed_and_replacing_wins() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for (with_image, fields, outcome) in [
        (true, &[][..], "replaced"),
        (true, &[("removeImage", "true")], "replaced"),
        (false, &[("removeImage", "true")], "removed"),
        (false, &[("text", "new")], "kept"),
    ] {
        let before = publish_with_image(&server, &alice, "text").await;
        let form = if with_image { form_with_image(images::png(), fields) } else { form(fields) };
        let path = format!("/api/posts/update/{}", before["id"].as_str().unwrap());
        let after = server.call_form(&alice, Method::PUT, &path, form).await.expect(200).data();
        let found = match &after["image"] {
            Value::Null => "removed",
            image if *image == before["image"] => "kept",
            _ => "replaced",
        };
        assert_eq!(found, outcome, "{fields:?}");
    }
    let post = publish_with_image(&server, &alice, "text").await;
    let id = post["id"].as_str().unwrap();
    assert_eq!(
        update_json(&server, &alice, id, json!({ "removeImage": true })).await.expect(200).data()["image"],
        json!(null)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_without_text_cannot_be_removed() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let post = publish_with_image(&server, &alice, "").await;
    let id = post["id"].as_str().unwrap();
    update_json(&server, &alice, id, json!({ "removeImage": true })).await.expect_invalid(&["text"]);
    update_form(&server, &alice, id, &[("removeImage", "true"), ("text", " ")]).await.expect_invalid(&["text"]);
    assert_eq!(seen(&server, &alice, id).await, post);
    let both = json!({ "removeImage": true, "text": "words instead" });
    assert_eq!(update_json(&server, &alice, id, both).await.expect(200).data()["image"], json!(null));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_update_names_every_field_and_changes_nothing() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let before = publish_with_image(&server, &alice, "text").await;
    let id = before["id"].as_str().unwrap();
    let too_long = "a".repeat(5001);
    let form = form_with_image(b"no image".to_vec(), &[("text", &too_long), ("visibility", "FRIENDS")]);
    let answer = server.call_form(&alice, Method::PUT, &format!("/api/posts/update/{id}"), form).await;
    answer.expect_invalid(&["image", "text", "visibility"]);
    let body = json!({ "text": 5, "visibility": "FRIENDS", "removeImage": "yes" });
    update_json(&server, &alice, id, body).await.expect_invalid(&["removeImage", "text", "visibility"]);
    update_json(&server, &alice, id, json!({ "text": "new", "visibility": "FRIENDS" }))
        .await
        .expect_invalid(&["visibility"]);
    update_form(&server, &alice, id, &[("removeImage", "yes")]).await.expect_invalid(&["removeImage"]);
    assert_eq!(seen(&server, &alice, id).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_visibility_takes_effect_at_once() {
    let server = Server::start().await;
    let (alice, follower, stranger) = (server.user("alice").await, server.user("bob").await, server.user("eve").await);
    server.follow(&follower, &alice).await;
    let id = server.publish(&alice, "text", "PUBLIC").await;
    for (visibility, for_follower, for_stranger) in
        [("PRIVATE", 403, 403), ("FOLLOWERS", 200, 403), ("PUBLIC", 200, 200)]
    {
        update_json(&server, &alice, &id, json!({ "visibility": visibility })).await.expect(200);
        for (viewer, status) in [(&follower, for_follower), (&stranger, for_stranger)] {
            server.get(viewer, &format!("/api/posts/by-id/{id}")).await.expect(status);
            let listed = server.get(viewer, &format!("/api/posts/{}/all", alice.id)).await.expect(200).data();
            assert_eq!(listed.as_array().unwrap().len(), usize::from(status == 200), "{visibility}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_author_changes_a_post() {
    let server = Server::start().await;
    let (alice, follower, root) = (server.user("alice").await, server.user("bob").await, server.root().await);
    server.follow(&follower, &alice).await;
    let id = server.publish(&alice, "text", "PUBLIC").await;
    for other in [&follower, &root] {
        update_json(&server, other, &id, json!({ "text": "mine" })).await.expect_failure(403);
        update_json(&server, other, &id, json!({})).await.expect_failure(403);
        server.call(other, Method::DELETE, &format!("/api/posts/delete/{id}")).await.expect_failure(403);
    }
    assert_eq!(seen(&server, &alice, &id).await["content"], "text");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_right_to_change_a_post_is_checked_before_the_body() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let (own, foreign) = (server.publish(&alice, "text", "PUBLIC").await, server.publish(&bob, "text", "PUBLIC").await);
    let large = "a".repeat(100 * 1024);
    for (content_type, body, status) in [
        ("text/plain", large.as_str(), 413),
        ("application/json", &large, 413),
        ("text/plain", "text", 415),
        ("application/json", "{", 400),
        ("multipart/form-data; boundary=x", "--x", 400),
    ] {
        for (id, status) in [(NOTHING, 404), (&foreign, 403), (&own, status)] {
            let request = server.request(Method::PUT, &format!("/api/posts/update/{id}")).bearer_auth(&alice.token);
            let request = request.header(header::CONTENT_TYPE, content_type).body(body.to_owned());
            server.send(request).await.expect_failure(status);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_post_is_gone_with_its_comments_and_likes() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let id = server.publish(&alice, "text", "PUBLIC").await;
    let comment = json!({ "postId": id, "content": "nice" });
    server.call_json(&bob, Method::POST, "/api/comments/create", comment.clone()).await.expect(201);
    let comments = server.get(&bob, &format!("/api/comments/all/{id}")).await.expect(200).data();
    let comment_id = comments[0]["id"].as_str().unwrap();
    server.call(&bob, Method::PUT, &format!("/api/posts/like/{id}")).await.expect(200);

    let delete = format!("/api/posts/delete/{id}");
    let answer = server.call(&alice, Method::DELETE, &delete).await.expect(200);
    assert_eq!(answer.json(), json!({ "message": "Post deleted successfully", "data": null }));

    server.call(&alice, Method::DELETE, &delete).await.expect_error(404, "Post not found");
    update_json(&server, &alice, &id, json!({ "text": "again" })).await.expect_error(404, "Post not found");
    for path in [format!("/api/posts/by-id/{id}"), format!("/api/posts/{id}/likes"), format!("/api/comments/all/{id}")]
    {
        server.get(&bob, &path).await.expect_error(404, "Post not found");
    }
    for method in [Method::POST, Method::PUT, Method::DELETE] {
        server.call(&bob, method, &format!("/api/posts/like/{id}")).await.expect_error(404, "Post not found");
    }
    server.call_json(&bob, Method::POST, "/api/comments/create", comment).await.expect_error(404, "Post not found");
    let edit = json!({ "commentId": comment_id, "content": "still here?" });
    server.call_json(&bob, Method::PUT, "/api/comments/update", edit).await.expect_error(404, "Comment not found");
    assert_eq!(server.get(&alice, &format!("/api/posts/{}/all", alice.id)).await.expect(200).data(), json!([]));
}
