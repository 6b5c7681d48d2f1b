//! A whole life: what was done before a restart is found after it.

use reqwest::Method;
use serde_json::json;

use crate::{
    api::{Api, User, expect_picture, key, list, picture, text},
    process::Home,
};

/// What the restarted service is asked for; each must answer the same as before. Addresses of images differ in the
/// port alone.
async fn everything(api: &Api, alice: &User, bob: &User, root: &User, post: &str) -> Vec<String> {
    let mut seen = Vec::new();
    for (user, path) in [
        (bob, format!("/api/posts/by-id/{post}")),
        (bob, format!("/api/posts/{}/all", alice.id)),
        (bob, "/api/posts/following/all".to_owned()),
        (bob, format!("/api/comments/all/{post}")),
        (bob, format!("/api/posts/{post}/likes")),
        (alice, format!("/api/posts/{}/all", alice.id)),
        (alice, format!("/api/follow/followers/{}", alice.id)),
        (bob, format!("/api/follow/followed/{}", bob.id)),
        (alice, "/api/users/me".to_owned()),
        (alice, "/api/products".to_owned()),
        (root, "/api/products/findAll".to_owned()),
        (root, "/api/users/all".to_owned()),
        (root, "/api/posts/all".to_owned()),
    ] {
        let answer = api.get(user, &path).await.expect(200).text();
        seen.push(answer.replace(api.url(), ""));
    }
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_loses_nothing() {
    let home = Home::new();
    let service = home.start_with_root();
    let api = &service.api;
    let (alice, bob, root) = (api.user("alice").await, api.user("bob").await, api.log_in("root").await);

    let post = api.post(&alice, "A day at the sea", Some(&picture())).await;
    let id = text(&post["id"]);
    let image = api.image(&post["image"]).await;
    expect_picture(&image);
    let private = json!({ "text": "To myself", "visibility": "PRIVATE" });
    let private = api.request_as(&alice, Method::POST, "/api/posts/create").json(&private);
    api.send(private).await.expect(201);
    api.call(&bob, Method::POST, &format!("/api/posts/like/{id}")).await.expect(200);
    api.send(api.commenting(&bob, &id, "How lovely")).await.expect(201);
    api.call(&bob, Method::POST, &format!("/api/follow/follow/{}", alice.id)).await.expect(200);
    let product = json!({
        "sku": "T-1", "name": "T-shirt", "description": "Plain", "price": 19.99, "category": "Clothes",
        "variants": [{ "color": "red", "size": "M", "stock": 3 }, { "color": "red", "size": "L", "stock": 4 }],
        "stock": 7, "images": ["https://shop.example.org/t-1.png"],
    });
    let product = api.request_as(&root, Method::POST, "/api/products").json(&product);
    api.send(product).await.expect(201);

    let feed = api.get(&bob, "/api/posts/following/all").await.expect(200).data();
    assert_eq!(list(&feed).len(), 1, "the private post is not in it: {feed}");
    let view = &list(&feed)[0];
    assert_eq!((view["likeCount"].as_u64(), view["commentCount"].as_u64()), (Some(1), Some(1)));
    let before = everything(api, &alice, &bob, &root, &id).await;
    service.stop();

    let service = home.start();
    let api = &service.api;
    // The tokens are valid still: the secret is the same.
    assert_eq!(everything(api, &alice, &bob, &root, &id).await, before);
    let address = &api.view(&bob, &id).await["image"];
    assert_eq!(key(address), key(&post["image"]));
    assert!(api.image(address).await == image, "the image differs");
    // And it goes on where it was.
    api.call(&bob, Method::POST, &format!("/api/posts/like/{id}")).await.expect(200);
    assert_eq!(api.view(&bob, &id).await["likeCount"], 0);
    api.post(&alice, "Another day", None).await;
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_another_secret_is_refused() {
    let home = Home::new();
    let service = home.start();
    let alice = service.api.user("alice").await;
    service.stop();

    let service = home.start_with(&[("AGORA_JWT_SECRET", "another secret of at least 32 bytes")]);
    service.api.get(&alice, "/api/users/me").await.expect(401);
    let again = service.api.log_in("alice").await;
    service.api.get(&again, "/api/users/me").await.expect(200);
    service.stop();

    let service = home.start();
    service.api.get(&again, "/api/users/me").await.expect(401);
    service.api.get(&alice, "/api/users/me").await.expect(200);
    service.stop();
}
