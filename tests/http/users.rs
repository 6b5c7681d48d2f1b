//! `/api/users`: the own account, and the administration of accounts.

use std::io::Cursor;

use image::{ImageFormat, Rgb, RgbImage};
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use crate::support::{PASSWORD, PUBLIC_URL, Response, Server, User};

const ME: &str = "/api/users/me";
const ALL: &str = "/api/users/all";
const UNKNOWN: &str = "018f0000-0000-7000-8000-000000000000";

fn update(id: &str) -> String {
    format!("/api/users/update/{id}")
}

fn enabled(id: &str) -> String {
    format!("/api/users/{id}/enabled")
}

async fn set_enabled(server: &Server, admin: &User, user: &User, to: bool) -> Response {
    server.call_json(admin, Method::PUT, &enabled(&user.id), json!({ "enabled": to })).await
}

/// Returns an account as an administrator sees it.
async fn by_id(server: &Server, admin: &User, user: &User) -> Value {
    server.get(admin, &format!("/api/users/by-id/{}", user.id)).await.expect(200).data()
}

/// Returns the names of an account's roles, in alphabetical order.
fn roles(account: &Value) -> Vec<String> {
    let authorities = account["authorities"].as_array().unwrap().iter();
    let mut roles: Vec<_> = authorities.map(|it| it["authority"].as_str().unwrap().to_owned()).collect();
    roles.sort();
    roles
}

/// Checks that an object has at least these fields with these values.
#[track_caller]
fn assert_includes(object: &Value, expected: &Value) {
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(object.get(field), Some(value), "{field} of {object}");
    }
}

/// Returns a small PNG, a different one for each shade.
fn png(shade: u8) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    RgbImage::from_pixel(4, 4, Rgb([shade; 3])).write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

fn picture(bytes: Vec<u8>) -> Form {
    Form::new().part("profilePicture", Part::bytes(bytes).file_name("me.png"))
}

