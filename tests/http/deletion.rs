//! Deleting an account.

use reqwest::Method;
use serde_json::{Value, json};

use crate::client::{PASSWORD, registration, text};
use crate::support::{Response, Server, User};

const ME: &str = "/api/users/me";

async fn delete(server: &Server, user: &User, method: Method, path: &str, password: &str) -> Response {
    server.call_json(user, method, path, json!({ "currentPassword": password })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_account_is_gone_at_once_and_its_name_stays_reserved() {
    let server = Server::start().await;
    for (name, method, path) in
        [("alice", Method::DELETE, ME.to_owned()), ("bob", Method::POST, format!("{ME}/delete"))]
    {
        let (user, cleo) = (server.user(name).await, server.user(&format!("cleo-{name}")).await);
        let other = server.log_in(name).await;
        let post = server.publish(&user, "Good morning", "PUBLIC").await;
        server.follow(&cleo, &user).await;
        delete(&server, &user, method.clone(), &path, "wrong password").await.expect_invalid(&["currentPassword"]);
        let nothing = server.call_json(&user, method.clone(), &path, json!({})).await;
        nothing.expect_invalid(&["currentPassword"]);
        let done = delete(&server, &user, method, &path, PASSWORD).await.expect(200);
        assert_eq!(done.json(), json!({ "message": "Account deleted successfully", "data": null }));
        for session in [&user, &other] {
            server.get(session, ME).await.expect(401);
        }
        let root = server.root().await;
        for viewer in [&cleo, &root] {
            let post = server.get(viewer, &format!("/api/posts/by-id/{post}")).await;
            post.expect_code(404, "post_not_found");
            let profile = server.get(viewer, &format!("/api/users/{}/profile", user.id)).await;
            profile.expect_code(404, "user_not_found");
        }
        server.get(&root, &format!("/api/users/by-id/{}", user.id)).await.expect_code(404, "user_not_found");
        let enabled = json!({ "enabled": true });
        let enabled = server.call_json(&root, Method::PUT, &format!("/api/users/{}/enabled", user.id), enabled).await;
        enabled.expect_code(404, "user_not_found");
        for identifier in [name.to_owned(), format!("{name}@example.org"), format!("DELETED {}", user.id)] {
            server.login(&identifier, PASSWORD).await.expect_code(401, "invalid_credentials");
        }
        server.register(name).await.expect_code(409, "username_taken");
        let mut same_address = registration("somebody-else");
        same_address["email"] = json!(format!("{}@EXAMPLE.org", name.to_uppercase()));
        server.register_as(same_address).await.expect_code(409, "email_taken");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_administrator_cannot_be_deleted_but_an_account_without_a_role_can() {
    let server = Server::start().await;
    let (root, alice) = (server.root().await, server.user("alice").await);
    let refused = delete(&server, &root, Method::DELETE, ME, PASSWORD).await.expect_code(400, "last_admin");
    assert_eq!(refused.json()["message"], "The last enabled ADMIN cannot lose the role, be disabled or be deleted");
    server.change_role(&root, &alice, "ADD", "ADMIN").await.expect(200);
    delete(&server, &root, Method::DELETE, ME, PASSWORD).await.expect(200);
    delete(&server, &alice, Method::DELETE, ME, PASSWORD).await.expect_code(400, "last_admin");
    let bob = server.user("bob").await;
    server.change_role(&alice, &bob, "REMOVE", "USER").await.expect(200);
    server.get(&bob, "/api/posts/public").await.expect(403);
    delete(&server, &bob, Method::DELETE, ME, PASSWORD).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_data_and_images_of_a_deleted_account_are_erased_in_the_background() {
    let server = Server::start_with(|config| config.sweep_interval = std::time::Duration::from_millis(50)).await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let mut file = std::io::Cursor::new(Vec::new());
    image::RgbImage::new(2, 2).write_to(&mut file, image::ImageFormat::Png).unwrap();
    let post = server.post(&alice, "Look", Some(file.get_ref())).await;
    let address = text(&post["image"]);
    let path = address.strip_prefix(crate::support::PUBLIC_URL).unwrap().to_owned();
    server.fetch(&path).await.expect(200);
    let of_bob = server.publish(&bob, "Mine", "PUBLIC").await;
    server.call(&alice, Method::PUT, &format!("/api/posts/like/{of_bob}")).await.expect(200);
    let comment = json!({ "postId": of_bob, "content": "Nice" });
    server.call_json(&alice, Method::POST, "/api/comments/create", comment).await.expect(201);
    server.follow(&alice, &bob).await;
    delete(&server, &alice, Method::DELETE, ME, PASSWORD).await.expect(200);
    server.wait_for_erasure().await;
    server.fetch(&path).await.expect(404);
    let view = server.view(&bob, &of_bob).await;
    assert_eq!((&view["likeCount"], &view["commentCount"]), (&json!(0), &json!(0)));
    let profile = server.get(&bob, &format!("/api/users/{}/profile", bob.id)).await.expect(200).data();
    assert_eq!(profile["followerCount"], 0);
    assert_eq!(server.get(&bob, "/api/notifications").await.expect(200).data(), Value::Array(Vec::new()));
}
