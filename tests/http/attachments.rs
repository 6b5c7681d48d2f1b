//! Posts with several images: uploads, how images are shown, and how they change.

use image::{ImageFormat, Rgb, RgbImage};
use reqwest::header::CONTENT_TYPE;
use reqwest::multipart::{Form, Part};
use reqwest::{Method, header};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::client::list;
use crate::images::png;
use crate::support::{PUBLIC_URL, Response, Server, User};

const MEDIA: &str = "/api/media";
const CREATE: &str = "/api/posts/create";

fn form(file: Vec<u8>) -> Form {
    Form::new().part("image", Part::bytes(file).file_name("picture.png"))
}

/// Uploads a small image. Returns the JSON of the upload.
async fn upload(server: &Server, owner: &User, alt: &str) -> Value {
    let form = form(png()).text("alt", alt.to_owned());
    server.call_form(owner, Method::POST, MEDIA, form).await.expect(201).data()
}

async fn uploads<const N: usize>(server: &Server, owner: &User) -> [Value; N] {
    let mut uploads = [const { Value::Null }; N];
    for (n, uploaded) in uploads.iter_mut().enumerate() {
        *uploaded = upload(server, owner, &format!("picture {n}")).await;
    }
    uploads
}

fn ids(attachments: &[&Value]) -> Value {
    attachments.iter().map(|attachment| attachment["id"].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn images_are_uploaded_only_as_a_form() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let refused = server.call_json(&alice, Method::POST, MEDIA, json!({})).await.expect(415).json();
    assert!(!refused.to_string().contains("json"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_media_ids_are_the_only_violation_of_a_post_without_text() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let unknown = Uuid::from_u128(1);
    for ids in [json!(["zz"]), json!([unknown, unknown])] {
        let refused =
            server.call_json(&alice, Method::POST, CREATE, json!({ "mediaIds": ids })).await.expect(400).json();
        let wrong: Vec<_> = refused["data"].as_object().unwrap().keys().collect();
        assert_eq!(wrong, ["mediaIds"], "{refused}");
    }
}

async fn publish(server: &Server, author: &User, attachments: &[&Value]) -> Response {
    let body = json!({ "text": "Look", "mediaIds": ids(attachments) });
    server.call_json(author, Method::POST, CREATE, body).await
}

async fn change(server: &Server, author: &User, post: &Value, body: Value) -> Response {
    let path = format!("/api/posts/update/{}", post["id"].as_str().unwrap());
    server.call_json(author, Method::PUT, &path, body).await
}

fn path(address: &Value) -> &str {
    address.as_str().unwrap().strip_prefix(PUBLIC_URL).unwrap()
}

/// Checks that both files of each image are served, or that none is.
async fn expect_files(server: &Server, attachments: &[&Value], status: u16) {
    for attachment in attachments {
        for address in ["url", "thumbnailUrl"] {
            server.fetch(path(&attachment[address])).await.expect(status);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_returns_its_size_alt_text_and_thumbnail() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let mut file = std::io::Cursor::new(Vec::new());
    let red = RgbImage::from_pixel(900, 300, Rgb([200, 30, 30]));
    red.write_to(&mut file, ImageFormat::Png).unwrap();
    let form = form(file.into_inner()).text("alt", " A red\nwall ");
    let uploaded = server.call_form(&alice, Method::POST, MEDIA, form).await.expect(201);
    assert_eq!(uploaded.json()["message"], "Image uploaded successfully");
    let attachment = uploaded.data();
    assert_eq!((&attachment["width"], &attachment["height"]), (&json!(900), &json!(300)));
    assert_eq!(attachment["alt"], "A red\nwall");
    let stem = attachment["id"].as_str().unwrap().parse::<Uuid>().unwrap().simple().to_string();
    assert_eq!(path(&attachment["url"]), format!("/media/{stem}.png"));
    let blurhash = attachment["blurhash"].as_str().unwrap();
    assert!(blurhash.is_ascii() && (6..=40).contains(&blurhash.len()), "{blurhash}");

    let thumbnail = server.fetch(path(&attachment["thumbnailUrl"])).await.expect(200);
    assert_eq!(thumbnail.header(CONTENT_TYPE), Some("image/jpeg"));
    assert_eq!(thumbnail.header(header::CACHE_CONTROL), Some("public, max-age=31536000, immutable"));
    let picture = image::load_from_memory_with_format(&thumbnail.body, ImageFormat::Jpeg).unwrap().to_rgb8();
    assert_eq!(picture.dimensions(), (400, 133));
    let Rgb([r, g, b]) = *picture.get_pixel(200, 60);
    assert!((190..=210).contains(&r) && (20..=40).contains(&g) && (20..=40).contains(&b), "{r} {g} {b}");
    let tag = thumbnail.header(header::ETAG).unwrap();
    let known = server.request(Method::GET, path(&attachment["thumbnailUrl"])).header(header::IF_NONE_MATCH, tag);
    server.send(known).await.expect(304);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_upload_is_refused_naming_every_invalid_field() {
    let server = Server::start_with(|config| config.max_image_bytes = 10_000).await;
    let alice = server.user("alice").await;
    let long = "x".repeat(1501);
    let call = async |form| server.call_form(&alice, Method::POST, MEDIA, form).await;
    call(Form::new().text("alt", "nothing")).await.expect_invalid(&["image"]);
    call(form(b"no image".to_vec()).text("alt", long.clone())).await.expect_invalid(&["alt", "image"]);
    call(form(png()).text("alt", long)).await.expect_invalid(&["alt"]);
    call(form(png()).text("alt", "a\0b")).await.expect_invalid(&["alt"]);
    call(form(vec![0; 10_001])).await.expect_failure(413);
    let blank = call(form(png()).text("alt", "  ")).await.expect(201).data();
    assert_eq!(blank["alt"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_shows_its_images_in_the_order_of_media_ids() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let [one, two, three, four] = uploads(&server, &alice).await;
    let post = publish(&server, &alice, &[&three, &one, &four, &two]).await.expect(201).data();
    assert_eq!(post["attachments"], json!([three, one, four, two]));
    assert_eq!(post["image"], three["url"]);
    let id = post["id"].as_str().unwrap();
    assert_eq!(server.view(&bob, id).await["attachments"], post["attachments"]);
    server.follow(&bob, &alice).await;
    let user_posts = format!("/api/posts/{}/all", alice.id);
    for path in ["/api/posts/public", "/api/posts/following/all", &user_posts] {
        let listed = server.get(&bob, path).await.expect(200).data();
        assert_eq!(listed[0]["attachments"], post["attachments"], "{path}");
    }
    expect_files(&server, &[&one, &two, &three, &four], 200).await;

    // A post needs no text if it has an image, and no image if it has a text.
    let only = upload(&server, &alice, "").await;
    let body = json!({ "mediaIds": [only["id"]] });
    let without_text = server.call_json(&alice, Method::POST, CREATE, body).await.expect(201).data();
    assert_eq!(without_text["attachments"], json!([only]));
    let without_image = publish(&server, &alice, &[]).await.expect(201).data();
    assert_eq!((&without_image["attachments"], &without_image["image"]), (&json!([]), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_in_a_form_is_returned_like_an_upload() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let post = server.post(&alice, "Look", Some(&png())).await;
    let [attachment] = list(&post["attachments"]) else { panic!("{post}") };
    assert_eq!(attachment["url"], post["image"]);
    assert_eq!((&attachment["width"], &attachment["height"]), (&json!(32), &json!(16)));
    assert_eq!(attachment["alt"], Value::Null);
    expect_files(&server, &[attachment], 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn media_ids_are_up_to_four_distinct_unused_uploads_of_the_caller() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let [one, two, three, four, five] = uploads(&server, &alice).await;
    publish(&server, &bob, &[&one]).await.expect_invalid(&["mediaIds"]);
    publish(&server, &alice, &[&one, &one]).await.expect_invalid(&["mediaIds"]);
    publish(&server, &alice, &[&one, &two, &three, &four, &five]).await.expect_invalid(&["mediaIds"]);
    publish(&server, &alice, &[&one, &json!({ "id": Uuid::from_u128(1) })]).await.expect_invalid(&["mediaIds"]);
    for invalid in [json!("text"), json!([1]), json!(["no id"]), json!([null]), json!({})] {
        let body = json!({ "text": "Look", "mediaIds": invalid });
        server.call_json(&alice, Method::POST, CREATE, body).await.expect_invalid(&["mediaIds"]);
    }
    // Refused requests have not used up any uploads.
    let post = publish(&server, &alice, &[&one, &two]).await.expect(201).data();
    publish(&server, &alice, &[&three, &two]).await.expect_invalid(&["mediaIds"]);
    let other = publish(&server, &alice, &[&three]).await.expect(201).data();
    change(&server, &alice, &other, json!({ "mediaIds": ids(&[&three, &one]) })).await.expect_invalid(&["mediaIds"]);
    let posts = server.get(&alice, &format!("/api/posts/{}/all", alice.id)).await.expect(200);
    assert_eq!(posts.data(), json!([other, post]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_reorders_adds_and_removes_images_and_removed_ones_are_gone() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let [one, two, three, four] = uploads(&server, &alice).await;
    let post = publish(&server, &alice, &[&one, &two, &three]).await.expect(201).data();
    let changed = async |body| change(&server, &alice, &post, body).await.expect(200).data();
    assert_eq!(changed(json!({ "text": "Words" })).await["attachments"], json!([one, two, three]));
    let body = json!({ "mediaIds": ids(&[&three, &four, &one]) });
    assert_eq!(changed(body).await["attachments"], json!([three, four, one]));
    expect_files(&server, &[&two], 404).await;
    expect_files(&server, &[&one, &three, &four], 200).await;
    // An image in a form replaces all images.
    let update = format!("/api/posts/update/{}", post["id"].as_str().unwrap());
    let replaced = server.call_form(&alice, Method::PUT, &update, form(png())).await.expect(200).data();
    let [new] = list(&replaced["attachments"]) else { panic!("{replaced}") };
    expect_files(&server, &[&one, &three, &four], 404).await;
    expect_files(&server, &[new], 200).await;
    assert_eq!(changed(json!({ "removeImage": true })).await["attachments"], json!([]));
    expect_files(&server, &[new], 404).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn images_are_deleted_with_their_post_and_get_new_addresses_when_it_is_hidden() {
    let server = Server::start().await;
    let (alice, root) = (server.user("alice").await, server.root().await);
    let [one, two] = uploads(&server, &alice).await;
    let post = publish(&server, &alice, &[&one, &two]).await.expect(201).data();
    let id = post["id"].as_str().unwrap();
    let hide = async |hidden: bool| {
        let body = json!({ "hidden": hidden, "reason": "Not for children" });
        server.call_json(&root, Method::PUT, &format!("/api/admin/posts/{id}/hidden"), body).await.expect(200);
    };
    hide(true).await;
    for viewer in [&alice, &root] {
        let hidden = server.view(viewer, id).await;
        assert_eq!((&hidden["attachments"], &hidden["image"]), (&json!([]), &Value::Null));
    }
    expect_files(&server, &[&one, &two], 404).await;
    hide(false).await;
    let shown = server.view(&alice, id).await;
    let again = list(&shown["attachments"]);
    assert_eq!(again.len(), 2);
    for (before, after) in [&one, &two].into_iter().zip(again) {
        assert_ne!(after["url"], before["url"]);
        for same in ["width", "height", "blurhash", "alt"] {
            assert_eq!(after[same], before[same]);
        }
    }
    let again = again.iter().collect::<Vec<_>>();
    expect_files(&server, &again, 200).await;
    server.call(&alice, Method::DELETE, &format!("/api/posts/delete/{id}")).await.expect(200);
    expect_files(&server, &again, 404).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retried_post_with_uploads_is_published_once() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let [one] = uploads(&server, &alice).await;
    let send = async || {
        let body = json!({ "mediaIds": [one["id"]] });
        let request = server.request_as(&alice, Method::POST, CREATE).header("Idempotency-Key", "once");
        server.send(request.json(&body)).await.expect(201).data()
    };
    assert_eq!(send().await, send().await);
    assert_eq!(list(&server.get(&alice, "/api/posts/public").await.expect(200).data()).len(), 1);
}
