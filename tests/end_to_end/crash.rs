//! SIGKILL: acknowledged writes survive, and orphaned images are deleted.

use std::collections::BTreeSet;
use std::fs;
use std::fs::{File, FileTimes};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::Value;

use crate::backend::Backend;
use crate::client::{Client, User, eventually, key, list, text};
use crate::picture::{expect_picture, picture};
use crate::process::Home;

/// Writes that the service acknowledged.
#[derive(Debug, Default, Clone)]
struct Acknowledged {
    /// Each post with its text, and the key of its image if it has one.
    posts: Vec<(String, String, Option<String>)>,
    /// The post, and the text of the comment on it.
    comments: Vec<(String, String)>,
    /// The post, and who likes it.
    likes: Vec<(String, User)>,
    /// Who is followed, and the follower.
    follows: Vec<(User, User)>,
}

/// A client that writes until the service is killed, and records each acknowledged write.
struct Writer {
    api: Client,
    user: User,
    /// The users to follow.
    others: Vec<User>,
    acknowledged: Arc<Mutex<Acknowledged>>,
    /// The rounds that all writers have completed.
    rounds: Arc<AtomicUsize>,
}

impl Writer {
    async fn write(mut self) -> Option<()> {
        for n in 0.. {
            self.round(n).await?;
            self.rounds.fetch_add(1, Ordering::Relaxed);
        }
        None
    }

    async fn round(&mut self, n: usize) -> Option<()> {
        let Self { api, user, others, acknowledged, .. } = self;
        let content = format!("{} {n}", user.name);
        let picture = (n.is_multiple_of(2)).then(picture);
        let post = api.try_send(api.posting(user, &content, picture.as_deref())).await?.expect(201).data();
        let id = text(&post["id"]);
        let image = picture.map(|_| key(&post["image"]));
        acknowledged.lock().unwrap().posts.push((id.clone(), content.clone(), image));

        api.try_send(api.commenting(user, &id, &content)).await?.expect(201);
        acknowledged.lock().unwrap().comments.push((id.clone(), content));

        let like = api.request_as(user, Method::POST, &format!("/api/posts/like/{id}"));
        api.try_send(like).await?.expect(200);
        acknowledged.lock().unwrap().likes.push((id, user.clone()));

        if let Some(other) = others.pop() {
            let follow = api.request_as(user, Method::PUT, &format!("/api/follow/follow/{}", other.id));
            api.try_send(follow).await?.expect(200);
            acknowledged.lock().unwrap().follows.push((other, user.clone()));
        }
        Some(())
    }
}

/// Checks that all acknowledged writes are there, and that the image of every post exists.
async fn expect_everything(api: &Client, reader: &User, acknowledged: &Acknowledged) {
    for (id, content, image) in &acknowledged.posts {
        let view = api.view(reader, id).await;
        assert_eq!(view["content"], content.as_str());
        assert_eq!(view["image"].as_str().map(|_| key(&view["image"])), *image);
    }
    for (id, content) in &acknowledged.comments {
        let comments = api.get(reader, &format!("/api/comments/all/{id}")).await.expect(200).data();
        assert!(list(&comments).iter().any(|comment| comment["content"] == content.as_str()), "{comments}");
    }
    for (id, user) in &acknowledged.likes {
        assert_eq!(api.view(user, id).await["likedByMe"], true);
    }
    for (followed, follower) in &acknowledged.follows {
        let followers = api.get(followed, &format!("/api/follow/followers/{}", followed.id)).await.expect(200).data();
        assert!(list(&followers).iter().any(|user| user["id"] == follower.id.as_str()), "{followers}");
    }
    let mut images = 0;
    for post in list(&api.get(reader, "/api/posts/all").await.expect(200).data()) {
        if post["image"] != Value::Null {
            expect_picture(&api.image(&post["image"]).await);
            images += 1;
        }
    }
    assert!(images >= acknowledged.posts.iter().filter(|(_, _, image)| image.is_some()).count());
}