/// Returns the path of an account's profile picture.
fn picture_path(account: &Value) -> String {
    let url = account["profilePicture"].as_str().expect("a picture");
    url.strip_prefix(PUBLIC_URL).filter(|path| path.starts_with("/media/")).expect("our address").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn users_see_their_own_account_without_the_password() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let answer = server.get(&alice, ME).await.expect(200).json();
    assert_eq!(answer["message"], "success");
    let expected = json!({
        "id": alice.id,
        "username": "alice",
        "email": "alice@example.org",
        "biography": null,
        "profilePicture": null,
        "profilePictureThumbnail": null,
        "authorities": [{ "authority": "USER" }],
        "accountNonExpired": true,
        "accountNonLocked": true,
        "credentialsNonExpired": true,
        "enabled": true,
    });
    assert_includes(&answer["data"], &expected);
    assert!(!answer.to_string().to_lowercase().contains("password"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_may_read_any_account_by_id() {
    let server = Server::start().await;
    let (root, alice) = (server.root().await, server.user("alice").await);
    for user in [&alice, &root] {
        let answer = server.get(&root, &format!("/api/users/by-id/{}", user.id)).await.expect(200);
        assert_eq!(answer.json()["message"], "success");
        assert_eq!(answer.data(), server.get(user, ME).await.data());
    }
    assert_eq!(roles(&by_id(&server, &root, &root).await), ["ADMIN", "USER"]);
    server.get(&root, &format!("/api/users/by-id/{UNKNOWN}")).await.expect_error(404, "User not found");
    for malformed in ["alice", "018f", &UNKNOWN.replace('-', ""), &format!("{UNKNOWN}0")] {
        let answer = server.get(&root, &format!("/api/users/by-id/{malformed}")).await.expect(400).json();
        assert!(answer["message"].as_str().unwrap().starts_with("id "), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_see_all_accounts_oldest_first() {
    let server = Server::start().await;
    let root = server.root().await;
    for name in ["zoe", "alice", "mia"] {
        server.user(name).await;
    }
    let answer = server.get(&root, ALL).await.expect(200);
    assert_eq!(answer.json()["message"], "success");
    let all = answer.data().as_array().unwrap().clone();
    let names: Vec<_> = all.iter().map(|account| account["username"].as_str().unwrap()).collect();
    assert_eq!(names, ["root", "zoe", "alice", "mia"]);
    assert_eq!(all[0], server.get(&root, ME).await.data());
    assert!(!answer.json().to_string().to_lowercase().contains("password"));
}

#[tokio::test(flavor = "multi_thread")]
async fn adding_and_removing_a_role_is_idempotent() {
    let server = Server::start().await;
    let root = server.root().await;
    let table: [(&[&str], &str, &str, &[&str]); 8] = [
        (&["USER"], "ADD", "ADMIN", &["ADMIN", "USER"]),
        (&["ADMIN", "USER"], "ADD", "ADMIN", &["ADMIN", "USER"]),
        (&["ADMIN", "USER"], "REMOVE", "ADMIN", &["USER"]),
        (&["USER"], "REMOVE", "ADMIN", &["USER"]),
        (&[], "ADD", "USER", &["USER"]),
        (&["USER"], "ADD", "USER", &["USER"]),
        (&["USER"], "REMOVE", "USER", &[]),
        (&[], "REMOVE", "USER", &[]),
    ];
    for (i, (before, action, role, after)) in table.into_iter().enumerate() {
        let user = server.user(&format!("user{i}")).await;
        if before.contains(&"ADMIN") {
            server.change_role(&root, &user, "ADD", "ADMIN").await.expect(200);
        }
        if !before.contains(&"USER") {
            server.change_role(&root, &user, "REMOVE", "USER").await.expect(200);
        }
        assert_eq!(roles(&by_id(&server, &root, &user).await), before, "before {action} {role}");
        let answer = server.change_role(&root, &user, action, role).await.expect(200);
        assert_eq!(answer.json(), json!({ "message": "success", "data": null }));
        assert_eq!(roles(&by_id(&server, &root, &user).await), after, "{action} {role} to {before:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_role_takes_effect_on_the_next_request() {
    let server = Server::start().await;
    let (root, alice) = (server.root().await, server.user("alice").await);
    for (action, role, lists_users, reads_feed) in [
        ("REMOVE", "ADMIN", 403, 200),
        ("ADD", "ADMIN", 200, 200),
        ("REMOVE", "USER", 200, 200),
        ("REMOVE", "ADMIN", 403, 403),
        ("ADD", "USER", 403, 200),
    ] {
        server.change_role(&root, &alice, action, role).await.expect(200);
        server.get(&alice, ALL).await.expect(lists_users);
        server.get(&alice, "/api/posts/following/all").await.expect(reads_feed);
        assert_eq!(server.get(&alice, ME).await.expect(200).data()["username"], "alice");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_change_of_role_names_its_fields() {
    let server = Server::start().await;
    let (root, alice) = (server.root().await, server.user("alice").await);
    let invalid: [(Value, &[&str]); 9] = [
        (json!({ "roleId": "OWNER", "action": "ADD" }), &["roleId"]),
        (json!({ "roleId": "ROLE_ADMIN", "action": "ADD" }), &["roleId"]),
        (json!({ "roleId": null, "action": "ADD" }), &["roleId"]),
        (json!({ "roleId": 1, "action": "ADD" }), &["roleId"]),
        (json!({ "action": "REMOVE" }), &["roleId"]),
        (json!({ "roleId": "ADMIN", "action": "SET" }), &["action"]),
        (json!({ "roleId": "ADMIN", "action": true }), &["action"]),
        (json!({ "roleId": "ADMIN" }), &["action"]),
        (json!({}), &["action", "roleId"]),
    ];
    for (body, fields) in invalid {
        server.call_json(&root, Method::PUT, &update(&alice.id), body).await.expect_invalid(fields);
    }
    assert_eq!(roles(&by_id(&server, &root, &alice).await), ["USER"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_account_is_reported_before_an_invalid_body() {
    let server = Server::start().await;
    let root = server.root().await;
    for path in [update(UNKNOWN), enabled(UNKNOWN)] {
        server.call_json(&root, Method::PUT, &path, json!({})).await.expect_error(404, "User not found");
        let text = server.request(Method::PUT, &path).bearer_auth(&root.token).body("text");
        server.send(text).await.expect_error(404, "User not found");
    }
    for path in [update("alice"), enabled("alice")] {
        let answer = server.call_json(&root, Method::PUT, &path, json!({})).await.expect(400).json();
        assert!(answer["message"].as_str().unwrap().starts_with("userId "), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_enabled_administrator_cannot_lose_the_role_or_be_disabled() {
    let server = Server::start().await;
    let (root, alice) = (server.root().await, server.user("alice").await);
    let refuse_both = async || {
        for refused in
            [server.change_role(&root, &root, "REMOVE", "ADMIN").await, set_enabled(&server, &root, &root, false).await]
        {
            let answer = refused.expect_failure(400).json();
            assert_eq!(answer.get("data"), None, "no field is to blame");
        }
        assert_includes(&by_id(&server, &root, &root).await, &json!({ "enabled": true }));
    };
    refuse_both().await;
    // A disabled administrator does not count.
    server.change_role(&root, &alice, "ADD", "ADMIN").await.expect(200);
    set_enabled(&server, &root, &alice, false).await.expect(200);
    refuse_both().await;
    set_enabled(&server, &root, &alice, true).await.expect(200);
    server.change_role(&root, &root, "REMOVE", "ADMIN").await.expect(200);
    server.get(&root, ALL).await.expect(403);
    server.get(&server.log_in("alice").await, ALL).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_administrators_cannot_remove_each_others_role_concurrently() {
    let server = Server::start().await;
    let (root, alice) = (server.root().await, server.user("alice").await);
    server.change_role(&root, &alice, "ADD", "ADMIN").await.expect(200);
    let (one, other) = tokio::join!(
        server.change_role(&root, &alice, "REMOVE", "ADMIN"),
        server.change_role(&alice, &root, "REMOVE", "ADMIN"),
    );
    let mut statuses = [one.status, other.status];
    statuses.sort_unstable();
    // The slower request is refused, as it is about the last administrator, or its caller has lost the role by then.
    assert!(matches!(statuses, [200, 400 | 403]), "{statuses:?}");
    let remaining = [server.get(&root, ALL).await, server.get(&alice, ALL).await];
    assert_eq!(remaining.iter().filter(|answer| answer.status == 200).count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_account_is_locked_out_at_once_until_it_is_enabled() {
    let server = Server::start().await;
    let (root, alice, bob) = (server.root().await, server.user("alice").await, server.user("bob").await);
    let elsewhere = server.log_in("alice").await;
    let answer = set_enabled(&server, &root, &alice, false).await.expect(200);
    assert_eq!(answer.json(), json!({ "message": "success", "data": null }));
    for session in [&alice, &elsewhere] {
        server.get(session, ME).await.expect(401);
    }
    server.login("alice", PASSWORD).await.expect_error(401, "Invalid credentials");
    server.get(&bob, ME).await.expect(200);
    let standing = json!({ "enabled": false, "accountNonExpired": true, "accountNonLocked": true });
    assert_includes(&by_id(&server, &root, &alice).await, &standing);
    let all = server.get(&root, ALL).await.expect(200).data();
    let shown: Vec<_> = all.as_array().unwrap().iter().map(|account| account["enabled"].clone()).collect();
    assert_eq!(shown, [true, false, true]);

    set_enabled(&server, &root, &alice, false).await.expect(200);
    set_enabled(&server, &root, &alice, true).await.expect(200);
    server.get(&alice, ME).await.expect(401);
    let again = server.log_in("alice").await;
    assert_includes(&server.get(&again, ME).await.data(), &json!({ "enabled": true }));
    set_enabled(&server, &root, &alice, true).await.expect(200);
    server.get(&again, ME).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn enabled_is_true_or_false() {
    let server = Server::start().await;
    let (root, alice) = (server.root().await, server.user("alice").await);
    for body in [json!({}), json!({ "enabled": null }), json!({ "enabled": "false" }), json!({ "enabled": 0 })] {
        server.call_json(&root, Method::PUT, &enabled(&alice.id), body).await.expect_invalid(&["enabled"]);
    }
    server.get(&alice, ME).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn users_change_their_biography_with_json() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let longest = "ü".repeat(1000);
    for (body, expected) in [
        (json!({ "biography": "  Hello.\nI am Alice. " }), json!("Hello.\nI am Alice.")),
        (json!({}), json!("Hello.\nI am Alice.")),
        (json!({ "biography": " " }), json!(null)),
        (json!({ "biography": longest }), json!(longest)),
    ] {
        let answer = server.call_json(&alice, Method::PUT, ME, body).await.expect(200).json();
        assert_eq!(answer["message"], "success");
        let fields = json!({ "id": alice.id, "username": "alice", "biography": expected, "profilePicture": null });
        assert_includes(&answer["data"], &fields);
        assert_eq!(answer["data"], server.get(&alice, ME).await.data());
    }
    for biography in [json!("ü".repeat(1001)), json!("a\0b"), json!(5)] {
        let body = json!({ "biography": biography });
        server.call_json(&alice, Method::PUT, ME, body).await.expect_invalid(&["biography"]);
    }
    assert_eq!(server.get(&alice, ME).await.data()["biography"], json!(longest));
}

#[tokio::test(flavor = "multi_thread")]
async fn users_change_biography_and_picture_with_a_form() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let form = picture(png(1)).text("biography", " Hi ").text("unknown", "ignored");
    let account = server.call_form(&alice, Method::PUT, ME, form).await.expect(200).data();
    assert_eq!(account["biography"], "Hi");
    let first = picture_path(&account);
    let served = server.fetch(&first).await.expect(200);
    assert_eq!(served.header(CONTENT_TYPE), Some("image/png"));
    assert_eq!(image::load_from_memory(&served.body).unwrap().to_rgb8().get_pixel(0, 0), &Rgb([1; 3]));

    // Fields that are not given stay unchanged.
    let text = Form::new().text("biography", "Hello");
    let account = server.call_form(&alice, Method::PUT, ME, text).await.expect(200).data();
    assert_eq!((account["biography"].as_str(), picture_path(&account)), (Some("Hello"), first.clone()));

    let replaced = server.call_form(&alice, Method::PUT, ME, picture(png(2))).await.expect(200).data();
    let second = picture_path(&replaced);
    let small = format!("{second}.thumb.jpg");
    assert!(replaced["profilePictureThumbnail"].as_str().unwrap().ends_with(&small), "{replaced}");
    assert_eq!(server.fetch(&small).await.expect(200).header(CONTENT_TYPE), Some("image/jpeg"));
    assert_eq!((replaced["biography"].as_str(), second != first), (Some("Hello"), true));
    server.fetch(&first).await.expect(404);
    server.fetch(&second).await.expect(200);
    server.fetch(&format!("{first}.thumb.jpg")).await.expect(404);

    let post = server.publish(&alice, "text", "PUBLIC").await;
    let shown = ["profilePicture", "profilePictureThumbnail", "biography"];
    let shown = |user: &Value| shown.map(|field| user[field].clone());
    for (path, user) in [
        (format!("/api/posts/by-id/{post}"), "/author"),
        ("/api/posts/public".to_owned(), "/0/author"),
        (format!("/api/users/{}/profile", alice.id), ""),
    ] {
        let answer = server.get(&alice, &path).await.expect(200).data();
        assert_eq!(shown(answer.pointer(user).unwrap()), shown(&replaced), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_is_removed_unless_a_new_one_is_sent_as_well() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let first = picture_path(&server.call_form(&alice, Method::PUT, ME, picture(png(1))).await.expect(200).data());
    let remove =
        async |flag: Value| server.call_json(&alice, Method::PUT, ME, json!({ "removeProfilePicture": flag })).await;
    assert_eq!(picture_path(&remove(json!(false)).await.expect(200).data()), first);
    remove(json!("true")).await.expect_invalid(&["removeProfilePicture"]);
    let none = |account: &Value| {
        assert_eq!([&account["profilePicture"], &account["profilePictureThumbnail"]], [&Value::Null; 2])
    };
    none(&remove(json!(true)).await.expect(200).data());
    none(&server.get(&alice, ME).await.data());
    server.fetch(&first).await.expect(404);
    none(&remove(json!(true)).await.expect(200).data());

    let second = picture(png(2)).text("removeProfilePicture", "true");
    let second = picture_path(&server.call_form(&alice, Method::PUT, ME, second).await.expect(200).data());
    server.fetch(&second).await.expect(200);
    let form = Form::new().text("removeProfilePicture", "true").text("biography", "Hi");
    let account = server.call_form(&alice, Method::PUT, ME, form).await.expect(200).data();
    none(&account);
    assert_eq!(account["biography"], "Hi");
    server.fetch(&second).await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_profile_changes_nothing() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let before = server.call_form(&alice, Method::PUT, ME, picture(png(1))).await.expect(200).data();
    let long = || "x".repeat(1001);
    let half = |bytes: Vec<u8>| bytes[..bytes.len() / 2].to_vec();
    let invalid: [(Form, &[&str]); 6] = [
        (picture(b"no picture".to_vec()).text("biography", "new"), &["profilePicture"]),
        (picture(half(png(3))), &["profilePicture"]),
        (picture(Vec::new()), &["profilePicture"]),
        (picture(png(3)).text("biography", long()), &["biography"]),
        (picture(b"no picture".to_vec()).text("biography", long()), &["biography", "profilePicture"]),
        (Form::new().text("biography", "a\0b"), &["biography"]),
    ];
    for (form, fields) in invalid {
        server.call_form(&alice, Method::PUT, ME, form).await.expect_invalid(fields);
    }
    assert_eq!(server.get(&alice, ME).await.data(), before);
    server.fetch(&picture_path(&before)).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_change_is_a_form_or_json() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for content_type in ["text/plain", "application/x-www-form-urlencoded", "image/png"] {
        let request = server.request(Method::PUT, ME).bearer_auth(&alice.token);
        let request = request.header(CONTENT_TYPE, content_type).body("biography=new");
        server.send(request).await.expect(415);
    }
    assert_eq!(server.get(&alice, ME).await.data()["biography"], json!(null));
}
