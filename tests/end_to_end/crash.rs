//! SIGKILL: what was acknowledged is there, and what was left lying is collected.

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
    /// The post, its text, and the key of its image if it has one.
    posts: Vec<(String, String, Option<String>)>,
    /// The post, and the comment's text.
    comments: Vec<(String, String)>,
    /// The post, and who likes it.
    likes: Vec<(String, User)>,
    /// Who is followed, and the follower.
    follows: Vec<(User, User)>,
}

/// One who writes until the service is gone, and notes each write once it is acknowledged.
struct Writer {
    api: Client,
    user: User,
    /// Whom to follow.
    others: Vec<User>,
    noted: Arc<Mutex<Acknowledged>>,
    /// How often this and the other writers have been through.
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
        let Self { api, user, others, noted, .. } = self;
        let content = format!("{} {n}", user.name);
        let picture = (n.is_multiple_of(2)).then(picture);
        let post = api.try_send(api.posting(user, &content, picture.as_deref())).await?.expect(201).data();
        let id = text(&post["id"]);
        let image = picture.map(|_| key(&post["image"]));
        noted.lock().unwrap().posts.push((id.clone(), content.clone(), image));

        api.try_send(api.commenting(user, &id, &content)).await?.expect(201);
        noted.lock().unwrap().comments.push((id.clone(), content));

        let like = api.request_as(user, Method::POST, &format!("/api/posts/like/{id}"));
        api.try_send(like).await?.expect(200);
        noted.lock().unwrap().likes.push((id, user.clone()));

        if let Some(other) = others.pop() {
            let follow = api.request_as(user, Method::PUT, &format!("/api/follow/follow/{}", other.id));
            api.try_send(follow).await?.expect(200);
            noted.lock().unwrap().follows.push((other, user.clone()));
        }
        Some(())
    }
}

/// Checks that everything acknowledged is there, and that no post names an image that is not.
async fn expect_everything(api: &Client, reader: &User, noted: &Acknowledged) {
    for (id, content, image) in &noted.posts {
        let view = api.view(reader, id).await;
        assert_eq!(view["content"], content.as_str());
        assert_eq!(view["image"].as_str().map(|_| key(&view["image"])), *image);
    }
    for (id, content) in &noted.comments {
        let comments = api.get(reader, &format!("/api/comments/all/{id}")).await.expect(200).data();
        assert!(list(&comments).iter().any(|comment| comment["content"] == content.as_str()), "{comments}");
    }
    for (id, user) in &noted.likes {
        assert_eq!(api.view(user, id).await["likedByMe"], true);
    }
    for (followed, follower) in &noted.follows {
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
    assert!(images >= noted.posts.iter().filter(|(_, _, image)| image.is_some()).count());
}

/// Makes accounts, and ends the service that did by a crash.
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
async fn what_was_acknowledged_outlives_a_crash() {
    const WRITERS: usize = 8;
    const CRASHES: usize = 3;
    let home = Home::new();
    let users = writers(&home, WRITERS).await;

    let noted = Arc::new(Mutex::new(Acknowledged::default()));
    for crash in 1..=CRASHES {
        let service = home.start();
        let rounds = Arc::new(AtomicUsize::new(0));
        let writer = |user: &User| Writer {
            api: service.api.clone(),
            user: user.clone(),
            others: users.iter().filter(|other| other.id != user.id).cloned().collect(),
            noted: Arc::clone(&noted),
            rounds: Arc::clone(&rounds),
        };
        let writers: Vec<_> = users.iter().map(|user| tokio::spawn(writer(user).write())).collect();
        // Each time at another moment of the work.
        let enough = WRITERS * 3 + crash;
        eventually("enough is written", async || (rounds.load(Ordering::Relaxed) >= enough).then_some(())).await;
        let killed = service.kill();
        assert_eq!(killed.code, None, "it ended by itself: {killed:?}");
        for writer in writers {
            writer.await.unwrap();
        }

        let service = home.start();
        let root = service.api.log_in("root").await;
        let noted = noted.lock().unwrap().clone();
        expect_everything(&service.api, &root, &noted).await;
        service.kill();
    }
    // As it was left by the last crash, it stops the regular way too.
    assert!(!home.start().stop().stderr.contains("ERROR"));
}

/// Puts an image on the record of those that no row names, as of an instant in SQL. A service has been here before.
pub(crate) fn record(home: &Home, key: &str, since: &str) {
    let statement = format!("INSERT INTO unnamed_images (key, since, condemned) VALUES ('{key}', {since}, false)");
    home.backend.sql(&home.data_dir(), &statement);
}

/// Makes what is on the record old enough to be collected.
pub(crate) fn age_records(home: &Home) {
    home.backend.sql(&home.data_dir(), &format!("UPDATE unnamed_images SET since = {}", Backend::LONG_AGO));
}

/// Puts a picture into the store that is as old as a file can be; its file.
fn leave(home: &Home, name: &str) -> PathBuf {
    let file = home.image_file(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, picture()).unwrap();
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    File::options().write(true).open(&file).unwrap().set_times(FileTimes::new().set_modified(long_ago)).unwrap();
    file
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_on_record_is_collected_once_the_record_is_old() {
    let home = Home::new();
    let service = home.start();
    let alice = service.api.user("alice").await;
    let post = service.api.post(&alice, "", Some(&picture())).await;
    service.kill();

    // Left by uploads whose rows were never written, long ago and just now.
    let names = ["ffffffffffffffffffffffffffffffff.png", "0123456789abcdef0123456789abcdef.png"];
    let [old, fresh] = names.map(|name| leave(&home, name));
    record(&home, names[0], Backend::LONG_AGO);
    record(&home, names[1], Backend::NOW);

    let service = home.start();
    eventually("the old image is collected", async || (!old.exists()).then_some(())).await;
    assert!(fresh.exists());
    let post = service.api.view(&alice, &text(&post["id"])).await;
    expect_picture(&service.api.image(&post["image"]).await);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_on_an_empty_database_deletes_no_image_of_another() {
    let home = Home::new();
    home.start().stop();
    let others: Vec<_> = (0..=0xfe).map(|n| leave(&home, &format!("{n:02x}{n:030x}.png"))).collect();
    // The only one that is its own to delete, and the last one of all to whoever lists the store.
    let own = "ffffffffffffffffffffffffffffffff.png";
    let file = leave(&home, own);
    record(&home, own, Backend::LONG_AGO);
    let service = home.start();
    eventually("its own image is collected", async || (!file.exists()).then_some(())).await;
    assert!(others.iter().all(|other| other.exists()));
    service.stop();
}

/// Publishes images, and replaces and deletes some, until the service is gone.
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
    // What else is there is what the store had begun to write.
    folders.flat_map(|folder| names(&images.join(folder))).filter(|name| name.len() == 36).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn crashes_amid_changes_of_images_leave_none_behind_for_good() {
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
    eventually("the store holds what rows name and nothing else", async || (stored(&home) == named).then_some(()))
        .await;
    service.stop();
}
