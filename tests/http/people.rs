//! Profiles of users: `/api/users/.../profile`, `/lookup`, `/profiles`, `/directory` and the follow lists.

use reqwest::Method;
use reqwest::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH, LINK};
use reqwest::multipart::Form;
use serde_json::{Value, json};

use crate::client::list;
use crate::support::{PASSWORD, Response, Server, User};

/// The id of no account.
const NOBODY: &str = "01900000-0000-7000-8000-000000000000";

async fn change(server: &Server, user: &User, body: Value) -> Response {
    server.call_json(user, Method::PUT, "/api/users/me", body).await
}

async fn profile(server: &Server, viewer: &User, of: &User) -> Value {
    server.get(viewer, &format!("/api/users/{}/profile", of.id)).await.expect(200).data()
}

fn names(data: &Value) -> Vec<String> {
    list(data).iter().map(|profile| profile["username"].as_str().unwrap().to_owned()).collect()
}

async fn disable(server: &Server, user: &User) {
    let path = format!("/api/users/{}/enabled", user.id);
    server.call_json(&server.root().await, Method::PUT, &path, json!({ "enabled": false })).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn users_change_their_profile_and_privacy_by_json_or_form() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let chosen = |me: &Value| json!([me["displayName"], me["discoverable"], me["searchable"], me["hideCounts"]]);
    let me = async || chosen(&server.get(&alice, "/api/users/me").await.expect(200).data());
    assert_eq!(me().await, json!([null, true, true, false]));
    for (body, expected) in [
        (json!({ "displayName": "  Ada L. 👩\u{200d}💻 " }), json!(["Ada L. 👩\u{200d}💻", true, true, false])),
        (json!({ "discoverable": false, "hideCounts": true }), json!(["Ada L. 👩\u{200d}💻", false, true, true])),
        (json!({}), json!(["Ada L. 👩\u{200d}💻", false, true, true])),
        (json!({ "displayName": null, "searchable": null }), json!(["Ada L. 👩\u{200d}💻", false, true, true])),
        (json!({ "displayName": " \u{200d}", "searchable": false }), json!([null, false, false, true])),
    ] {
        let answer = change(&server, &alice, body.clone()).await.expect(200);
        assert_eq!(chosen(&answer.data()), expected, "{body}");
        assert_eq!(me().await, expected, "{body}");
    }
    let form = Form::new().text("displayName", "Ada").text("discoverable", "true").text("hideCounts", "False");
    server.call_form(&alice, Method::PUT, "/api/users/me", form.text("searchable", "")).await.expect(200);
    assert_eq!(me().await, json!(["Ada", true, false, false]));
    let form = Form::new().text("displayName", " ");
    server.call_form(&alice, Method::PUT, "/api/users/me", form).await.expect(200);
    assert_eq!(me().await, json!([null, true, false, false]));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_profile_change_is_refused_and_changes_nothing() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for hostile in ["a\u{202e}b", "a\u{2066}b", "a\u{200b}b", "a\u{2800}b", "a\u{3164}b", "a\nb", "a\u{7f}b", "a\u{0}b"]
    {
        change(&server, &alice, json!({ "displayName": hostile, "biography": "Hi" }))
            .await
            .expect_invalid(&["displayName"]);
    }
    change(&server, &alice, json!({ "displayName": "é".repeat(51) })).await.expect_invalid(&["displayName"]);
    change(&server, &alice, json!({ "displayName": "é".repeat(50) })).await.expect(200);
    for (wrong, field) in [
        (json!({ "displayName": 7 }), "displayName"),
        (json!({ "discoverable": "true" }), "discoverable"),
        (json!({ "searchable": 1 }), "searchable"),
        (json!({ "hideCounts": [] }), "hideCounts"),
    ] {
        change(&server, &alice, wrong).await.expect_invalid(&[field]);
    }
    let form = Form::new().text("discoverable", "maybe").text("hideCounts", "1");
    let refused = server.call_form(&alice, Method::PUT, "/api/users/me", form).await;
    refused.expect_invalid(&["discoverable", "hideCounts"]);
    let me = server.get(&alice, "/api/users/me").await.expect(200).data();
    assert_eq!((&me["biography"], &me["discoverable"], &me["hideCounts"]), (&json!(null), &json!(true), &json!(false)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_shows_the_callers_relationship_to_the_user() {
    let server = Server::start().await;
    let (alice, bob, carol) = (server.user("alice").await, server.user("bob").await, server.user("carol").await);
    change(&server, &bob, json!({ "displayName": "Bob B.", "biography": "Builder" })).await.expect(200);
    for visibility in ["PUBLIC", "FOLLOWERS", "FOLLOWERS", "PRIVATE"] {
        server.publish(&bob, "text", visibility).await;
    }
    server.follow(&alice, &bob).await;
    server.follow(&bob, &carol).await;
    let account = server.get(&bob, "/api/users/me").await.expect(200).data();
    let expected = |posts: u64, following: bool, followed_by: bool| {
        json!({
            "id": bob.id, "username": "bob", "displayName": "Bob B.", "biography": "Builder", "profilePicture": null, "profilePictureThumbnail": null,
            "createdAt": account["createdAt"], "postCount": posts, "followerCount": 1, "followedCount": 1,
            "relationship": {
                "following": following, "followedBy": followed_by, "blocking": false, "muting": false,
            },
        })
    };
    assert_eq!(profile(&server, &alice, &bob).await, expected(3, true, false));
    assert_eq!(profile(&server, &carol, &bob).await, expected(1, false, true));
    assert_eq!(profile(&server, &server.root().await, &bob).await, expected(4, false, false));
    let own = profile(&server, &bob, &bob).await;
    assert_eq!((&own["relationship"], &own["postCount"]), (&Value::Null, &json!(4)));
    server.get(&alice, &format!("/api/users/{NOBODY}/profile")).await.expect_error(404, "User not found");
    server.get(&alice, "/api/users/me/profile").await.expect_code(400, "malformed_request");
}

#[tokio::test(flavor = "multi_thread")]
async fn profile_counts_reflect_posts_and_follows() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let counts = async || {
        let bob = profile(&server, &alice, &bob).await;
        json!([bob["postCount"], bob["followerCount"], bob["followedCount"]])
    };
    assert_eq!(counts().await, json!([0, 0, 0]));
    let post = server.publish(&bob, "text", "PRIVATE").await;
    assert_eq!(counts().await, json!([0, 0, 0]));
    let shown = json!({ "visibility": "PUBLIC" });
    server.call_json(&bob, Method::PUT, &format!("/api/posts/update/{post}"), shown).await.expect(200);
    server.follow(&alice, &bob).await;
    server.follow(&alice, &bob).await;
    server.follow(&bob, &alice).await;
    assert_eq!(counts().await, json!([1, 1, 1]));
    server.call(&bob, Method::DELETE, &format!("/api/posts/delete/{post}")).await.expect(200);
    server.call(&alice, Method::POST, &format!("/api/follow/follow/{}", bob.id)).await.expect(200);
    assert_eq!(counts().await, json!([0, 0, 1]));
}

#[tokio::test(flavor = "multi_thread")]
async fn hidden_counts_are_shown_only_to_the_user_and_administrators() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    server.follow(&alice, &bob).await;
    change(&server, &bob, json!({ "hideCounts": true })).await.expect(200);
    let root = server.root().await;
    for (viewer, expected) in [(&alice, json!([null, null])), (&bob, json!([1, 0])), (&root, json!([1, 0]))] {
        let by_id = profile(&server, viewer, &bob).await;
        let by_name = server.get(viewer, "/api/users/lookup?username=bob").await.expect(200).data();
        let listed = server.get(viewer, &format!("/api/users/profiles?id={}", bob.id)).await.expect(200).data();
        for found in [&by_id, &by_name, &listed[0]] {
            assert_eq!(json!([found["followerCount"], found["followedCount"]]), expected, "{}", viewer.name);
            assert_eq!(found["postCount"], 0);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unchanged_profile_is_answered_304() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let path = format!("/api/users/{}/profile", bob.id);
    let answer = server.get(&alice, &path).await.expect(200);
    let tag = answer.header(ETAG).unwrap().to_owned();
    assert_eq!(answer.header(CACHE_CONTROL), Some("no-store"));
    let again = async || {
        server.send(server.request(Method::GET, &path).bearer_auth(&alice.token).header(IF_NONE_MATCH, &tag)).await
    };
    assert!(again().await.expect(304).body.is_empty());
    server.follow(&alice, &bob).await;
    assert_ne!(again().await.expect(200).header(ETAG), Some(&*tag));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_is_looked_up_by_name_in_any_letter_case_listed_or_not() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let odd = json!({ "username": "Öd & Äd+é", "email": "odd@example.org", "password": PASSWORD });
    server.register_as(odd).await.expect(201);
    let odd = server.log_in("Öd & Äd+é").await;
    change(&server, &odd, json!({ "discoverable": false })).await.expect(200);
    for name in
        ["%C3%96d+%26+%C3%84d%2B%C3%A9", "%C3%B6D%20%26%20%C3%A4d%2BE%CC%81", "%20%C3%B6d%20%26%20%C3%A4d%2B%C3%A9%20"]
    {
        let found = server.get(&alice, &format!("/api/users/lookup?username={name}")).await.expect(200).data();
        assert_eq!((&found["id"], &found["username"]), (&json!(odd.id), &json!("Öd & Äd+é")), "{name}");
    }
    for name in ["nobody", "%25", "alice'--", "alic", "%F0%9F%99%82"] {
        let path = format!("/api/users/lookup?username={name}");
        server.get(&alice, &path).await.expect_error(404, "User not found");
    }
    let long = "x".repeat(51);
    for query in [
        "",
        "?username=",
        "?username=%20",
        "?name=alice",
        "?username=a@b",
        "?username=%01",
        &format!("?username={long}"),
    ] {
        server.get(&alice, &format!("/api/users/lookup{query}")).await.expect_invalid(&["username"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn profiles_come_in_the_order_asked_for_each_once_without_unknown_ones() {
    let server = Server::start().await;
    let (alice, bob, carol) = (server.user("alice").await, server.user("bob").await, server.user("carol").await);
    let read = async |ids: &[&str]| {
        let query: Vec<_> = ids.iter().map(|id| format!("id={id}")).collect();
        server.get(&alice, &format!("/api/users/profiles?{}", query.join("&"))).await
    };
    let found = read(&[&carol.id, NOBODY, &alice.id, &carol.id, &bob.id.to_uppercase()]).await.expect(200);
    assert_eq!(names(&found.data()), ["carol", "alice", "bob"]);
    assert_eq!(found.header(LINK), None);
    assert_eq!(found.data()[0], profile(&server, &alice, &carol).await);
    assert_eq!(read(&[NOBODY]).await.expect(200).data(), json!([]));
    read(&[&[&*bob.id], &[NOBODY; 99][..]].concat()).await.expect(200);
    for wrong in [&[][..], &[""], &["5"], &[&bob.id, "x"], &[&*bob.id; 101], &[&bob.id.replace('-', "")]] {
        read(wrong).await.expect_invalid(&["id"]);
    }
    server.get(&alice, "/api/users/profiles").await.expect_invalid(&["id"]);
    server.call(&alice, Method::HEAD, &format!("/api/users/profiles?id={}", bob.id)).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_directory_lists_discoverable_users_newest_first() {
    let server = Server::start().await;
    let (alice, bob, gone) = (server.user("alice").await, server.user("bob").await, server.user("gone").await);
    let _carol = server.user("carol").await;
    let read = async |viewer| names(&server.get(viewer, "/api/users/directory").await.expect(200).data());
    change(&server, &bob, json!({ "discoverable": false })).await.expect(200);
    disable(&server, &gone).await;
    assert_eq!(read(&alice).await, ["carol", "alice", "root"], "the caller is among them");
    assert_eq!(read(&bob).await, ["carol", "alice", "root"], "unless that one does not want to be");
    assert_eq!(read(&server.root().await).await, ["carol", "alice", "root"]);
    for query in ["size=0", "size=101", "size=x"] {
        server.get(&alice, &format!("/api/users/directory?{query}")).await.expect_invalid(&["size"]);
    }
    server.get(&alice, "/api/users/directory?cursor=x").await.expect_invalid(&["cursor"]);
    for n in 0..20 {
        server.user(&format!("late{n}")).await;
    }
    let page = server.get(&alice, "/api/users/directory").await.expect(200);
    assert_eq!((names(&page.data()).len(), page.header(LINK).is_some()), (20, true), "20 without a size");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_administrators_see_disabled_accounts() {
    let server = Server::start().await;
    let (alice, bob, gone) = (server.user("alice").await, server.user("bob").await, server.user("gone").await);
    for (one, other) in [(&gone, &alice), (&alice, &gone), (&bob, &alice), (&alice, &bob)] {
        server.follow(one, other).await;
    }
    disable(&server, &gone).await;
    let root = server.root().await;
    for (viewer, status, expected) in [(&alice, 404, vec!["bob"]), (&root, 200, vec!["bob", "gone"])] {
        server.get(viewer, &format!("/api/users/{}/profile", gone.id)).await.expect(status);
        server.get(viewer, "/api/users/lookup?username=gone").await.expect(status);
        let listed = format!("/api/users/profiles?id={}&id={}", bob.id, gone.id);
        assert_eq!(names(&server.get(viewer, &listed).await.expect(200).data()), expected);
        for which in ["followers", "followed"] {
            let path = format!("/api/users/{}/{which}", alice.id);
            assert_eq!(names(&server.get(viewer, &path).await.expect(200).data()), expected, "{which}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_of_follows_are_for_the_user_followers_and_administrators() {
    let server = Server::start().await;
    let (alice, bob, carol) = (server.user("alice").await, server.user("bob").await, server.user("carol").await);
    server.follow(&bob, &alice).await;
    server.follow(&alice, &carol).await;
    let root = server.root().await;
    for (viewer, status) in [(&alice, 200), (&bob, 200), (&root, 200), (&carol, 403)] {
        for (which, expected) in [("followers", "bob"), ("followed", "carol")] {
            let answer = server.get(viewer, &format!("/api/users/{}/{which}", alice.id)).await.expect(status);
            if status == 200 {
                assert_eq!(names(&answer.data()), [expected]);
            }
        }
    }
    for which in ["followers", "followed"] {
        server.get(&alice, &format!("/api/users/{NOBODY}/{which}")).await.expect_error(404, "User not found");
        server.get(&alice, &format!("/api/users/{NOBODY}/{which}?size=0")).await.expect_invalid(&["size"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_users_never_see_an_email_address() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    server.follow(&alice, &bob).await;
    for path in [
        format!("/api/users/{}/profile", bob.id),
        "/api/users/lookup?username=bob".to_owned(),
        format!("/api/users/profiles?id={}", bob.id),
        "/api/users/directory".to_owned(),
        format!("/api/users/{}/followers", bob.id),
        format!("/api/users/{}/followed", alice.id),
    ] {
        let answer = server.get(&alice, &path).await.expect(200);
        assert!(!String::from_utf8_lossy(&answer.body).contains('@'), "{path}");
    }
}
