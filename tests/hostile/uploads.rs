//! Many concurrent large uploads.

use std::io::Cursor;

use bytes::Bytes;
use image::{ImageFormat, RgbImage};
use reqwest::multipart::{Form, Part};
use reqwest::{Body, Method, RequestBuilder};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::raw::Raw;
use crate::client::{Client, FORM, Response, User};
use crate::picture::{noise, turned_jpeg};
use crate::process::{HANG, Home};

const MEBIBYTE: usize = 1024 * 1024;

/// The maximum memory of the service.
const MAX_MEMORY: u64 = 300 << 20;

/// Returns a picture of one colour: a small file that takes long to decode if it has many pixels.
fn plain(width: u32, height: u32) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    RgbImage::new(width, height).write_to(&mut file, ImageFormat::WebP).unwrap();
    file.into_inner()
}

/// Returns the builder of an upload: chunked, or with an `Idempotency-Key`, or neither, depending on `n`.
fn uploading(api: &Client, user: &User, n: usize, file: &Bytes) -> RequestBuilder {
    let (length, file) = (file.len() as u64, file.clone());
    let request = api.request_as(user, Method::POST, "/api/posts/create");
    let part = match n % 3 {
        // Without a length, so that it is sent chunked.
        0 => Part::stream(Body::wrap_stream(futures_util::stream::iter([Ok::<_, std::io::Error>(file)]))),
        _ => Part::stream_with_length(Body::from(file), length),
    };
    let form = Form::new().text("text", "Look").part("image", part.file_name("large.jpg"));
    let request = if n % 3 == 1 { request.header("Idempotency-Key", format!("upload-{n}")) } else { request };
    request.multipart(form)
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_is_bounded_during_two_hundred_concurrent_uploads() {
    const UPLOADS: usize = 200;
    // So many that none exceeds its share of the queue.
    const USERS: usize = UPLOADS / 4;
    let home = Home::new();
    let service = home.start();
    let mut users = Vec::new();
    for n in 0..USERS {
        users.push(service.api.user(&format!("user{n}")).await);
    }
    let files = [Bytes::from(noise(1300)), Bytes::from(turned_jpeg(7000, 5700))];
    assert!(files.iter().all(|file| (5 * MEBIBYTE * 9 / 10..=5 * MEBIBYTE).contains(&file.len())));
    let mut uploads = JoinSet::new();
    for n in 0..UPLOADS {
        let (api, request) = (service.api.clone(), uploading(&service.api, &users[n % USERS], n, &files[n % 2]));
        uploads.spawn(async move { api.try_send(request).await });
    }
    let (mut stored, mut refused) = (0, None);
    while let Some(answer) = uploads.join_next().await {
        match answer.unwrap() {
            Some(Response { status: 201, .. }) => stored += 1,
            Some(answer) => refused = Some(answer.expect(503)),
            None => panic!("an upload got no response"),
        }
    }
    let peak = service.peak_memory();
    assert!(peak < MAX_MEMORY, "{} MiB, {stored} stored", peak >> 20);
    assert!(stored > 0, "all were refused: {refused:?}");
    service.api.post(&users[0], "After", Some(&noise(1300))).await;
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn many_uploads_of_one_account_leave_capacity_for_others() {
    // More than the queue has places.
    const UPLOADS: usize = 120;
    let home = Home::new();
    let service = home.start_with(&[("AGORA_TRUSTED_PROXIES", "127.0.0.1")]);
    let (mallory, alice) = (service.api.user("mallory").await, service.api.user("alice").await);
    let file = plain(4000, 2500);
    let mut uploads = JoinSet::new();
    for n in 0..UPLOADS {
        let request =
            service.api.posting(&mallory, "Look", Some(&file)).header("X-Forwarded-For", format!("192.0.2.{n}"));
        let api = service.api.clone();
        uploads.spawn(async move { api.send(request).await });
    }
    // From the first refusal on, the account uses its whole share.
    while uploads.join_next().await.expect("a refusal").unwrap().status != 503 {}
    service.api.post(&alice, "Look", Some(&plain(8, 8))).await;
    let answers = uploads.join_all().await;
    assert!(answers.iter().any(|answer| answer.status == 201), "all were refused");
    assert!(answers.iter().all(|answer| [201, 503].contains(&answer.status)), "{answers:?}");
    service.api.post(&mallory, "After", Some(&plain(8, 8))).await;
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_uploads_from_one_address_leave_capacity_for_others() {
    // More than the share of one address.
    const SLOW: usize = 150;
    let home = Home::new();
    let service = home.start_with(&[("AGORA_TRUSTED_PROXIES", "127.0.0.1")]);
    let (mallory, alice) = (service.api.user("mallory").await, service.api.user("alice").await);
    let mut slow = JoinSet::new();
    for n in 0..SLOW {
        // All in one /64 network, which counts as one address.
        let head = format!(
            "POST /api/posts/create HTTP/1.1\r\nHost: agora\r\n{}X-Forwarded-For: 2001:db8::{n:x}\r\n{FORM}\
             Content-Length: 5000000\r\n\r\n--b\r\n",
            mallory.authorization()
        );
        let mut raw = Raw::sending(&service.address, head.as_bytes()).await;
        slow.spawn(async move { (raw.until("\r\n\r\n").await, raw) });
    }
    // From the first refusal on, the address uses its whole share.
    let (refused, _) = timeout(HANG, slow.join_next()).await.expect("an upload is refused").unwrap().unwrap();
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    let uploading = |user: &User, from: &str| {
        service.api.send(service.api.posting(user, "Look", Some(&noise(1300))).header("X-Forwarded-For", from))
    };
    uploading(&mallory, "2001:db8::ffff").await.expect(503);
    uploading(&alice, "2001:db8:0:1::1").await.expect(201);
    drop(slow);
    service.stop();
}
