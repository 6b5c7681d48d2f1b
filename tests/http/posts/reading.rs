//! Reading posts: who may view which, and their JSON.

use reqwest::Method;
use serde_json::{Value, json};

use super::{ids, seen};
use crate::support::{Server, User};

const VISIBILITIES: [&str; 3] = ["PUBLIC", "FOLLOWERS", "PRIVATE"];

/// An id that does not exist.
const NOTHING: &str = "01900000-0000-7000-8000-000000000000";

/// An author with posts, viewers in each relationship to the author, and how many of [`VISIBILITIES`] each viewer may view.
struct World {
    server: Server,
    author: User,
    viewers: Vec<(&'static str, User, usize)>,
}

async fn world() -> World {
    let server = Server::start().await;
    let author = server.user("author").await;
    let follower = server.user("follower").await;
    let followed = server.user("followed").await;
    server.follow(&follower, &author).await;
    server.follow(&author, &followed).await;
    let viewers = vec![
        ("the author", author.clone(), 3),
        ("ADMIN", server.root().await, 3),
        ("a follower", follower, 2),
        ("somebody the author follows", followed, 1),
        ("a stranger", server.user("stranger").await, 1),
    ];
    World { server, author, viewers }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_is_shown_to_those_who_may_view_it() {
    let World { server, author, viewers } = world().await;
    for (index, visibility) in VISIBILITIES.into_iter().enumerate() {
        let id = server.publish(&author, visibility, visibility).await;
        for (who, viewer, may_view) in &viewers {
            for path in
                [format!("/api/posts/by-id/{id}"), format!("/api/posts/{id}/likes"), format!("/api/comments/all/{id}")]
            {
                let answer = server.get(viewer, &path).await;
                if index < *may_view {
                    assert_eq!(answer.expect(200).json()["message"], "success", "{who}: {path}");
                } else {
                    answer.expect_failure(403);
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_post_is_not_found() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for path in [format!("/api/posts/by-id/{NOTHING}"), format!("/api/posts/{NOTHING}/likes")] {
        server.get(&alice, &path).await.expect_error(404, "Post not found");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_paths_list_the_visible_posts_of_a_user_newest_first() {
    let World { server, author, viewers } = world().await;
    let mut posts = Vec::new();
    for visibility in [VISIBILITIES, VISIBILITIES].concat() {
        let id = server.publish(&author, visibility, visibility).await;
        posts.insert(0, seen(&server, &author, &id).await);
    }
    server.publish(&viewers[2].1, "beside the point", "PUBLIC").await;
    for (who, viewer, may_view) in &viewers {
        let visible = |post: &&Value| VISIBILITIES[..*may_view].contains(&post["visibility"].as_str().unwrap());
        let expected: Value = posts.iter().filter(visible).cloned().collect();
        for path in [format!("/api/posts/{}/all", author.id), format!("/api/posts/user/{}", author.id)] {
            let answer = server.get(viewer, &path).await.expect(200);
            assert_eq!(answer.json()["message"], "success");
            assert_eq!(answer.data(), expected, "{who}: {path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_without_posts_has_an_empty_list_and_an_unknown_user_is_not_found() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    server.publish(&bob, "hidden", "PRIVATE").await;
    for user in [&alice.id, &bob.id] {
        for path in [format!("/api/posts/{user}/all"), format!("/api/posts/user/{user}")] {
            let answer = server.get(&alice, &path).await.expect(200);
            assert_eq!(answer.json(), json!({ "message": "success", "data": [] }), "{path}");
        }
    }
    for path in [format!("/api/posts/{NOTHING}/all"), format!("/api/posts/user/{NOTHING}")] {
        server.get(&alice, &path).await.expect_error(404, "User not found");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_admin_listing_has_every_post_with_the_flags_of_its_author() {
    let server = Server::start().await;
    let (root, alice, bob) = (server.root().await, server.user("alice").await, server.user("bob").await);
    let none = server.get(&root, "/api/posts/all").await.expect(200);
    assert_eq!(none.json(), json!({ "message": "success", "data": [] }));

    let mut expected = Vec::new();
    for (author, visibility) in [(&alice, "PUBLIC"), (&bob, "FOLLOWERS"), (&alice, "PRIVATE"), (&root, "PRIVATE")] {
        let id = server.publish(author, "text", visibility).await;
        let authorities = match author.name.as_str() {
            "root" => json!([{ "authority": "ADMIN" }, { "authority": "USER" }]),
            _ => json!([{ "authority": "USER" }]),
        };
        let mut post = seen(&server, &root, &id).await;
        post["author"] = json!({
            "id": author.id,
            "username": author.name,
            "email": format!("{}@example.org", author.name),
            "authorities": authorities,
            "accountNonExpired": true,
            "accountNonLocked": true,
            "credentialsNonExpired": true,
            "enabled": true,
        });
        expected.insert(0, post);
    }
    let mut listed = server.get(&root, "/api/posts/all").await.expect(200).data();
    for post in listed.as_array_mut().unwrap() {
        // The order of authorities is unspecified.
        let authorities = post["author"]["authorities"].as_array_mut().unwrap();
        authorities.sort_by_key(|authority| authority["authority"].to_string());
    }
    assert_eq!(listed, Value::Array(expected));
    server.get(&alice, "/api/posts/all").await.expect_failure(403);

    let disabled = format!("/api/users/{}/enabled", bob.id);
    server.call_json(&root, Method::PUT, &disabled, json!({ "enabled": false })).await.expect(200);
    let listed = server.get(&root, "/api/posts/all").await.expect(200).data();
    assert_eq!(listed[2]["author"]["enabled"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_following_feed_has_the_visible_posts_of_those_the_caller_follows() {
    let server = Server::start().await;
    let mut users = Vec::new();
    for name in ["reader", "followed", "also", "stranger"] {
        users.push(server.user(name).await);
    }
    let [reader, followed, also, stranger] = &users[..] else { unreachable!() };
    let feed = async || server.get(reader, "/api/posts/following/all").await.expect(200).json();

    server.publish(followed, "before", "PUBLIC").await;
    assert_eq!(feed().await, json!({ "message": "success", "data": [] }), "the caller follows nobody");
    server.follow(reader, followed).await;
    server.follow(reader, also).await;
    server.follow(stranger, reader).await;

    let mut expected = feed().await["data"].as_array().unwrap().clone();
    assert_eq!(expected.len(), 1, "posts from before the follow count");
    for author in [reader, followed, stranger, also, followed] {
        for visibility in VISIBILITIES {
            let id = server.publish(author, visibility, visibility).await;
            if [&followed.id, &also.id].contains(&&author.id) && visibility != "PRIVATE" {
                expected.insert(0, seen(&server, reader, &id).await);
            }
        }
    }
    assert_eq!(feed().await["data"], Value::Array(expected));

    for user in [followed, also] {
        server.call(reader, Method::DELETE, &format!("/api/follow/follow/{}", user.id)).await.expect(200);
    }
    assert_eq!(feed().await["data"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn posts_created_at_the_same_time_keep_their_order() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let mut expected = Vec::new();
    for n in 0..30 {
        expected.insert(0, server.publish(&alice, &n.to_string(), "PUBLIC").await);
    }
    let listed = server.get(&alice, &format!("/api/posts/{}/all", alice.id)).await.expect(200).data();
    assert_eq!(ids(&listed), expected);
}
