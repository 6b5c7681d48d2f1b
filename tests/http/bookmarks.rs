//! `/api/posts/{postId}/bookmark`, `/api/users/me/bookmarks` and `/api/posts/public`.

use reqwest::Method;
use serde_json::{Value, json};

use crate::client::list;
use crate::support::{Response, Server, User};

/// An id that does not exist.
const NOTHING: &str = "01900000-0000-7000-8000-000000000000";
const BOOKMARKS: &str = "/api/users/me/bookmarks";

async fn bookmark(server: &Server, user: &User, method: Method, post: &str) -> Response {
    server.call(user, method, &format!("/api/posts/{post}/bookmark")).await
}

async fn ids(server: &Server, user: &User, path: &str) -> Vec<String> {
    let data = server.get(user, path).await.expect(200).data();
    list(&data).iter().map(|post| post["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bookmark_is_set_and_removed_any_number_of_times() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let (one, two) = (server.publish(&alice, "one", "PUBLIC").await, server.publish(&alice, "two", "PUBLIC").await);
    for post in [&two, &one, &two] {
        let answer = bookmark(&server, &bob, Method::PUT, post).await.expect(200);
        assert_eq!(answer.json(), json!({ "message": "success", "data": null }));
    }
    assert_eq!(ids(&server, &bob, BOOKMARKS).await, [one.clone(), two.clone()], "the second one keeps its place");
    let seen = |user: &User| {
        let (path, user) = (format!("/api/posts/by-id/{one}"), user.clone());
        let server = &server;
        async move { server.get(&user, &path).await.expect(200).data()["bookmarkedByMe"].clone() }
    };
    assert_eq!((seen(&bob).await, seen(&alice).await), (json!(true), json!(false)), "nobody else learns of it");
    for _ in 0..2 {
        bookmark(&server, &bob, Method::DELETE, &one).await.expect(200);
        assert_eq!(ids(&server, &bob, BOOKMARKS).await, std::slice::from_ref(&two));
    }
    assert!(ids(&server, &alice, BOOKMARKS).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn bookmarks_of_posts_out_of_sight_are_left_out_but_can_be_removed() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let post = server.publish(&alice, "text", "PUBLIC").await;
    bookmark(&server, &bob, Method::PUT, &post).await.expect(200);
    let show = async |to: &str| {
        let path = format!("/api/posts/update/{post}");
        server.call_json(&alice, Method::PUT, &path, json!({ "visibility": to })).await.expect(200);
    };
    show("PRIVATE").await;
    assert!(ids(&server, &bob, BOOKMARKS).await.is_empty());
    bookmark(&server, &bob, Method::PUT, &post).await.expect_code(403, "forbidden");
    show("PUBLIC").await;
    assert_eq!(ids(&server, &bob, BOOKMARKS).await, std::slice::from_ref(&post));
    show("PRIVATE").await;
    bookmark(&server, &bob, Method::DELETE, &post).await.expect(200);
    show("PUBLIC").await;
    assert!(ids(&server, &bob, BOOKMARKS).await.is_empty());
    for method in [Method::PUT, Method::DELETE] {
        bookmark(&server, &bob, method.clone(), NOTHING).await.expect_code(404, "post_not_found");
        bookmark(&server, &bob, method, "me").await.expect_code(400, "malformed_request");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_public_timeline_shows_public_posts_without_email_addresses() {
    let server = Server::start().await;
    let (alice, bob, carol) = (server.user("alice").await, server.user("bob").await, server.user("carol").await);
    let post = server.publish(&alice, "hello", "PUBLIC").await;
    for visibility in ["FOLLOWERS", "PRIVATE"] {
        server.publish(&alice, "hidden", visibility).await;
    }
    let of_bob = server.publish(&bob, "mine", "PUBLIC").await;
    bookmark(&server, &alice, Method::PUT, &post).await.expect(200);
    let public = async |user: &User| ids(&server, user, "/api/posts/public").await;
    // Other visibilities are not shown to the author either, nor to an administrator.
    for user in [&alice, &bob, &server.root().await] {
        assert_eq!(public(user).await, [of_bob.clone(), post.clone()]);
    }
    for path in ["/api/posts/public", BOOKMARKS] {
        let data = server.get(&alice, path).await.expect(200).data();
        let shown = list(&data).last().unwrap().clone();
        let author = json!({
            "id": alice.id, "username": "alice", "displayName": null, "biography": null, "profilePicture": null,
            "profilePictureThumbnail": null
        });
        assert_eq!((&shown["author"], &shown["bookmarkedByMe"]), (&author, &json!(true)), "{path}");
        assert!(!data.to_string().contains("example.org"), "{path}");
    }
    let disable = format!("/api/users/{}/enabled", bob.id);
    server.call_json(&server.root().await, Method::PUT, &disable, json!({ "enabled": false })).await.expect(200);
    assert_eq!(public(&carol).await, [post]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_public_timeline_and_bookmarks_have_pages_of_twenty_by_default() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for n in 0..25 {
        let post = server.publish(&alice, &format!("post {n}"), "PUBLIC").await;
        bookmark(&server, &alice, Method::PUT, &post).await.expect(200);
    }
    for path in ["/api/posts/public", BOOKMARKS] {
        let first = server.get(&alice, path).await.expect(200);
        assert_eq!(list(&first.data()).len(), 20, "{path}");
        let rest = server.get(&alice, &first.next().unwrap()).await.expect(200);
        let texts: Vec<Value> = list(&rest.data()).iter().map(|post| post["content"].clone()).collect();
        assert_eq!(texts, ["post 4", "post 3", "post 2", "post 1", "post 0"], "{path}");
        server.get(&alice, &format!("{path}?size=101")).await.expect_invalid(&["size"]);
        server.get(&alice, &format!("{path}?cursor=x")).await.expect_invalid(&["cursor"]);
    }
}
