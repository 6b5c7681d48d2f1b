//! Images: which are accepted, and how they are served.

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use image::{ImageFormat, RgbImage};
use reqwest::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_NONE_MATCH, IF_RANGE, LOCATION,
    RANGE, X_CONTENT_TYPE_OPTIONS,
};
use reqwest::multipart::{Form, Part};
use reqwest::{Method, RequestBuilder};
use serde_json::json;

use crate::support::{PUBLIC_URL, Response, Server, User};

const CREATE: &str = "/api/posts/create";

/// Returns an image file of this size in pixels.
fn picture(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let picture = RgbImage::from_fn(width, height, |x, y| image::Rgb([(x * 7) as u8, (y * 11) as u8, 128]));
    let mut file = Cursor::new(Vec::new());
    picture.write_to(&mut file, format).unwrap();
    file.into_inner()
}

/// Returns a small PNG.
pub(crate) fn png() -> Vec<u8> {
    picture(32, 16, ImageFormat::Png)
}

async fn upload_part(server: &Server, author: &User, part: Part) -> Response {
    server.call_form(author, Method::POST, CREATE, Form::new().part("image", part)).await
}

async fn upload(server: &Server, author: &User, file: Vec<u8>) -> Response {
    upload_part(server, author, Part::bytes(file).file_name("picture.png")).await
}

/// Returns the path under which a post's image is served.
fn image_path(post: &Response) -> String {
    let url = post.data()["image"].as_str().expect("an image").to_owned();
    url.strip_prefix(PUBLIC_URL).expect("an address under the public one").to_owned()
}

