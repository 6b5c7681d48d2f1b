//! A full disk: writes are refused, everything else works, and no data are incomplete.

use std::fs;
use std::process::Command;

use reqwest::multipart::{Form, Part};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::task::block_in_place;

use super::load::Load;
use super::responses::{attempt, expect_refused};
use crate::backend::Backend;
use crate::client::{Client, PASSWORD, User, eventually, key, list, text};
use crate::disk::Disk;
use crate::picture::{expect_picture, picture};
use crate::process::{Home, Service, run};

/// Starts the service of a home whose data directory or images are on the disk.
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

/// Returns a picture of noise, which cannot be compressed: a file of more than 100 KiB.
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

/// Returns the sorted names of the files of all images that rows refer to.
async fn referenced(api: &Client, root: &User) -> Vec<String> {
    let mut keys = Vec::new();
    for (path, field) in [("/api/posts/all", "image"), ("/api/users/all", "profilePicture")] {
        let rows = api.get(root, path).await.expect(200).data();
        let images = list(&rows).iter().filter(|row| row[field] != Value::Null).map(|row| key(&row[field]));
        keys.extend(images.flat_map(|key| [format!("{key}.thumb.jpg"), key]));
    }
    keys.sort();
    keys
}

fn upload(api: &Client, user: &User, method: Method, path: &str, field: &'static str) -> RequestBuilder {
    let form = Form::new().part(field, Part::bytes(large_picture()).file_name("a.png"));
    api.request_as(user, method, path).multipart(form)
}

#[tokio::test(flavor = "multi_thread")]
async fn if_the_disk_of_the_images_is_full_only_uploads_are_refused() {
    let home = Home::new();
    let pictures = home.path("pictures");
    let disk = Disk::mount(&pictures, 2048);
    let url = format!("file://{}", pictures.display());
    let service = start(&home, &disk, &[&ROOT[..], &[("AGORA_MEDIA_URL", &url)]].concat());
    let api = &service.api;
    let (alice, root) = (api.user("alice").await, api.log_in("root").await);
    let pictured = api.post(&alice, "with a picture", Some(&picture())).await;
    let plain = text(&api.post(&alice, "without", None).await["id"]);
    let before = referenced(api, &root).await;
    assert_eq!(disk.files(""), before);

    // Completely full, and with space for a part of an image.
    for free in [0, 16, 64] {
        disk.fill(free);
        let update = format!("/api/posts/update/{plain}");
        expect_refused(attempt(upload(api, &alice, Method::POST, "/api/posts/create", "image")).await);
        expect_refused(attempt(upload(api, &alice, Method::PUT, &update, "image")).await);
        expect_refused(attempt(upload(api, &alice, Method::PUT, "/api/users/me", "profilePicture")).await);
        assert_eq!(disk.files(""), before, "a refused upload leaves no file");
        assert_eq!(referenced(api, &root).await, before);
    }
    // Everything else works.
    expect_picture(&api.image(&pictured["image"]).await);
    api.post(&alice, "still here", None).await;
    let posts = api.get(&root, "/api/posts/all").await.expect(200).data();
    let contents: Vec<_> = list(&posts).iter().map(|post| text(&post["content"])).collect();
    assert_eq!(contents, ["still here", "without", "with a picture"]);
    // Deletions free space.
    api.call(&alice, Method::DELETE, &format!("/api/posts/delete/{}", text(&pictured["id"]))).await.expect(200);
    assert!(disk.files("").is_empty());

    disk.empty();
    let created = upload(api, &alice, Method::POST, "/api/posts/create", "image");
    attempt(created).await.expect("the first upload succeeds").expect(201);
    assert_eq!(disk.files(""), referenced(api, &root).await);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn if_the_disk_of_the_database_is_full_writes_are_refused_and_leave_nothing_incomplete() {
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
        until_no_write_succeeds(api, &alice).await;

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

        // Users who are logged in can still read the database and the images.
        let view = api.view(&alice, &own).await;
        assert_eq!((text(&view["content"]), &view["likeCount"]), ("before".to_owned(), &json!(0)), "{view}");
        assert_eq!(view["commentCount"], 0, "{view}");
        expect_picture(&api.image(&view["image"]).await);
        api.get(&root, "/api/posts/all").await.expect(200);
        let followed = api.get(&alice, &format!("/api/follow/followed/{}", alice.id)).await.expect(200).data();
        assert!(list(&followed).is_empty(), "{followed}");

        disk.empty();
        // Writes succeed at once, without a restart.
        let like = api.request_as(&alice, Method::DELETE, &format!("/api/posts/like/{own}"));
        attempt(like).await.expect("the first write succeeds").expect(200);
    }
    load.successes(50).await;
    load.finish().await;
    expect_complete_posts(api, &root).await;
    service.stop();

    // Images whose rows were refused are recorded, and the sweep deletes them. Copies the database, because SQLite cannot open it
    // on the disk from outside the mount namespace.
    let (inside, outside) = (disk.path("agora.db"), home.path("agora.db"));
    fs::copy(&inside, &outside).unwrap();
    let age = format!("UPDATE unnamed_images SET since = {}", Backend::LONG_AGO);
    home.backend.sql(outside.parent().unwrap(), &age);
    fs::copy(&outside, &inside).unwrap();
    let service = start(&home, &disk, &[]);
    let referenced = referenced(&service.api, &root).await;
    let is_clean = async || (disk.files("media") == referenced).then_some(());
    eventually("the store has exactly the images that rows refer to", is_clean).await;
    service.stop();
}

/// Waits until 20 writes in a row are refused: a checkpoint of the write-ahead log may make space for some more.
async fn until_no_write_succeeds(api: &Client, user: &User) {
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
    panic!("writes still succeed on a full disk");
}

/// Checks that the counts of every post are correct, and that its image exists.
async fn expect_complete_posts(api: &Client, root: &User) {
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
async fn a_start_on_a_full_disk_fails_with_the_reason_and_succeeds_once_there_is_space() {
    let home = Home::new();
    let disk = Disk::mount(&home.data_dir(), 2048);
    // Before the first start: completely full, and with space for some files.
    for free in [0, 8, 64] {
        disk.fill(free);
        let refused = block_in_place(|| run(disk.inside(&home.agora(&[])), ""));
        let refused = refused.expect_refusal(&["agora: cannot "]);
        assert!(["full", "No space left"].iter().any(|words| refused.stderr.contains(words)), "{refused:?}");
    }
    disk.empty();
    let service = start(&home, &disk, &ROOT);
    let post = service.api.post(&service.api.log_in("root").await, "", Some(&picture())).await;
    service.stop();

    // With an existing database.
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
async fn writes_beyond_a_limit_on_the_file_size_are_refused_and_the_service_keeps_running() {
    let home = Home::new();
    let agora = command(&home, &ROOT);
    // The unit is 512 or 1024 bytes, depending on the shell.
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
    expect_complete_posts(&service.api, &root).await;
    service.stop();
}
