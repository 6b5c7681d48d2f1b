//! `/api/admin/posts/{postId}/hidden`, `/api/admin/comments/{commentId}/hidden`: hiding posts and
//! comments.

use reqwest::Method;
use serde_json::{Value, json};

use crate::client::{list, text};
use crate::support::{Response, Server, User};

async fn hide(server: &Server, by: &User, what: &str, id: &str, hidden: bool) -> Response {
    let body = json!({ "hidden": hidden, "reason": "Against the rules of the house" });
    server.call_json(by, Method::PUT, &format!("/api/admin/{what}/{id}/hidden"), body).await
}

async fn comment(server: &Server, by: &User, post: &str, answered: Option<&str>) -> String {
    let body = json!({ "content": "Indeed", "replyToId": answered });
    text(
        &server.call_json(by, Method::POST, &format!("/api/posts/{post}/comments"), body).await.expect(201).data()["id"],
    )
}

/// Returns the audit log of an administrator, newest first: the action, the type of its target, and the details.
async fn acts(server: &Server, root: &User) -> Vec<(String, String, Value)> {
    let log = server.get(root, &format!("/api/admin/audit?actor={}", root.id)).await.expect(200).data();
    let act = |entry: &Value| (text(&entry["action"]), text(&entry["targetType"]), entry["details"].clone());
    list(&log).iter().map(act).collect()
}

