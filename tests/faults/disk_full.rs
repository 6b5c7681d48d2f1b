//! A disk is full: what needs space is refused, all else goes on, and nothing is half there.

use std::fs;
use std::process::Command;

use reqwest::multipart::{Form, Part};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::task::block_in_place;

use super::honest::{attempt, expect_refused};
use super::load::Load;
use crate::backend::Backend;
use crate::client::{Client, PASSWORD, User, eventually, key, list, text};
use crate::disk::Disk;
use crate::picture::{expect_picture, picture};
use crate::process::{Home, Service, run};

/// Starts the service of a home, whose data directory or images are on the disk.
fn start(home: &Home, disk: &Disk, variables: &[(&str, &str)]) -> Service {
    block_in_place(|| Service::start(disk.inside(&command(home, variables))))
}

fn command(home: &Home, variables: &[(&str, &str)]) -> Command {
    let mut command = home.agora(&[]);
    command.envs(variables.iter().copied());
    command
}

const ROOT: [(&str, &str); 3] =
    [("AGORA_ADMIN_USERNAME", "root"), ("AGORA_ADMIN_EMAIL", "root@example.org"), ("AGORA_ADMIN_PASSWORD", PASSWORD)];

/// A picture that takes some hundred KiB, since nothing in it is like anything else.
fn large_picture() -> Vec<u8> {
    let mut state = 1_u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let pixels = image::RgbImage::from_fn(200, 200, |_, _| image::Rgb([noise(), noise(), noise()]));
    let mut file = std::io::Cursor::new(Vec::new());
    pixels.write_to(&mut file, image::ImageFormat::Png).unwrap();
    file.into_inner()
}

/// The files of the images that rows name, in order.
async fn named(api: &Client, root: &User) -> Vec<String> {
    let mut keys = Vec::new();
    for (path, field) in [("/api/posts/all", "image"), ("/api/users/all", "profilePicture")] {
        let rows = api.get(root, path).await.expect(200).data();
        let named = list(&rows).iter().filter(|row| row[field] != Value::Null).map(|row| key(&row[field]));
        keys.extend(named.flat_map(|key| [format!("{key}.thumb.jpg"), key]));
    }
    keys.sort();
    keys
}

