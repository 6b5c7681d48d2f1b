//! `/api/users/me/sessions` and `/api/admin/users/{userId}/sessions`: listing and ending sessions.

use reqwest::Method;
use serde_json::{Value, json};

use crate::client::{PASSWORD, list, text};
use crate::support::{Server, User};

const SESSIONS: &str = "/api/users/me/sessions";

/// Logs in from a client with this `User-Agent`.
async fn log_in(server: &Server, name: &str, client: &str) -> User {
    let body = json!({ "identifier": name, "password": PASSWORD });
    let request = server.request(Method::POST, "/api/auth/login").header("User-Agent", client).json(&body);
    let token = text(&server.send(request).await.expect(200).json()["token"]);
    let mut user = User { token, name: name.to_owned(), id: String::new() };
    user.id = text(&server.get(&user, "/api/users/me").await.expect(200).data()["id"]);
    user
}

async fn sessions(server: &Server, user: &User) -> Vec<Value> {
    list(&server.get(user, SESSIONS).await.expect(200).data()).to_vec()
}

async fn is_logged_in(server: &Server, user: &User) -> bool {
    server.get(user, "/api/users/me").await.status == 200
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_listed_newest_first_and_ended_one_by_one_or_all_but_the_callers() {
    let server = Server::start().await;
    let first = server.user("alice").await;
    let phone = log_in(&server, "alice", " Agora for Android\t1.0 ").await;
    let laptop = log_in(&server, "alice", &"x".repeat(300)).await;
    let stranger = server.user("bob").await;
    let listed = sessions(&server, &phone).await;
    let clients: Vec<_> = listed.iter().map(|session| session["userAgent"].clone()).collect();
    assert_eq!(clients[..2], [json!("x".repeat(200)), json!("Agora for Android1.0")]);
    assert_eq!(listed.iter().map(|it| it["current"] == true).collect::<Vec<_>>(), [false, true, false]);
    for session in &listed {
        for time in ["openedAt", "lastSeenAt"] {
            assert_eq!(session[time].as_str().unwrap().len(), "2025-07-15T00:24:54.124+00:00".len(), "{session}");
        }
    }
    assert_eq!(server.walk(&phone, &format!("{SESSIONS}?size=1"), "data").await.len(), 3);

    let of_laptop = format!("{SESSIONS}/{}", text(&listed[0]["id"]));
    server.call(&stranger, Method::DELETE, &of_laptop).await.expect_code(404, "session_not_found");
    assert!(is_logged_in(&server, &laptop).await);
    let done = server.call(&phone, Method::DELETE, &of_laptop).await.expect(200);
    assert_eq!(done.json(), json!({ "message": "success", "data": null }));
    assert!(!is_logged_in(&server, &laptop).await);
    server.call(&phone, Method::DELETE, &of_laptop).await.expect_code(404, "session_not_found");
    assert_eq!(sessions(&server, &phone).await.len(), 2);

    for _ in 0..2 {
        server.call(&phone, Method::DELETE, SESSIONS).await.expect(200);
    }
    assert!(!is_logged_in(&server, &first).await && is_logged_in(&server, &phone).await);
    assert!(is_logged_in(&server, &stranger).await);
    let own = sessions(&server, &phone).await;
    assert_eq!(own.len(), 1);
    server.call(&phone, Method::DELETE, &format!("{SESSIONS}/{}", text(&own[0]["id"]))).await.expect(200);
    assert!(!is_logged_in(&server, &phone).await, "it is a logout");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_ended_or_are_too_old_are_not_listed() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let other = server.log_in("alice").await;
    server.call(&other, Method::POST, "/api/auth/logout").await.expect(200);
    let listed = sessions(&server, &alice).await;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["current"], true);
    let body = json!({ "currentPassword": PASSWORD, "newPassword": PASSWORD });
    let third = server.log_in("alice").await;
    server.call_json(&third, Method::PUT, "/api/users/me/password", body).await.expect(200);
    assert_eq!(sessions(&server, &third).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_see_and_end_the_sessions_of_others() {
    let server = Server::start().await;
    let (root, alice, bob) = (server.root().await, server.user("alice").await, server.user("bob").await);
    let phone = log_in(&server, "alice", "Agora for Android 1.0").await;
    let path = format!("/api/admin/users/{}/sessions", alice.id);
    let listed = list(&server.get(&root, &path).await.expect(200).data()).to_vec();
    let own = sessions(&server, &alice).await;
    let without_current = own.into_iter().map(|mut session| {
        session.as_object_mut().unwrap().remove("current");
        session
    });
    assert_eq!(listed, without_current.collect::<Vec<_>>());
    assert_eq!(listed[0]["userAgent"], "Agora for Android 1.0");
    assert_eq!(server.walk(&root, &format!("{path}?size=1"), "data").await.len(), 2);

    for _ in 0..2 {
        server.call(&root, Method::DELETE, &path).await.expect(200);
        for ended in [&alice, &phone] {
            assert!(!is_logged_in(&server, ended).await, "at once, though its sessions are cached");
        }
    }
    assert!(is_logged_in(&server, &bob).await && is_logged_in(&server, &root).await);
    assert_eq!(server.get(&root, &path).await.expect(200).data(), json!([]));
    let log = format!("/api/admin/audit?target={}&action=sessions_ended", alice.id);
    let entries = server.get(&root, &log).await.expect(200).data();
    assert_eq!(list(&entries).len(), 1, "what changes nothing leaves none: {entries}");
    assert_eq!((&entries[0]["targetType"], &entries[0]["actor"]["username"]), (&json!("USER"), &json!("root")));
}
