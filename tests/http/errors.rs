//! Failures: each is the error envelope, with the status that comes first in the order of the contract.

mod bodies;
mod codes;
mod hostile;

use std::collections::{BTreeSet, HashSet};

use reqwest::Method;
use reqwest::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE, IF_NONE_MATCH, RANGE, WWW_AUTHENTICATE};
use reqwest::multipart::{Form, Part};
use serde_json::json;

use crate::support::{PASSWORD, PUBLIC_URL, Server};

/// An id that does not exist.
const NOTHING: &str = "01900000-0000-7000-8000-000000000000";

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_route_is_not_found_with_and_without_a_token() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for path in [
        "/",
        "/api",
        "/api/posts",
        "/api/posts/create/again",
        "/api/users/ME",
        "/API/users/me",
        "/api//users/me",
        "/api/users/me/",
        "/api/users%2fme",
        "/api/follow",
        "/api/posts/by-id",
        "/media",
        "/nothing?size=1",
    ] {
        for method in [Method::GET, Method::POST, Method::DELETE, Method::OPTIONS] {
            server.send(server.request(method.clone(), path)).await.expect_error(404, "Route not found");
            server.call(&alice, method, path).await.expect_error(404, "Route not found");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_method_is_refused_with_the_allowed_ones() {
    let server = Server::start().await;
    for (path, allowed) in [
        ("/api/auth/login", "POST"),
        ("/api/users/me", "DELETE GET HEAD PUT"),
        ("/api/posts/create", "POST"),
        ("/api/posts/all", "GET HEAD"),
        ("/api/posts/following/all", "GET HEAD"),
        ("/api/posts/by-id/5", "GET HEAD"),
        ("/api/posts/update/5", "PUT"),
        ("/api/posts/delete/5", "DELETE"),
        ("/api/posts/like/5", "DELETE POST PUT"),
        ("/api/comments/update", "PUT"),
        ("/api/follow/follow/5", "DELETE POST PUT"),
        ("/api/follow/5", "DELETE POST PUT"),
        ("/api/products", "GET HEAD POST"),
        ("/api/products/5", "DELETE GET HEAD PUT"),
        ("/media/5", "GET HEAD"),
    ] {
        let allowed: BTreeSet<_> = allowed.split(' ').collect();
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"] {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            if allowed.contains(method.as_str()) {
                continue;
            }
            let answer = server.send(server.request(method.clone(), path)).await;
            let answer = answer.expect_error(405, "Method not allowed");
            let listed: BTreeSet<_> = answer.header(ALLOW).expect("Allow").split(", ").collect();
            assert_eq!(listed, allowed, "{method} {path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_id_in_a_path_is_refused_naming_its_parameter() {
    let server = Server::start().await;
    let root = server.root().await;
    for (method, before, after, name) in [
        (Method::GET, "/api/posts/by-id/", "", "postId"),
        (Method::PUT, "/api/posts/update/", "", "postId"),
        (Method::DELETE, "/api/posts/delete/", "", "postId"),
        (Method::POST, "/api/posts/like/", "", "postId"),
        (Method::GET, "/api/posts/", "/likes", "postId"),
        (Method::GET, "/api/posts/", "/all", "userId"),
        (Method::GET, "/api/posts/user/", "", "userId"),
        (Method::GET, "/api/comments/all/", "", "postId"),
        (Method::DELETE, "/api/comments/delete/", "", "commentId"),
        (Method::POST, "/api/follow/follow/", "", "followedId"),
        (Method::POST, "/api/follow/", "", "followedId"),
        (Method::GET, "/api/follow/followers/", "", "userId"),
        (Method::GET, "/api/follow/followed/", "", "userId"),
        (Method::GET, "/api/users/by-id/", "", "id"),
        (Method::PUT, "/api/users/update/", "", "userId"),
        (Method::PUT, "/api/users/", "/enabled", "userId"),
        (Method::GET, "/api/products/", "", "id"),
        (Method::PUT, "/api/products/", "", "id"),
        (Method::DELETE, "/api/products/", "", "id"),
    ] {
        for id in [
            "5",
            "not-an-id",
            "%20",
            "%ff",
            "%",
            "01900000000070008000000000000000",
            &NOTHING[1..],
            &format!("{NOTHING}0"),
        ] {
            let answer = server.call(&root, method.clone(), &format!("{before}{id}{after}")).await.expect_failure(400);
            let message = answer.json()["message"].as_str().unwrap().to_owned();
            assert!(message.split(' ').any(|word| word == name), "{method} {before}{id}{after}: {message}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_failures_the_first_in_the_order_of_the_contract_is_returned() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let (root, mute) = (server.root().await, server.user("mute").await);
    let role = json!({ "roleId": "USER", "action": "REMOVE" });
    server.call_json(&root, Method::PUT, &format!("/api/users/update/{}", mute.id), role).await.expect(200);
    let (own, foreign) = (server.publish(&alice, "a", "PUBLIC").await, server.publish(&bob, "b", "PUBLIC").await);

    let (put, patch) = (Method::PUT, Method::PATCH);
    let large = "x".repeat(100 * 1024);
    let (text, json) = (Some("text/plain"), Some("application/json"));
    for (caller, method, path, content_type, body, status) in [
        (None, &patch, "/api/posts/updates/5", text, large.as_str(), 404),
        (None, &patch, "/api/posts/update/5", text, &large, 405),
        (None, &put, "/api/posts/update/5", text, &large, 401),
        (Some(&mute), &put, "/api/posts/update/5", text, &large, 403),
        (Some(&alice), &put, "/api/posts/update/5", text, &large, 400),
        (Some(&alice), &put, &format!("/api/posts/update/{NOTHING}"), text, &large, 404),
        (Some(&alice), &put, &format!("/api/posts/update/{foreign}"), text, &large, 403),
        (Some(&alice), &put, &format!("/api/posts/update/{own}"), text, &large, 413),
        (Some(&alice), &put, &format!("/api/posts/update/{own}"), text, "{", 415),
        (Some(&alice), &put, &format!("/api/posts/update/{own}"), None, "{", 415),
        (Some(&alice), &put, &format!("/api/posts/update/{own}"), json, "{", 400),
        (None, &put, "/api/users/update/5", text, &large, 401),
        (Some(&alice), &put, "/api/users/update/5", text, &large, 403),
        (Some(&root), &put, "/api/users/update/5", text, &large, 400),
        (Some(&root), &put, &format!("/api/users/update/{NOTHING}"), text, &large, 404),
        (Some(&root), &put, &format!("/api/users/update/{}", bob.id), text, &large, 413),
        (Some(&root), &put, &format!("/api/users/update/{}", bob.id), text, "{", 415),
        (Some(&root), &put, &format!("/api/users/update/{}", bob.id), json, "{", 400),
        (Some(&alice), &put, "/api/comments/update", text, &large, 413),
        (Some(&alice), &put, "/api/comments/update", text, "{", 415),
        (Some(&alice), &put, "/api/comments/update", json, "{", 400),
    ] {
        let mut request = server.request(method.clone(), path).body(body.to_owned());
        if let Some(user) = caller {
            request = request.bearer_auth(&user.token);
        }
        if let Some(content_type) = content_type {
            request = request.header(CONTENT_TYPE, content_type);
        }
        let answer = server.send(request).await;
        assert_eq!(answer.status, status, "{method} {path} {content_type:?}: {answer:?}");
        answer.expect_failure(status);
    }
    // A taken name is reported only if all fields are valid.
    let taken = |password| json!({ "username": "ALICE", "email": "other@example.org", "password": password });
    server.register_as(taken("short")).await.expect_invalid(&["password"]);
    server.register_as(taken(PASSWORD)).await.expect_failure(409);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_or_invalid_token_is_answered_with_a_challenge() {
    let server = Server::start().await;
    let bare = server.fetch("/api/users/me").await.expect_failure(401);
    assert_eq!(bare.header(WWW_AUTHENTICATE), Some("Bearer"));
    let forged =
        server.send(server.request(Method::GET, "/api/users/me").bearer_auth("a.b.c")).await.expect_failure(401);
    assert_eq!(forged.header(WWW_AUTHENTICATE), Some("Bearer error=\"invalid_token\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_response_has_a_unique_request_id() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let form = Form::new().part("image", Part::bytes(crate::images::png()));
    let post = server.call_form(&alice, Method::POST, "/api/posts/create", form).await.expect(201).data();
    let image = post["image"].as_str().unwrap().trim_start_matches(PUBLIC_URL).to_owned();
    let get = |path: &str| server.request(Method::GET, path);

    let mut seen = HashSet::new();
    for (request, status) in [
        (get("/api/users/me").bearer_auth(&alice.token), 200),
        (get("/api/users/me").bearer_auth(&alice.token), 200),
        (
            server.request(Method::POST, "/api/posts/create").bearer_auth(&alice.token).json(&json!({ "text": "a" })),
            201,
        ),
        (get(&image), 200),
        (get(&image).header(RANGE, "bytes=0-0"), 206),
        (get(&image).header(IF_NONE_MATCH, "*"), 304),
        (get("/api/users/me"), 401),
        (get("/api/users/all").bearer_auth(&alice.token), 403),
        (get("/nothing"), 404),
        (get("/api/posts/by-id/5").bearer_auth(&alice.token), 400),
        (server.request(Method::PATCH, "/api/users/me"), 405),
        (server.request(Method::POST, "/api/auth/login").body("a"), 415),
        (server.request(Method::HEAD, "/nothing"), 404),
        // An id sent by the client is not used.
        (get("/nothing").header("x-request-id", "mine"), 404),
        (get("/nothing").header("x-request-id", "mine"), 404),
    ] {
        let answer = server.send(request).await.expect(status);
        let id = answer.header("x-request-id").expect("an id").to_owned();
        assert!(id.len() >= 16, "{id}");
        assert!(seen.insert(id), "an id came twice");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_response_except_an_image_is_json() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let post = server.publish(&alice, "a", "PUBLIC").await;
    for path in [
        "/api/users/me",
        "/api/posts/following/all",
        &format!("/api/posts/by-id/{post}"),
        &format!("/api/comments/all/{post}"),
        &format!("/api/follow/followers/{}", alice.id),
        "/api/products/findAll",
        "/api/products",
        "/nothing",
        "/media/nothing",
    ] {
        let answer = server.get(&alice, path).await;
        assert_eq!(answer.header(CONTENT_TYPE), Some("application/json"), "{path}");
        assert!(answer.json().is_object(), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn head_answers_like_get_without_a_body() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let post = server.publish(&alice, "a", "PUBLIC").await;
    const CATALOG: &str = "/api/products/findAll";
    let posts = format!("/api/posts/{}/all?size=1", alice.id);
    for path in [
        "/api/users/me",
        &format!("/api/posts/by-id/{post}"),
        &posts,
        CATALOG,
        "/api/posts/by-id/5",
        &format!("/api/posts/by-id/{NOTHING}"),
        "/api/users/all",
        "/nothing",
    ] {
        let get = server.get(&alice, path).await;
        let head = server.call(&alice, Method::HEAD, path).await;
        assert_eq!(head.status, get.status, "{path}");
        assert_eq!(head.header(CONTENT_TYPE), get.header(CONTENT_TYPE), "{path}");
        // The length of a list is unknown without rendering it.
        let is_list = get.status == 200 && [CATALOG, &posts].contains(&path);
        let length = get.header(CONTENT_LENGTH).filter(|_| !is_list);
        assert_eq!(head.header(CONTENT_LENGTH), length, "{path}");
        assert!(head.body.is_empty(), "{path}");
    }
    let anonymous = server.send(server.request(Method::HEAD, "/api/users/me")).await;
    assert_eq!(anonymous.status, 401);
}
