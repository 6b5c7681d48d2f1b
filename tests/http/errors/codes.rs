//! The error codes by which clients distinguish failures.

use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use crate::support::{PASSWORD, Response, Server, User};

/// An id that does not exist.
const NOTHING: &str = "01900000-0000-7000-8000-000000000000";

async fn put(server: &Server, user: &User, path: &str, body: Value) -> Response {
    server.call_json(user, Method::PUT, path, body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_has_the_code_of_its_kind() {
    let server = Server::start().await;
    let (alice, root) = (server.user("alice").await, server.root().await);
    let post = server.publish(&alice, "hello", "PRIVATE").await;
    let bob = server.user("bob").await;
    let nothing = |path: &str| format!("{path}/{NOTHING}");

    server.fetch("/nowhere").await.expect_code(404, "route_not_found");
    server.send(server.request(Method::DELETE, "/api/auth/login")).await.expect_code(405, "method_not_allowed");
    server.fetch("/api/users/me").await.expect_code(401, "unauthenticated");
    let forged = User { token: "a.b.c".to_owned(), ..alice.clone() };
    server.get(&forged, "/api/users/me").await.expect_code(401, "unauthenticated");
    server.login("alice", "wrong password").await.expect_code(401, "invalid_credentials");
    server.get(&alice, "/api/users/all").await.expect_code(403, "role_required");
    server.get(&bob, &format!("/api/posts/by-id/{post}")).await.expect_code(403, "forbidden");
    server.get(&bob, &nothing("/api/posts/by-id")).await.expect_code(404, "post_not_found");
    server.get(&root, &nothing("/api/users/by-id")).await.expect_code(404, "user_not_found");
    server.get(&root, &nothing("/api/products")).await.expect_code(404, "product_not_found");
    server.get(&root, "/media/nothing.png").await.expect_code(404, "image_not_found");
    let comment = json!({ "commentId": NOTHING, "content": "x" });
    put(&server, &bob, "/api/comments/update", comment).await.expect_code(404, "comment_not_found");
    server.get(&bob, "/api/posts/by-id/5").await.expect_code(400, "malformed_request");
    server.get(&bob, "/api/posts/following/all?size=x").await.expect_code(400, "validation_failed");
    server.get(&bob, "/api/posts/following/all?cursor=x").await.expect_code(400, "validation_failed");
    let follow = format!("/api/follow/follow/{}", bob.id);
    server.call(&bob, Method::PUT, &follow).await.expect_code(400, "self_not_allowed");
    server.change_role(&root, &root, "REMOVE", "ADMIN").await.expect_code(400, "last_admin");
    let taken = |username: &str, email: &str| json!({ "username": username, "email": email, "password": PASSWORD });
    server.register_as(taken("ALICE", "new@example.org")).await.expect_code(409, "username_taken");
    server.register_as(taken("new", "ALICE@example.org")).await.expect_code(409, "email_taken");
    let product = server.product(&root, json!({ "sku": "ONE" })).await;
    let other = server.product(&root, json!({ "sku": "TWO" })).await;
    let path = format!("/api/products/{}", other["id"].as_str().unwrap());
    put(&server, &root, &path, json!({ "sku": product["sku"] })).await.expect_code(409, "sku_taken");
    let edit = server.request(Method::PUT, &path).bearer_auth(&root.token).header("If-Match", "\"0\"");
    server.send(edit.json(&json!({ "stock": 4 }))).await.expect_code(412, "precondition_failed");
    let text = server.request(Method::POST, "/api/auth/login").header("Content-Type", "text/plain").body("x");
    server.send(text).await.expect_code(415, "unsupported_media_type");
    let large = server.request(Method::POST, "/api/auth/login").header("Content-Type", "application/json");
    server
        .send(large.body(format!("{{\"a\":\"{}\"}}", "x".repeat(70_000))))
        .await
        .expect_code(413, "payload_too_large");
}

/// Returns the codes of the fields of a validation failure.
fn codes(answer: &Response) -> Value {
    answer.json()["codes"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_field_has_the_code_of_its_rule() {
    let server = Server::start().await;
    let (alice, root) = (server.user("alice").await, server.root().await);
    let long = "x".repeat(2000);
    for (body, expected) in [
        (json!({}), json!({ "username": ["required"], "email": ["required"], "password": ["required"] })),
        (
            json!({ "username": 7, "email": "nobody", "password": "short", "biography": long }),
            json!({
                "username": ["wrong_type"], "email": ["invalid_format"], "password": ["too_short"],
                "biography": ["too_long"],
            }),
        ),
        (
            json!({ "username": " ", "name": "a@b", "email": long, "password": long }),
            json!({ "username": ["invalid_format"], "email": ["too_long"], "password": ["too_long"] }),
        ),
    ] {
        let answer = server.register_as(body.clone()).await.expect_code(400, "validation_failed");
        assert_eq!(codes(&answer), expected, "{body}");
    }

    let wrong = json!({ "currentPassword": "not mine", "newPassword": "another password" });
    let answer = put(&server, &alice, "/api/users/me/password", wrong).await.expect_code(400, "validation_failed");
    assert_eq!(codes(&answer), json!({ "currentPassword": ["incorrect"] }));

    let role = json!({ "roleId": "ROOT" });
    let path = format!("/api/users/update/{}", alice.id);
    let answer = put(&server, &root, &path, role).await.expect_code(400, "validation_failed");
    assert_eq!(codes(&answer), json!({ "roleId": ["not_allowed"], "action": ["required"] }));

    for (product, expected) in [
        (json!({ "price": -1, "stock": -1 }), json!({ "price": ["out_of_range"], "stock": ["out_of_range"] })),
        (json!({ "price": 1.234, "stock": 1.5 }), json!({ "price": ["invalid_format"], "stock": ["wrong_type"] })),
        (json!({ "price": "7", "images": ["x"] }), json!({ "price": ["wrong_type"], "images": ["invalid_format"] })),
        (json!({ "stock": 3, "variants": [{ "stock": 1 }] }), json!({ "stock": ["mismatch"] })),
    ] {
        let mut body = json!({ "sku": "A", "name": "A", "price": 1, "category": "A", "stock": 1 });
        body.as_object_mut().unwrap().extend(product.as_object().unwrap().clone());
        let answer = server.call_json(&root, Method::POST, "/api/products", body).await;
        assert_eq!(codes(&answer.expect_code(400, "validation_failed")), expected, "{product}");
    }

    let form = Form::new().text("text", "a").text("text", "b").part("image", Part::bytes(b"no image".as_slice()));
    let answer = server.call_form(&alice, Method::POST, "/api/posts/create", form.text("visibility", "ALL")).await;
    let expected = json!({ "text": ["duplicate"], "image": ["invalid_format"], "visibility": ["not_allowed"] });
    assert_eq!(codes(&answer.expect_code(400, "validation_failed")), expected);
}
