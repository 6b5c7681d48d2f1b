//! `/api/follow`

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Response, Server, User};

const FOLLOWED: &str = "Followed user successfully";
const UNFOLLOWED: &str = "Unfollowed user successfully";

/// The id of no account.
const NOBODY: &str = "01900000-0000-7000-8000-000000000000";

/// Returns both paths for following a user.
fn paths(id: &str) -> [String; 2] {
    [format!("/api/follow/follow/{id}"), format!("/api/follow/{id}")]
}

/// Returns the JSON of a user in follow lists.
fn entry(user: &User) -> Value {
    json!({ "id": user.id, "username": user.name, "email": format!("{}@example.org", user.name) })
}

async fn followers(server: &Server, caller: &User, user: &User) -> Response {
    server.get(caller, &format!("/api/follow/followers/{}", user.id)).await
}

async fn followed(server: &Server, caller: &User, user: &User) -> Response {
    server.get(caller, &format!("/api/follow/followed/{}", user.id)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follow_can_be_toggled_set_and_unset_under_both_paths() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    for path in paths(&bob.id) {
        for (method, message) in [
            (Method::POST, FOLLOWED),
            (Method::POST, UNFOLLOWED),
            (Method::DELETE, UNFOLLOWED),
            (Method::PUT, FOLLOWED),
            (Method::PUT, FOLLOWED),
            (Method::POST, UNFOLLOWED),
            (Method::POST, FOLLOWED),
            (Method::DELETE, UNFOLLOWED),
            (Method::DELETE, UNFOLLOWED),
        ] {
            let answer = server.call(&alice, method.clone(), &path).await.expect(200);
            assert_eq!(answer.json(), json!({ "success": true, "message": message, "data": null }), "{method} {path}");
            let expected = if message == FOLLOWED { json!([entry(&alice)]) } else { json!([]) };
            assert_eq!(followers(&server, &bob, &bob).await.expect(200).data(), expected, "{method} {path}");
            assert_eq!(followed(&server, &bob, &bob).await.expect(200).data(), json!([]), "it has a direction");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_two_paths_toggle_one_relation() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    for (path, message) in paths(&bob.id).iter().zip([FOLLOWED, UNFOLLOWED]) {
        assert_eq!(server.call(&alice, Method::POST, path).await.expect(200).json()["message"], message);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn oneself_unknown_users_and_malformed_ids_cannot_be_followed() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for method in [Method::POST, Method::PUT, Method::DELETE] {
        for path in paths(&alice.id) {
            server.call(&alice, method.clone(), &path).await.expect_failure(400);
        }
        for path in paths(NOBODY) {
            server.call(&alice, method.clone(), &path).await.expect_error(404, "User not found");
        }
        for path in paths("5") {
            let answer = server.call(&alice, method.clone(), &path).await.expect_failure(400);
            assert!(answer.json()["message"].as_str().unwrap().contains("followedId"), "{answer:?}");
        }
    }
    assert_eq!(followers(&server, &alice, &alice).await.expect(200).data(), json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn follow_lists_are_newest_first_with_exactly_the_documented_fields() {
    let server = Server::start().await;
    let mut users = Vec::new();
    for name in ["alice", "bob", "carol", "dave"] {
        users.push(server.user(name).await);
    }
    let [alice, bob, carol, dave] = &users[..] else { unreachable!() };
    for other in [carol, bob, dave] {
        server.follow(other, alice).await;
        server.follow(alice, other).await;
    }
    // Following again keeps the place in the list; following after unfollowing makes it the newest.
    server.follow(carol, alice).await;
    server.call(bob, Method::DELETE, &format!("/api/follow/{}", alice.id)).await.expect(200);
    server.follow(bob, alice).await;

    assert_eq!(
        followers(&server, alice, alice).await.expect(200).json(),
        json!({
            "success": true,
            "message": "Followers retrieved successfully",
            "data": [entry(bob), entry(dave), entry(carol)],
        })
    );
    assert_eq!(
        followed(&server, alice, alice).await.expect(200).json(),
        json!({
            "success": true,
            "message": "Followed users retrieved successfully",
            "data": [entry(dave), entry(bob), entry(carol)],
        })
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lists_are_for_the_user_the_users_followers_and_admin() {
    let server = Server::start().await;
    let (alice, follower) = (server.user("alice").await, server.user("follower").await);
    let (followed_by_alice, stranger) = (server.user("followed").await, server.user("stranger").await);
    server.follow(&follower, &alice).await;
    server.follow(&alice, &followed_by_alice).await;
    for (caller, status) in
        [(&alice, 200), (&follower, 200), (&server.root().await, 200), (&followed_by_alice, 403), (&stranger, 403)]
    {
        for answer in [followers(&server, caller, &alice).await, followed(&server, caller, &alice).await] {
            let answer = if status == 200 { answer.expect(200) } else { answer.expect_failure(status) };
            assert_eq!(answer.json()["success"], status == 200, "{}", caller.name);
        }
        for list in ["followers", "followed"] {
            let unknown = server.get(caller, &format!("/api/follow/{list}/{NOBODY}")).await;
            unknown.expect_error(404, "User not found");
        }
    }
    server.follow(&stranger, &alice).await;
    followers(&server, &stranger, &alice).await.expect(200);
    server.call(&stranger, Method::DELETE, &format!("/api/follow/{}", alice.id)).await.expect(200);
    followers(&server, &stranger, &alice).await.expect_failure(403);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_toggles_by_one_caller_are_each_applied() {
    let server = Server::start().await;
    let (alice, bob, carol) = (server.user("alice").await, server.user("bob").await, server.user("carol").await);
    for (user, toggles, follows) in [(&bob, 40, false), (&carol, 41, true)] {
        let paths = paths(&user.id);
        let calls = paths.iter().cycle().take(toggles).map(|path| server.call(&alice, Method::POST, path));
        for answer in join_all(calls).await {
            answer.expect(200);
        }
        let list = followers(&server, user, user).await.expect(200).data();
        assert_eq!(list.as_array().unwrap().len(), usize::from(follows));
    }
}
