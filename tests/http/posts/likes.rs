//! `/api/posts/like/{postId}` and `GET /api/posts/{postId}/likes`

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::seen;
use crate::images;
use crate::support::{Server, User};

const LIKED: &str = "Post liked successfully";
const UNLIKED: &str = "Post unliked successfully";

/// Returns the JSON of a user among the likers of a post.
fn liker(user: &User) -> Value {
    json!({ "id": user.id, "username": user.name, "profilePicture": null })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_like_can_be_toggled_set_and_unset() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let id = server.publish(&alice, "text", "PUBLIC").await;
    for (method, message) in [
        (Method::POST, LIKED),
        (Method::POST, UNLIKED),
        (Method::DELETE, UNLIKED),
        (Method::PUT, LIKED),
        (Method::PUT, LIKED),
        (Method::POST, UNLIKED),
        (Method::POST, LIKED),
        (Method::DELETE, UNLIKED),
        (Method::DELETE, UNLIKED),
    ] {
        let answer = server.call(&bob, method.clone(), &format!("/api/posts/like/{id}")).await.expect(200);
        assert_eq!(answer.json(), json!({ "message": message, "data": null }), "{method}");
        let likes = message == LIKED;
        let likers = if likes { json!([liker(&bob)]) } else { json!([]) };
        for (viewer, by_me) in [(&bob, likes), (&alice, false)] {
            let post = seen(&server, viewer, &id).await;
            assert_eq!(post["likedBy"], likers, "{method}");
            assert_eq!((&post["likeCount"], &post["likedByMe"]), (&json!(u8::from(likes)), &json!(by_me)), "{method}");
        }
        let listed = server.get(&alice, &format!("/api/posts/{id}/likes")).await.expect(200);
        assert_eq!(listed.json(), json!({ "message": "success", "data": likers }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn authors_may_like_their_own_posts_and_a_like_changes_nothing_else() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let id = server.publish(&alice, "text", "PRIVATE").await;
    let mut expected = seen(&server, &alice, &id).await;
    server.call(&alice, Method::POST, &format!("/api/posts/like/{id}")).await.expect(200);
    expected["likedBy"] = json!([liker(&alice)]);
    expected["likeCount"] = json!(1);
    expected["likedByMe"] = json!(true);
    assert_eq!(seen(&server, &alice, &id).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn liking_requires_the_right_to_view() {
    let server = Server::start().await;
    let (alice, bob, root) = (server.user("alice").await, server.user("bob").await, server.root().await);
    let hidden = server.publish(&alice, "text", "FOLLOWERS").await;
    for method in [Method::POST, Method::PUT, Method::DELETE] {
        let path = format!("/api/posts/like/{hidden}");
        server.call(&bob, method.clone(), &path).await.expect_failure(403);
        server.call(&root, method.clone(), &path).await.expect(200);
        server.send(server.request(method.clone(), &path)).await.expect_failure(401);
        let unknown = "/api/posts/like/01900000-0000-7000-8000-000000000000";
        server.call(&bob, method, unknown).await.expect_error(404, "Post not found");
    }
    server.follow(&bob, &alice).await;
    server.call(&bob, Method::POST, &format!("/api/posts/like/{hidden}")).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_liker_is_shown_with_their_picture() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let form = super::form(&[]).part("profilePicture", reqwest::multipart::Part::bytes(images::png()));
    let me = server.call_form(&alice, Method::PUT, "/api/users/me", form).await.expect(200).data();
    assert!(me["profilePicture"].is_string(), "{me}");
    let id = server.publish(&alice, "text", "PUBLIC").await;
    server.call(&alice, Method::PUT, &format!("/api/posts/like/{id}")).await.expect(200);
    let post = seen(&server, &alice, &id).await;
    assert_eq!(post["likedBy"][0]["profilePicture"], me["profilePicture"]);
    assert_eq!(post["author"]["profilePicture"], me["profilePicture"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_shows_its_50_newest_likers_and_counts_all() {
    let server = Server::start().await;
    let mut expected = Vec::new();
    let author = server.user("author").await;
    let id = server.publish(&author, "text", "PUBLIC").await;
    for n in 0..52 {
        let user = server.user(&format!("user{n}")).await;
        server.call(&user, Method::POST, &format!("/api/posts/like/{id}")).await.expect(200);
        expected.insert(0, liker(&user));
    }
    for path in [format!("/api/posts/by-id/{id}"), format!("/api/posts/{}/all", author.id)] {
        let data = server.get(&author, &path).await.expect(200).data();
        let post = if data.is_array() { &data[0] } else { &data };
        assert_eq!(post["likedBy"], json!(expected[..50]), "{path}");
        assert_eq!((&post["likeCount"], &post["likedByMe"]), (&json!(52), &json!(false)), "{path}");
    }
    assert_eq!(server.get(&author, &format!("/api/posts/{id}/likes")).await.expect(200).data(), json!(expected));
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_toggles_by_one_caller_are_each_applied() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for (toggles, liked) in [(100, false), (101, true)] {
        let id = server.publish(&alice, "text", "PUBLIC").await;
        let path = format!("/api/posts/like/{id}");
        for answer in join_all((0..toggles).map(|_| server.call(&alice, Method::POST, &path))).await {
            answer.expect(200);
        }
        let post = seen(&server, &alice, &id).await;
        assert_eq!((&post["likedByMe"], &post["likeCount"]), (&json!(liked), &json!(u8::from(liked))));
    }
}