/// Starts a server with an image. Returns its path, and the bytes that are served.
async fn start_with_image() -> (Server, String, Vec<u8>) {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let path = image_path(&upload(&server, &alice, png()).await.expect(201));
    let bytes = server.fetch(&path).await.expect(200).body;
    (server, path, bytes)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_is_judged_by_its_content_alone() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for (format, media_type, ending) in [
        (ImageFormat::Png, "image/png", ".png"),
        (ImageFormat::Jpeg, "image/jpeg", ".jpg"),
        (ImageFormat::Gif, "image/gif", ".gif"),
        (ImageFormat::WebP, "image/webp", ".webp"),
    ] {
        let file = picture(32, 16, format);
        let part = || Part::bytes(file.clone());
        for part in [
            part(),
            part().file_name("../../evil.html").mime_str("text/html").unwrap(),
            part().file_name("picture.svg").mime_str("image/svg+xml").unwrap(),
            part().file_name("\u{fc}ber \"uns\".exe").mime_str("application/octet-stream").unwrap(),
        ] {
            let path = image_path(&upload_part(&server, &alice, part).await.expect(201));
            assert!(path.starts_with("/media/") && path.ends_with(ending), "{path}");
            let image = server.fetch(&path).await.expect(200);
            assert_eq!(image.header(CONTENT_TYPE), Some(media_type));
            let decoded = image::load_from_memory_with_format(&image.body, format).unwrap();
            assert_eq!((decoded.width(), decoded.height()), (32, 16));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_no_image_is_refused_whatever_type_it_claims() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let png = png();
    for file in [
        b"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1\" height=\"1\"/>".to_vec(),
        b"<!DOCTYPE html><script>alert(1)</script>".to_vec(),
        b"just words".to_vec(),
        b"%PDF-1.7\n".to_vec(),
        picture(8, 8, ImageFormat::Png)[..40].to_vec(),
        png[..png.len() / 2].to_vec(),
        b"\x89PNG\r\n\x1a\n".to_vec(),
        b"GIF89a".to_vec(),
        b"\xff\xd8\xff".to_vec(),
        b"RIFF\x04\0\0\0WEBP".to_vec(),
        Vec::new(),
    ] {
        let part = Part::bytes(file).file_name("picture.png").mime_str("image/png").unwrap();
        upload_part(&server, &alice, part).await.expect_invalid(&["image"]);
    }
    let posts = server.get(&alice, &format!("/api/posts/{}/all", alice.id)).await.expect(200);
    assert_eq!(posts.data(), json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_without_name_and_bytes_counts_as_absent() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for part in [Part::bytes(Vec::new()), Part::bytes(Vec::new()).file_name("")] {
        let form = Form::new().text("text", "words").part("image", part);
        let post = server.call_form(&alice, Method::POST, CREATE, form).await.expect(201);
        assert_eq!(post.data()["image"], json!(null));
    }
    upload_part(&server, &alice, Part::bytes(Vec::new())).await.expect_invalid(&["text"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_may_have_exactly_as_many_bytes_as_the_limit() {
    let file = png();
    let limit = u32::try_from(file.len()).unwrap();
    let server = Server::start_with(|config| config.max_image_bytes = limit).await;
    let alice = server.user("alice").await;
    let before = upload(&server, &alice, file.clone()).await.expect(201).data();
    let one_more = [file, vec![0]].concat();
    upload(&server, &alice, one_more.clone()).await.expect_failure(413);
    let form = Form::new().text("text", "new").part("image", Part::bytes(one_more));
    let update = format!("/api/posts/update/{}", before["id"].as_str().unwrap());
    server.call_form(&alice, Method::PUT, &update, form).await.expect_failure(413);
    let posts = server.get(&alice, &format!("/api/posts/{}/all", alice.id)).await.expect(200);
    assert_eq!(posts.data(), json!([before]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_sends_all_of_a_too_large_file_receives_the_refusal() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for mebibytes in [6, 20] {
        upload(&server, &alice, vec![0; mebibytes * 1024 * 1024]).await.expect_failure(413);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_may_have_exactly_as_many_pixels_as_the_limit() {
    let server = Server::start_with(|config| config.max_image_pixels = 32 * 16).await;
    let alice = server.user("alice").await;
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
        upload(&server, &alice, picture(32, 16, format)).await.expect(201);
        upload(&server, &alice, picture(33, 16, format)).await.expect_failure(413);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_whose_check_needs_more_memory_than_the_limit_is_refused() {
    let server = Server::start_with(|config| config.decode_memory = 4 << 20).await;
    let alice = server.user("alice").await;
    upload(&server, &alice, picture(200, 200, ImageFormat::Jpeg)).await.expect(201);
    let refused = upload(&server, &alice, picture(1000, 1000, ImageFormat::Jpeg)).await.expect_failure(413);
    let message = refused.json()["message"].as_str().unwrap().to_owned();
    assert!(message.ends_with(" of memory to be checked, and 4 MiB at most are given to one"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn served_images_have_no_metadata() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let place = b"GPS 48.8584N 2.2945E";
    let jpeg = picture(32, 16, ImageFormat::Jpeg);
    let exif = [b"Exif\0\0II*\0\x08\0\0\0\0\0\0\0\0\0".as_slice(), place].concat();
    let length = u16::try_from(exif.len() + 2).unwrap().to_be_bytes();
    let file = [&jpeg[..2], &[0xff, 0xe1], &length, &exif, &jpeg[2..]].concat();
    let path = image_path(&upload(&server, &alice, file).await.expect(201));
    let served = server.fetch(&path).await.expect(200).body;
    assert!(!served.windows(place.len()).any(|window| window == place));
    assert!(!served.windows(4).any(|window| window == b"Exif"));
}

#[tokio::test(flavor = "multi_thread")]
async fn image_addresses_are_random_rather_than_derived_from_the_file() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let mut paths = Vec::new();
    for _ in 0..2 {
        let part = Part::bytes(png()).file_name("holiday.png");
        paths.push(image_path(&upload_part(&server, &alice, part).await.expect(201)));
    }
    assert!(paths[0] != paths[1] && !paths[0].contains("holiday"), "{paths:?}");
    let unguessable = |path: &String| path.trim_start_matches("/media/").split('.').next().unwrap().len() >= 22;
    assert!(paths.iter().all(unguessable), "{paths:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn images_are_served_with_long_caching_and_nosniff() {
    let (server, path, bytes) = start_with_image().await;
    let length = bytes.len().to_string();
    for method in [Method::GET, Method::HEAD] {
        let answer = server.send(server.request(method.clone(), &path)).await.expect(200);
        for (name, value) in [
            (CONTENT_TYPE, "image/png"),
            (CONTENT_LENGTH, &length),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (CACHE_CONTROL, "public, max-age=31536000, immutable"),
            (ACCEPT_RANGES, "bytes"),
        ] {
            assert_eq!(answer.header(name.clone()), Some(value), "{method} {name}");
        }
        assert!(answer.header(ETAG).is_some_and(|tag| tag.starts_with('"') && tag.ends_with('"')), "{answer:?}");
        let expected: &[u8] = if method == Method::GET { &bytes } else { &[] };
        assert_eq!(answer.body, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_with_a_matching_if_none_match_is_answered_304() {
    let (server, path, _) = start_with_image().await;
    let tag = server.fetch(&path).await.header(ETAG).unwrap().to_owned();
    for (given, status) in [
        (tag.clone(), 304),
        (format!("W/{tag}"), 304),
        (format!("\"other\", {tag}"), 304),
        ("*".to_owned(), 304),
        ("\"other\"".to_owned(), 200),
    ] {
        for method in [Method::GET, Method::HEAD] {
            let answer = server.send(server.request(method, &path).header(IF_NONE_MATCH, &given)).await.expect(status);
            assert_eq!(answer.header(ETAG), Some(tag.as_str()));
            assert!(status == 200 || answer.body.is_empty());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_range_is_served_and_anything_else_is_the_whole_image() {
    let (server, path, bytes) = start_with_image().await;
    let size = bytes.len();
    let tag = server.fetch(&path).await.header(ETAG).unwrap().to_owned();
    let get = |range: &str| server.request(Method::GET, &path).header(RANGE, range);

    let partial = async |request: RequestBuilder, range: std::ops::Range<usize>| {
        let answer = server.send(request).await.expect(206);
        let expected = format!("bytes {}-{}/{size}", range.start, range.end - 1);
        assert_eq!(answer.header(CONTENT_RANGE), Some(expected.as_str()));
        assert_eq!(answer.header(CONTENT_TYPE), Some("image/png"));
        assert_eq!(answer.header(X_CONTENT_TYPE_OPTIONS), Some("nosniff"));
        assert_eq!(answer.body, bytes[range]);
    };
    partial(get("bytes=0-3"), 0..4).await;
    partial(get("bytes=5-5"), 5..6).await;
    partial(get("bytes=-7"), size - 7..size).await;
    partial(get("bytes=10-"), 10..size).await;
    partial(get("bytes=10-99999999999999999999999"), 10..size).await;
    partial(get("bytes=-1000000"), 0..size).await;
    partial(get("bytes=0-3").header(IF_RANGE, &tag), 0..4).await;

    for whole in [
        get("bytes=0-3,5-6"),
        get("bytes=3-0"),
        get("bytes=a-b"),
        get("bytes"),
        get("lines=0-3"),
        get("bytes=0-3").header(IF_RANGE, "\"other\""),
        get("bytes=0-3").header(IF_RANGE, format!("W/{tag}")),
        get("bytes=0-3").header(IF_RANGE, "Wed, 21 Oct 2015 07:28:00 GMT"),
    ] {
        let answer = server.send(whole).await.expect(200);
        assert_eq!((answer.header(CONTENT_RANGE), &answer.body), (None, &bytes));
    }
    let head = server.request(Method::HEAD, &path).header(RANGE, "bytes=0-3");
    let head = server.send(head).await.expect(200);
    assert_eq!(head.header(CONTENT_LENGTH), Some(size.to_string().as_str()), "only GET knows ranges");

    for outside in [format!("bytes={size}-"), format!("bytes={size}-{}", size + 5), "bytes=-0".to_owned()] {
        let answer = server.send(get(&outside)).await.expect_failure(416);
        assert_eq!(answer.header(CONTENT_RANGE), Some(format!("bytes */{size}").as_str()), "{outside}");
    }
    server.send(get("bytes=0-3").header(IF_NONE_MATCH, &tag)).await.expect(304);
}

/// The public URL of images, in tests where they are not served by the service.
const CDN: &str = "https://cdn.example.org/agora";

/// Starts a server whose images are served from elsewhere.
async fn start_with_public_url() -> Server {
    Server::start_with(|config| config.media_public_url = Some(CDN.to_owned())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn image_addresses_begin_with_the_public_url_of_images_if_configured() {
    let server = start_with_public_url().await;
    let (alice, root) = (server.user("alice").await, server.root().await);
    let picture = || Form::new().part("profilePicture", Part::bytes(png()));
    let mut profile = server.call_form(&alice, Method::PUT, "/api/users/me", picture()).await.expect(200).data();
    let mut post = upload(&server, &alice, png()).await.expect(201).data();
    let id = post["id"].as_str().unwrap().to_owned();
    server.call(&alice, Method::PUT, &format!("/api/posts/like/{id}")).await.expect(200);
    server.call_json(&alice, Method::POST, "/api/comments/create", json!({ "postId": id, "content": "Mine" })).await;
    server.follow(&root, &alice).await;

    let object = |image: &serde_json::Value| {
        let url = image.as_str().expect("an address").to_owned();
        let path = url.strip_prefix(&format!("{CDN}/")).expect("an address below the public base").to_owned();
        let (folder, key) = path.split_once('/').expect("the path of an object");
        assert!(folder == &key[..2] && key.ends_with(".png"), "{path}");
    };
    object(&profile["profilePicture"].take());
    object(&post["image"].take());
    for (user, path) in [
        (&alice, format!("/api/posts/by-id/{id}")),
        (&alice, format!("/api/posts/{}/all", alice.id)),
        (&root, "/api/posts/following/all".to_owned()),
        (&root, "/api/posts/all".to_owned()),
        (&alice, format!("/api/posts/{id}/likes")),
        (&alice, format!("/api/comments/all/{id}")),
        (&alice, "/api/users/me".to_owned()),
        (&root, "/api/users/all".to_owned()),
    ] {
        let answer = server.get(user, &path).await.expect(200);
        let text = String::from_utf8(answer.body).unwrap();
        assert!(text.contains(CDN) && !text.contains("/media/"), "{path}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_for_images_served_from_elsewhere_are_redirected() {
    let server = start_with_public_url().await;
    let key = "abababababababababababababababab.png";
    for method in [Method::GET, Method::HEAD] {
        for header in [None, Some((RANGE, "bytes=0-3")), Some((IF_NONE_MATCH, "*"))] {
            let mut request = server.request(method.clone(), &format!("/media/{key}"));
            if let Some((name, value)) = header {
                request = request.header(name, value);
            }
            let answer = server.send(request).await.expect(307);
            assert_eq!(answer.header(LOCATION), Some(format!("{CDN}/ab/{key}").as_str()));
            assert_eq!(answer.header(CACHE_CONTROL), Some("public, max-age=3600"));
            assert_eq!(answer.header(X_CONTENT_TYPE_OPTIONS), Some("nosniff"));
            assert!(answer.body.is_empty());
        }
        for bad in ["abc.png", "..%2f..%2fetc%2fpasswd", &key.to_uppercase(), &format!("{key}.png")] {
            let answer = server.send(server.request(method.clone(), &format!("/media/{bad}"))).await.expect(404);
            assert_eq!(answer.header(LOCATION), None);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn replaced_and_removed_images_and_those_of_deleted_posts_are_gone() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let form = || Form::new().text("text", "words");
    let with_image = || form().part("image", Part::bytes(png()));
    for (method, action, form) in [
        (Method::PUT, "update", Some(with_image())),
        (Method::PUT, "update", Some(with_image().text("removeImage", "true"))),
        (Method::PUT, "update", Some(form().text("removeImage", "true"))),
        (Method::DELETE, "delete", None),
    ] {
        let post = server.call_form(&alice, Method::POST, CREATE, with_image()).await.expect(201);
        let path = image_path(&post);
        server.fetch(&path).await.expect(200);
        let target = format!("/api/posts/{action}/{}", post.data()["id"].as_str().unwrap());
        let request = server.request(method, &target).bearer_auth(&alice.token);
        let answer = server.send(match form {
            Some(form) => request.multipart(form),
            None => request,
        });
        let after = answer.await.expect(200);
        server.fetch(&path).await.expect_error(404, "Image not found");
        if after.data()["image"].is_string() {
            server.fetch(&image_path(&after)).await.expect(200);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_path_traverses_out_of_the_image_store() {
    let (server, path, _) = start_with_image().await;
    let key = path.trim_start_matches("/media/");
    for name in [
        "../etc/passwd",
        "../../../../etc/passwd",
        "..%2f..%2fetc%2fpasswd",
        "%2e%2e/%2e%2e/etc/passwd",
        "%2e%2e%2fagora.db",
        "..%252f..%252fetc%252fpasswd",
        "..\\..\\agora.db",
        "..%5c..%5cagora.db",
        "%2fetc%2fpasswd",
        "/etc/passwd",
        ".",
        "..",
        "",
        "%ff%fe.png",
        "%c0%ae%c0%ae%c0%af",
        &format!("./{key}/../{key}"),
        &format!("x/../{key}"),
        &key.to_uppercase(),
        &format!("{key}/"),
        &format!("{key}.png"),
        &format!("%20{key}"),
        "00000000000000000000000000000000.png",
    ] {
        for method in ["GET", "HEAD"] {
            let head = format!("{method} /media/{name} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
            let answer = server.send_raw(head.as_bytes()).expect(404);
            if method == "GET" {
                answer.expect_failure(404);
            }
        }
    }
}

/// Returns the number of files under a directory.
fn files(directory: &Path) -> usize {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    let entries = entries.map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { files(&path) } else { 1 }).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_holds_the_images_of_posts_and_nothing_else() {
    let mut store = PathBuf::new();
    let server = Server::start_with(|config| {
        config.media_url = None;
        store = config.data_dir.join("media");
    });
    let server = server.await;
    let alice = server.user("alice").await;
    let with_image = || Form::new().part("image", Part::bytes(png()));
    for form in [
        with_image().text("text", "a".repeat(5001)),
        with_image().text("visibility", "FRIENDS"),
        with_image().text("text", "a").text("text", "b"),
    ] {
        server.call_form(&alice, Method::POST, CREATE, form).await.expect_failure(400);
        assert_eq!(files(&store), 0, "a refused post leaves no image");
    }
    let post = server.call_form(&alice, Method::POST, CREATE, with_image()).await.expect(201).data();
    assert_eq!(files(&store), 2, "the image and its thumbnail");
    let id = post["id"].as_str().unwrap();
    let update = format!("/api/posts/update/{id}");
    server.call_form(&alice, Method::PUT, &update, with_image().text("visibility", "FRIENDS")).await.expect(400);
    server.call_form(&alice, Method::PUT, &update, with_image()).await.expect(200);
    assert_eq!(files(&store), 2, "a replaced image goes");
    server.call(&alice, Method::DELETE, &format!("/api/posts/delete/{id}")).await.expect(200);
    assert_eq!(files(&store), 0, "the image of a deleted post goes");
}
