//! Outages of the bucket: only images are unavailable, and everything works again afterwards.

use std::fs;
use std::path::Path;

use reqwest::header::RETRY_AFTER;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::backend::Backend;
use crate::client::{Client, User, eventually, list, text};
use crate::crash::{age_records, record};
use crate::picture::{expect_picture, picture};
use crate::private_s3::S3Server;
use crate::process::Home;

/// Checks that a request gets the 503 of an unavailable dependency, rather than that of a request that timed out.
async fn expect_unavailable(api: &Client, request: RequestBuilder) {
    let response = api.send(request).await.expect(503);
    assert!(response.header(RETRY_AFTER).is_some());
    let envelope = json!({ "success": false, "status": 503, "code": "unavailable", "message": "The service is temporarily unavailable" });
    assert_eq!(response.json(), envelope);
}

/// Returns the status of the readiness check, and the results for database, images and migrations.
async fn readiness(api: &Client) -> (u16, [String; 3]) {
    let answer = api.fetch("/health/ready").await;
    let data = answer.data();
    (answer.status, ["database", "images", "migrations"].map(|check| text(&data[check]["status"])))
}

/// Checks that only the check of the images fails.
async fn expect_not_ready(api: &Client) {
    assert_eq!(readiness(api).await, (503, ["ok", "failed", "ok"].map(str::to_owned)));
    api.fetch("/health/live").await.expect(200);
}

/// Returns the number of files below a directory, including temporary files of unfinished writes.
fn files(directory: &Path) -> usize {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { files(&path) } else { 1 }).sum()
}

fn image_of(api: &Client, post: &Value) -> RequestBuilder {
    api.request(Method::GET, text(&post["image"]).strip_prefix(api.url()).unwrap())
}

fn update(api: &Client, author: &User, post: &Value) -> RequestBuilder {
    let image = reqwest::multipart::Part::bytes(picture()).file_name("another.png");
    let path = format!("/api/posts/update/{}", text(&post["id"]));
    api.request_as(author, Method::PUT, &path).multipart(reqwest::multipart::Form::new().part("image", image))
}

async fn expect_only_images_fail_during(outage: fn(&S3Server)) {
    let home = Home::new();
    let images = || files(&home.backend.images(&home.data_dir()));
    let service = home.start();
    let api = &service.api;
    let (alice, bob) = (api.user("alice").await, api.user("bob").await);
    let (kept, dropped) =
        (api.post(&alice, "Kept", Some(&picture())).await, api.post(&alice, "Dropped", Some(&picture())).await);
    api.call(&bob, Method::PUT, &format!("/api/follow/follow/{}", alice.id)).await.expect(200);
    let id = text(&kept["id"]);

    outage(&home.backend.s3);
    let dropping = format!("/api/posts/delete/{}", text(&dropped["id"]));
    // Concurrently, since each may wait for the bucket until a timeout.
    let (.., deleted) = tokio::join!(
        expect_not_ready(api),
        expect_unavailable(api, api.posting(&alice, "Lost", Some(&picture()))),
        expect_unavailable(api, update(api, &alice, &kept)),
        expect_unavailable(api, image_of(api, &kept)),
        api.call(&alice, Method::DELETE, &dropping),
    );
    deleted.expect(200);
    assert_eq!(images(), 4, "nothing was added, and the sweep will delete what could not be deleted");

    assert_eq!(api.view(&bob, &id).await["image"], kept["image"]);
    api.call(&bob, Method::POST, &format!("/api/posts/like/{id}")).await.expect(200);
    api.send(api.commenting(&bob, &id, "Pity")).await.expect(201);
    api.post(&alice, "Without a picture", None).await;
    let feed = api.get(&bob, "/api/posts/following/all").await.expect(200).data();
    let contents: Vec<_> = list(&feed).iter().map(|post| text(&post["content"])).collect();
    assert_eq!(contents, ["Without a picture", "Kept"]);

    home.backend.s3.recover();
    expect_picture(&api.image(&kept["image"]).await);
    let post = api.post(&alice, "Found", Some(&picture())).await;
    expect_picture(&api.image(&post["image"]).await);
    assert_eq!(images(), 6);
    let ready = async || (readiness(api).await == (200, ["ok"; 3].map(str::to_owned))).then_some(());
    eventually("the service is ready", ready).await;
    let stopped = service.stop();
    assert!(stopped.stderr.contains("request_id"), "failed requests are logged: {}", stopped.stderr);

    age_records(&home);
    let service = home.start();
    eventually("the sweep deletes what could not be deleted", async || (images() == 4).then_some(())).await;
    expect_picture(&service.api.image(&service.api.view(&bob, &id).await["image"]).await);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn only_images_fail_while_the_bucket_refuses_connections() {
    expect_only_images_fail_during(S3Server::close).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_images_fail_while_the_bucket_never_responds() {
    expect_only_images_fail_during(S3Server::hang).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_starts_while_the_bucket_is_unavailable() {
    let home = Home::new();
    home.start().stop();
    record(&home, "ffffffffffffffffffffffffffffffff.png", Backend::LONG_AGO);
    home.backend.s3.close();
    let service = home.start();
    let api = &service.api;
    eventually("the operator is warned", async || service.log().contains("sweep of images failed").then_some(())).await;
    let alice = api.user("alice").await;
    expect_unavailable(api, api.posting(&alice, "Lost", Some(&picture()))).await;
    api.post(&alice, "Without a picture", None).await;
    home.backend.s3.recover();
    let post = api.post(&alice, "Found", Some(&picture())).await;
    expect_picture(&api.image(&post["image"]).await);
    let posts = api.get(&alice, &format!("/api/posts/{}/all", alice.id)).await.expect(200).data();
    assert_eq!(list(&posts).len(), 2);
    service.stop();
}