fn upload(api: &Client, user: &User, method: Method, path: &str, field: &'static str) -> RequestBuilder {
    let form = Form::new().part(field, Part::bytes(large_picture()).file_name("a.png"));
    api.request_as(user, method, path).multipart(form)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_of_images_refuses_images_and_nothing_else() {
    let home = Home::new();
    let pictures = home.path("pictures");
    let disk = Disk::mount(&pictures, 2048);
    let url = format!("file://{}", pictures.display());
    let service = start(&home, &disk, &[&ROOT[..], &[("AGORA_MEDIA_URL", &url)]].concat());
    let api = &service.api;
    let (alice, root) = (api.user("alice").await, api.log_in("root").await);
    let pictured = api.post(&alice, "with a picture", Some(&picture())).await;
    let plain = text(&api.post(&alice, "without", None).await["id"]);
    let before = named(api, &root).await;
    assert_eq!(disk.files(""), before);

    // Full to the last byte, and with room for a part of an image.
    for but in [0, 16, 64] {
        disk.fill(but);
        let update = format!("/api/posts/update/{plain}");
        expect_refused(attempt(upload(api, &alice, Method::POST, "/api/posts/create", "image")).await);
        expect_refused(attempt(upload(api, &alice, Method::PUT, &update, "image")).await);
        expect_refused(attempt(upload(api, &alice, Method::PUT, "/api/users/me", "profilePicture")).await);
        assert_eq!(disk.files(""), before, "something is left of what was refused");
        assert_eq!(named(api, &root).await, before);
    }
    // All else goes on.
    expect_picture(&api.image(&pictured["image"]).await);
    api.post(&alice, "still here", None).await;
    let posts = api.get(&root, "/api/posts/all").await.expect(200).data();
    let contents: Vec<_> = list(&posts).iter().map(|post| text(&post["content"])).collect();
    assert_eq!(contents, ["still here", "without", "with a picture"]);
    // And makes room.
    api.call(&alice, Method::DELETE, &format!("/api/posts/delete/{}", text(&pictured["id"]))).await.expect(200);
    assert!(disk.files("").is_empty());

    disk.empty();
    let created = upload(api, &alice, Method::POST, "/api/posts/create", "image");
    attempt(created).await.expect("an upload at once").expect(201);
    assert_eq!(disk.files(""), named(api, &root).await);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_of_the_database_refuses_writes_and_nothing_is_half_there() {
    let home = Home::new();
    let disk = Disk::mount(&home.data_dir(), 12 * 1024);
    let service = start(&home, &disk, &ROOT);
    let api = &service.api;
    let (alice, root) = (api.user("alice").await, api.log_in("root").await);
    let own = text(&api.post(&alice, "before", Some(&picture())).await["id"]);
    let load = Load::start(api).await;
    for _ in 0..3 {
        load.successes(50).await;
        disk.fill(0);
        load.refusals(20).await;
        until_nothing_is_written(api, &alice).await;

        let writes = [
            (Method::POST, "/api/posts/create".to_owned(), Some(json!({ "text": "during" }))),
            (Method::PUT, format!("/api/posts/update/{own}"), Some(json!({ "text": "during" }))),
            (Method::POST, "/api/comments/create".to_owned(), Some(json!({ "postId": own, "content": "during" }))),
            (Method::PUT, format!("/api/posts/like/{own}"), None),
            (Method::PUT, format!("/api/follow/follow/{}", root.id), None),
            (Method::DELETE, format!("/api/posts/delete/{own}"), None),
        ];
        for (method, path, body) in writes {
            let mut request = api.request_as(&alice, method, &path);
            if let Some(body) = body {
                request = request.json(&body);
            }
            expect_refused(attempt(request).await);
        }
        let login = json!({ "identifier": "alice", "password": PASSWORD });
        expect_refused(attempt(api.request(Method::POST, "/api/auth/login").json(&login)).await);

        // Who is logged in goes on reading, from the database and of the images.
        let view = api.view(&alice, &own).await;
        assert_eq!((text(&view["content"]), &view["likeCount"]), ("before".to_owned(), &json!(0)), "{view}");
        assert_eq!(view["commentCount"], 0, "{view}");
        expect_picture(&api.image(&view["image"]).await);
        api.get(&root, "/api/posts/all").await.expect(200);
        let followed = api.get(&alice, &format!("/api/follow/followed/{}", alice.id)).await.expect(200).data();
        assert!(list(&followed).is_empty(), "{followed}");

        disk.empty();
        // Without a restart, and at once.
        let like = api.request_as(&alice, Method::DELETE, &format!("/api/posts/like/{own}"));
        attempt(like).await.expect("a write at once").expect(200);
    }
    load.successes(50).await;
    load.finish().await;
    expect_no_half_post(api, &root).await;
    service.stop();

    // What was stored before its row was refused is on record, and goes with the sweep.
    // SQLite itself would not find its way to the disk from here.
    let (inside, outside) = (disk.path("agora.db"), home.path("agora.db"));
    fs::copy(&inside, &outside).unwrap();
    let age = format!("UPDATE unnamed_images SET since = {}", Backend::LONG_AGO);
    home.backend.sql(outside.parent().unwrap(), &age);
    fs::copy(&outside, &inside).unwrap();
    let service = start(&home, &disk, &[]);
    let named = named(&service.api, &root).await;
    let stored = async || (disk.files("media") == named).then_some(());
    eventually("the store holds what rows name and nothing else", stored).await;
    service.stop();
}

/// Waits until writes are refused one after the other: what is in the log may be moved into the database, and leave room for some more.
async fn until_nothing_is_written(api: &Client, user: &User) {
    let mut refused = 0;
    for _ in 0..5_000 {
        let post =
            api.request_as(user, Method::POST, "/api/posts/create").json(&json!({ "text": "while there is room" }));
        match attempt(post).await {
            None => refused += 1,
            Some(answer) => {
                answer.expect(201);
                refused = 0;
            }
        }
        if refused == 20 {
            return;
        }
    }
    panic!("a full disk takes one post after the other");
}

/// Checks that the numbers with every post are those of what they count, and that its image is there.
async fn expect_no_half_post(api: &Client, root: &User) {
    for post in list(&api.get(root, "/api/posts/all").await.expect(200).data()) {
        let id = text(&post["id"]);
        let count = async |path: String| list(&api.get(root, &path).await.expect(200).data()).len();
        assert_eq!(post["likeCount"], count(format!("/api/posts/{id}/likes")).await, "{post}");
        assert_eq!(post["commentCount"], count(format!("/api/comments/all/{id}")).await, "{post}");
        if post["image"] != Value::Null {
            expect_picture(&api.image(&post["image"]).await);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_on_a_full_disk_says_so_and_the_next_one_succeeds() {
    let home = Home::new();
    let disk = Disk::mount(&home.data_dir(), 2048);
    // With nothing there, and with a part.
    for but in [0, 8, 64] {
        disk.fill(but);
        let refused = block_in_place(|| run(disk.inside(&home.agora(&[])), ""));
        let refused = refused.expect_refusal(&["agora: cannot "]);
        assert!(["full", "No space left"].iter().any(|words| refused.stderr.contains(words)), "{refused:?}");
    }
    disk.empty();
    let service = start(&home, &disk, &ROOT);
    let post = service.api.post(&service.api.log_in("root").await, "", Some(&picture())).await;
    service.stop();

    // A start on what is there already.
    disk.fill(0);
    let refused = block_in_place(|| run(disk.inside(&home.agora(&[])), ""));
    let refused = refused.expect_refusal(&["agora: cannot ", "agora.db"]);
    assert!(["full", "No space left"].iter().any(|words| refused.stderr.contains(words)), "{refused:?}");
    disk.empty();
    let service = start(&home, &disk, &[]);
    let root = service.api.log_in("root").await;
    expect_picture(&service.api.image(&service.api.view(&root, &text(&post["id"])).await["image"]).await);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_on_the_size_of_files_refuses_what_is_beyond_and_the_service_lives() {
    let home = Home::new();
    let agora = command(&home, &ROOT);
    // The shell counts in blocks of 512 bytes, or of 1024.
    let mut limited = home.program("sh");
    limited.args(["-c", "ulimit -f 3072 && exec \"$0\""]).arg(agora.get_program());
    for (name, value) in agora.get_envs().filter_map(|(name, value)| Some((name, value?))) {
        limited.env(name, value);
    }
    let service = block_in_place(|| Service::start(limited));
    let api = &service.api;
    let alice = api.user("alice").await;
    let content = "x".repeat(5000);
    // The write-ahead log grows up to the limit.
    let mut refused = 0;
    for n in 0..1000 {
        match attempt(api.posting(&alice, &content, None)).await {
            Some(answer) => drop(answer.expect(201)),
            None => refused += 1,
        }
        if refused == 3 {
            break;
        }
        assert!(n < 999, "nothing was refused");
    }
    api.get(&alice, "/api/posts/following/all").await.expect(200);
    service.stop();
    let service = home.start();
    let root = service.api.log_in("root").await;
    expect_no_half_post(&service.api, &root).await;
    service.stop();
}