/// Registers accounts on a service, and kills it.
async fn writers(home: &Home, count: usize) -> Vec<User> {
    let service = home.start_with_root();
    let mut users = Vec::new();
    for n in 0..count {
        users.push(service.api.user(&format!("writer-{n}")).await);
    }
    service.kill();
    users
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_writes_survive_a_crash() {
    const WRITERS: usize = 8;
    const CRASHES: usize = 3;
    let home = Home::new();
    let users = writers(&home, WRITERS).await;

    let acknowledged = Arc::new(Mutex::new(Acknowledged::default()));
    for crash in 1..=CRASHES {
        let service = home.start();
        let rounds = Arc::new(AtomicUsize::new(0));
        let writer = |user: &User| Writer {
            api: service.api.clone(),
            user: user.clone(),
            others: users.iter().filter(|other| other.id != user.id).cloned().collect(),
            acknowledged: Arc::clone(&acknowledged),
            rounds: Arc::clone(&rounds),
        };
        let writers: Vec<_> = users.iter().map(|user| tokio::spawn(writer(user).write())).collect();
        // Kills the service at a different moment each time.
        let enough = WRITERS * 3 + crash;
        eventually("enough is written", async || (rounds.load(Ordering::Relaxed) >= enough).then_some(())).await;
        let killed = service.kill();
        assert_eq!(killed.code, None, "the service exited by itself: {killed:?}");
        for writer in writers {
            writer.await.unwrap();
        }

        let service = home.start();
        let root = service.api.log_in("root").await;
        let acknowledged = acknowledged.lock().unwrap().clone();
        expect_everything(&service.api, &root, &acknowledged).await;
        service.kill();
    }
    // After the last crash, the service also starts and stops normally.
    assert!(!home.start().stop().stderr.contains("ERROR"));
}

/// Records an image as unreferenced since an instant, an SQL expression. A service must have run before.
pub(crate) fn record(home: &Home, key: &str, since: &str) {
    let statement = format!("INSERT INTO unnamed_images (key, since, condemned) VALUES ('{key}', {since}, false)");
    home.backend.sql(&home.data_dir(), &statement);
}

/// Makes the records of unreferenced images old enough for their deletion.
pub(crate) fn age_records(home: &Home) {
    home.backend.sql(&home.data_dir(), &format!("UPDATE unnamed_images SET since = {}", Backend::LONG_AGO));
}

/// Puts a very old file with a picture into the store; returns its path.
fn place_image(home: &Home, name: &str) -> PathBuf {
    let file = home.image_file(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, picture()).unwrap();
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    File::options().write(true).open(&file).unwrap().set_times(FileTimes::new().set_modified(long_ago)).unwrap();
    file
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreferenced_image_is_deleted_once_its_record_is_old() {
    let home = Home::new();
    let service = home.start();
    let alice = service.api.user("alice").await;
    let post = service.api.post(&alice, "", Some(&picture())).await;
    service.kill();

    // As uploads leave them whose rows were never written: one long ago and one just now.
    let names = ["ffffffffffffffffffffffffffffffff.png", "0123456789abcdef0123456789abcdef.png"];
    let [old, fresh] = names.map(|name| place_image(&home, name));
    record(&home, names[0], Backend::LONG_AGO);
    record(&home, names[1], Backend::NOW);

    let service = home.start();
    eventually("the old image is deleted", async || (!old.exists()).then_some(())).await;
    assert!(fresh.exists());
    let post = service.api.view(&alice, &text(&post["id"])).await;
    expect_picture(&service.api.image(&post["image"]).await);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_with_an_empty_database_deletes_no_images_of_another_database() {
    let home = Home::new();
    home.start().stop();
    let others: Vec<_> = (0..=0xfe).map(|n| place_image(&home, &format!("{n:02x}{n:030x}.png"))).collect();
    // The only image that the service may delete, and the last one in a listing of the store.
    let own = "ffffffffffffffffffffffffffffffff.png";
    let file = place_image(&home, own);
    record(&home, own, Backend::LONG_AGO);
    let service = home.start();
    eventually("its own image is deleted", async || (!file.exists()).then_some(())).await;
    assert!(others.iter().all(|other| other.exists()));
    service.stop();
}

/// Publishes images, and replaces and deletes some, until the service is killed.
async fn change_images(api: Client, user: User, rounds: Arc<AtomicUsize>) -> Option<()> {
    let image = || Part::bytes(picture()).file_name("holiday.png");
    for n in 0.. {
        let post = api.try_send(api.posting(&user, "", Some(&picture()))).await?.expect(201).data();
        let path = format!("/api/posts/update/{}", text(&post["id"]));
        let update = api.request_as(&user, Method::PUT, &path).multipart(Form::new().part("image", image()));
        api.try_send(update).await?.expect(200);
        let profile = Form::new().part("profilePicture", image());
        api.try_send(api.request_as(&user, Method::PUT, "/api/users/me").multipart(profile)).await?.expect(200);
        if n % 2 == 0 {
            let path = format!("/api/posts/delete/{}", text(&post["id"]));
            api.try_send(api.request_as(&user, Method::DELETE, &path)).await?.expect(200);
        }
        rounds.fetch_add(1, Ordering::Relaxed);
    }
    None
}

/// The keys of the images in the store.
fn stored(home: &Home) -> BTreeSet<String> {
    let names = |directory: &Path| {
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap())
    };
    let images = home.backend.images(&home.data_dir());
    let folders = names(&images).filter(|name| name.len() == 2);
    // Other names are of files that the store had begun to write.
    folders.flat_map(|folder| names(&images.join(folder))).filter(|name| name.len() == 36).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn images_orphaned_by_crashes_are_deleted_in_time() {
    const WRITERS: usize = 4;
    const CRASHES: usize = 4;
    let home = Home::new();
    let users = writers(&home, WRITERS).await;
    for crash in 1..=CRASHES {
        let service = home.start();
        let rounds = Arc::new(AtomicUsize::new(0));
        let writer = |user: &User| change_images(service.api.clone(), user.clone(), Arc::clone(&rounds));
        let writers: Vec<_> = users.iter().map(|user| tokio::spawn(writer(user))).collect();
        let enough = WRITERS * 2 + crash;
        eventually("enough is written", async || (rounds.load(Ordering::Relaxed) >= enough).then_some(())).await;
        service.kill();
        for writer in writers {
            writer.await.unwrap();
        }
    }

    age_records(&home);
    let service = home.start();
    let root = service.api.log_in("root").await;
    let named = async |path: &str, field: &str| {
        let rows = service.api.get(&root, path).await.expect(200).data();
        let images: Vec<_> =
            list(&rows).iter().filter(|row| row[field] != Value::Null).map(|row| key(&row[field])).collect();
        images
    };
    let posts = named("/api/posts/all", "image").await;
    let profiles = named("/api/users/all", "profilePicture").await;
    assert!(posts.len() >= WRITERS && profiles.len() == WRITERS, "{posts:?} {profiles:?}");
    let named: BTreeSet<_> = posts.into_iter().chain(profiles).collect();
    eventually("the store has exactly the images that rows refer to", async || (stored(&home) == named).then_some(()))
        .await;
    service.stop();
}