/// Returns every request about a post that users other than its author may send.
fn requests(post: &str) -> Vec<(Method, String, Option<Value>)> {
    let of = |method: Method, path: String| (method, path, None);
    vec![
        of(Method::GET, format!("/api/posts/by-id/{post}")),
        of(Method::GET, format!("/api/posts/{post}/likes")),
        of(Method::GET, format!("/api/posts/{post}/comments")),
        of(Method::GET, format!("/api/comments/all/{post}")),
        of(Method::GET, format!("/api/events?topics=post:{post}")),
        of(Method::POST, format!("/api/posts/like/{post}")),
        of(Method::PUT, format!("/api/posts/like/{post}")),
        of(Method::DELETE, format!("/api/posts/like/{post}")),
        of(Method::PUT, format!("/api/posts/{post}/bookmark")),
        of(Method::DELETE, format!("/api/posts/{post}/bookmark")),
        of(Method::DELETE, format!("/api/posts/delete/{post}")),
        of(Method::DELETE, format!("/api/posts/{post}/comments?author=00000000-0000-7000-8000-000000000000")),
        (Method::PUT, format!("/api/posts/update/{post}"), Some(json!({ "text": "changed" }))),
        (Method::POST, "/api/comments/create".to_owned(), Some(json!({ "postId": post, "content": "hello" }))),
        (Method::POST, format!("/api/posts/{post}/comments"), Some(json!({ "content": "hello" }))),
        (
            Method::POST,
            "/api/reports".to_owned(),
            Some(json!({ "targetType": "POST", "targetId": post, "category": "OTHER" })),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hidden_post_is_visible_only_to_its_author_and_administrators() {
    let server = Server::start().await;
    let [alice, bob] = [server.user("alice").await, server.user("bob").await];
    let root = server.root().await;
    server.follow(&bob, &alice).await;
    for visibility in ["PUBLIC", "FOLLOWERS"] {
        let post = server.publish(&alice, "My word", visibility).await;
        server.call(&bob, Method::PUT, &format!("/api/posts/like/{post}")).await.expect(200);
        server.call(&bob, Method::PUT, &format!("/api/posts/{post}/bookmark")).await.expect(200);
        comment(&server, &bob, &post, None).await;
        hide(&server, &bob, "posts", &post, true).await.expect_code(403, "role_required");
        for _ in 0..2 {
            let done = hide(&server, &root, "posts", &post, true).await.expect(200);
            assert_eq!(done.json(), json!({ "message": "success", "data": null }));
        }
        for (method, path, body) in requests(&post) {
            let answer = match body {
                Some(body) => server.call_json(&bob, method.clone(), &path, body).await,
                None => server.call(&bob, method.clone(), &path).await,
            };
            assert_eq!(answer.status, 404, "{method} {path}");
            answer.expect_code(404, "post_not_found");
        }
        let edit = json!({ "postId": post, "content": "what I meant" });
        server.call_json(&bob, Method::PUT, "/api/comments/update", edit).await.expect(200);
        for viewer in [&alice, &root] {
            let seen = server.view(viewer, &post).await;
            assert_eq!((&seen["hidden"], &seen["visibility"]), (&json!(true), &json!(visibility)));
        }
        let change = json!({ "text": "changed" });
        let path = format!("/api/posts/update/{post}");
        server.call_json(&alice, Method::PUT, &path, change.clone()).await.expect_code(403, "forbidden");
        hide(&server, &root, "posts", &post, false).await.expect(200);
        let seen = server.view(&bob, &post).await;
        assert_eq!(
            (&seen["hidden"], &seen["likedByMe"], &seen["bookmarkedByMe"]),
            (&Value::Null, &json!(true), &json!(true))
        );
        server.call_json(&alice, Method::PUT, &path, change).await.expect(200);
        hide(&server, &root, "posts", &post, true).await.expect(200);
        server.call(&alice, Method::DELETE, &format!("/api/posts/delete/{post}")).await.expect(200);
        hide(&server, &root, "posts", &post, true).await.expect_code(404, "post_not_found");
    }
    let reason = json!("Against the rules of the house");
    let expected =
        ["post_hidden", "post_shown", "post_hidden"].map(|action| (action.into(), "POST".into(), reason.clone()));
    assert_eq!(acts(&server, &root).await, [expected.clone(), expected].concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn hiding_a_comment_hides_its_thread() {
    let server = Server::start().await;
    let [alice, bob, carol] = [server.user("alice").await, server.user("bob").await, server.user("carol").await];
    let root = server.root().await;
    let post = server.publish(&alice, "My word", "PUBLIC").await;
    let top = comment(&server, &bob, &post, None).await;
    let reply = comment(&server, &carol, &post, Some(&top)).await;
    let other = comment(&server, &carol, &post, None).await;
    hide(&server, &root, "comments", &top, true).await.expect(200);
    assert_eq!(server.view(&alice, &post).await["commentCount"], 1);
    let listed = async |viewer: &User| {
        let flat = server.get(viewer, &format!("/api/comments/all/{post}")).await.expect(200).data();
        list(&flat).iter().map(|comment| text(&comment["id"])).collect::<Vec<_>>()
    };
    assert_eq!(listed(&alice).await, std::slice::from_ref(&other), "of the author of the post as well");
    assert_eq!(listed(&carol).await, std::slice::from_ref(&other), "and of whoever answered");
    assert_eq!(listed(&bob).await, [top.clone(), reply.clone(), other.clone()]);
    assert_eq!(listed(&root).await, [top.clone(), reply.clone(), other.clone()]);
    let threads = server.get(&bob, &format!("/api/posts/{post}/comments")).await.expect(200).data();
    assert_eq!((&threads[0]["hidden"], &threads[1]["hidden"]), (&json!(true), &Value::Null));

    for id in [&top, &reply] {
        for (method, path) in [
            (Method::GET, format!("/api/comments/{id}/replies")),
            (Method::GET, format!("/api/comments/{id}/likes")),
            (Method::PUT, format!("/api/comments/{id}/like")),
            (Method::DELETE, format!("/api/comments/{id}/like")),
            (Method::DELETE, format!("/api/comments/delete/{id}")),
        ] {
            server.call(&alice, method, &path).await.expect_code(404, "comment_not_found");
        }
        let report = json!({ "targetType": "COMMENT", "targetId": id, "category": "SPAM" });
        server.call_json(&alice, Method::POST, "/api/reports", report).await.expect_code(404, "comment_not_found");
        for by in [&alice, &bob, &root] {
            let answer = json!({ "content": "No", "replyToId": id });
            let path = format!("/api/posts/{post}/comments");
            server.call_json(by, Method::POST, &path, answer).await.expect_code(404, "comment_not_found");
        }
    }
    let edit = |id: &str| json!({ "commentId": id, "content": "changed" });
    server.call_json(&bob, Method::PUT, "/api/comments/update", edit(&top)).await.expect_code(403, "forbidden");
    server
        .call_json(&carol, Method::PUT, "/api/comments/update", edit(&reply))
        .await
        .expect_code(404, "comment_not_found");
    server.call(&carol, Method::DELETE, &format!("/api/comments/delete/{reply}")).await.expect(200);
    hide(&server, &root, "comments", &top, false).await.expect(200);
    assert_eq!(listed(&alice).await, [top.clone(), other]);
    assert_eq!(server.view(&alice, &post).await["commentCount"], 2);
    hide(&server, &root, "comments", &top, true).await.expect(200);
    server.call(&bob, Method::DELETE, &format!("/api/comments/delete/{top}")).await.expect(200);
    assert_eq!(server.view(&alice, &post).await["commentCount"], 1);
    hide(&server, &root, "comments", &top, true).await.expect_code(404, "comment_not_found");
    let expected = ["comment_hidden", "comment_shown", "comment_hidden"];
    let acts = acts(&server, &root).await;
    assert_eq!(
        acts.iter().map(|(action, kind, _)| (action.as_str(), kind.as_str())).collect::<Vec<_>>(),
        expected.map(|action| (action, "COMMENT"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn hiding_requires_the_flag_and_a_reason() {
    let server = Server::start().await;
    let root = server.root().await;
    let post = server.publish(&root, "My word", "PUBLIC").await;
    let long = "a".repeat(1001);
    for (body, fields) in [
        (json!({}), &["hidden", "reason"][..]),
        (json!({ "hidden": "yes", "reason": "so" }), &["hidden"]),
        (json!({ "hidden": true, "reason": " " }), &["reason"]),
        (json!({ "hidden": true, "reason": long }), &["reason"]),
    ] {
        let path = format!("/api/admin/posts/{post}/hidden");
        server.call_json(&root, Method::PUT, &path, body).await.expect_invalid(fields);
    }
    assert_eq!(server.view(&root, &post).await["hidden"], Value::Null);
    assert!(acts(&server, &root).await.is_empty());
}
