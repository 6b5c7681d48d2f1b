//! `agora backup`, while the service runs.

use std::fs;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use reqwest::Method;
use serde_json::Value;

use crate::client::{Client, User, eventually, list, text};
use crate::picture::{expect_picture, picture};
use crate::place::{Deployment, files};
use crate::process::{Home, mode};

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_of_either_database_is_restored_into_either_with_its_secret() {
    let home = Home::new();
    for (n, from) in [Deployment::embedded(&home, "a"), Deployment::scaled(&home, "b")].into_iter().enumerate() {
        let (world, snapshot) = from.settle(&home).await;
        let file = home.path(&format!("{n}.tar"));
        let saved = from.run(&home, &["backup", file.to_str().unwrap()]).expect_success();
        for words in ["Saved ", " rows and 1 images in ", "protect it like"] {
            assert!(saved.stdout.contains(words), "{words:?} is missing: {saved:?}");
        }
        assert_eq!(mode(&file), 0o600, "it holds secrets");
        // Into another data directory, so the secret must be in the backup.
        for to in [Home::new(), Home::new()].into_iter().enumerate().map(|(m, elsewhere)| {
            let name = format!("target-{m}");
            let place =
                if m == 0 { Deployment::embedded(&elsewhere, &name) } else { Deployment::scaled(&elsewhere, &name) };
            (elsewhere, place)
        }) {
            let (elsewhere, place) = to;
            let restored = place.run(&elsewhere, &["restore", file.to_str().unwrap()]).expect_success();
            for words in ["counts and checksums agree", "Restored 1 images", "Restored the signing secret"] {
                assert!(restored.stdout.contains(words), "{words:?} is missing: {restored:?}");
            }
            assert_eq!(mode(&elsewhere.data_dir().join("jwt-secret")), 0o600);
            place.expect(&elsewhere, &world, &snapshot).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_downloaded_backup_is_restored_without_the_secret() {
    let home = Home::new();
    for (n, from) in [Deployment::embedded(&home, "a"), Deployment::scaled(&home, "b")].into_iter().enumerate() {
        let (world, snapshot) = from.settle(&home).await;
        let service = from.start(&home);
        let root = service.api.log_in("root").await;
        let archive = service.api.call(&root, Method::POST, "/api/admin/backup").await.expect(200).body;
        service.stop();
        let secret = home.secret();
        assert!(!archive.windows(secret.len()).any(|bytes| bytes == secret.as_bytes()));
        let file = home.path(&format!("{n}.tar"));
        fs::write(&file, archive).unwrap();
        let elsewhere = Home::new();
        let to = Deployment::embedded(&elsewhere, "to");
        // With the secret, which was stored separately, tokens stay valid: it is put there before the restore or after it.
        let put_secret = || {
            fs::create_dir_all(elsewhere.data_dir()).unwrap();
            fs::write(elsewhere.data_dir().join("jwt-secret"), &secret).unwrap();
        };
        let (is_before, of_tokens) = match n {
            0 => (true, "tokens stay valid if the data directory has that of the saved service"),
            _ => (false, "all users have to log in again"),
        };
        if is_before {
            put_secret();
        }
        let restored = to.run(&elsewhere, &["restore", file.to_str().unwrap()]).expect_success();
        for words in ["counts and checksums agree", "Restored 1 images", "The backup has no signing secret", of_tokens]
        {
            assert!(restored.stdout.contains(words), "{words:?} is missing: {restored:?}");
        }
        put_secret();
        to.expect(&elsewhere, &world, &snapshot).await;
    }
}

/// Creates and deletes posts with images, likes and comments until `stop` is set.
async fn write(api: Client, user: User, stop: Arc<AtomicBool>, rounds: Arc<AtomicUsize>) {
    let mut last: Option<String> = None;
    while !stop.load(Ordering::Relaxed) {
        let post = text(&api.post(&user, "On the move", Some(&picture())).await["id"]);
        api.call(&user, Method::POST, &format!("/api/posts/like/{post}")).await.expect(200);
        api.send(api.commenting(&user, &post, "Still here")).await.expect(201);
        // Every other post is deleted again, with its image.
        if let Some(last) = last.replace(post)
            && rounds.load(Ordering::Relaxed).is_multiple_of(2)
        {
            api.call(&user, Method::DELETE, &format!("/api/posts/delete/{last}")).await.expect(200);
        }
        rounds.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_under_load_is_consistent() {
    let home = Home::new();
    for from in [Deployment::embedded(&home, "a"), Deployment::scaled(&home, "b")] {
        let service = from.start(&home);
        let (stop, rounds) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let mut writers = Vec::new();
        for n in 0..4 {
            let user = service.api.user(&format!("writer-{n}")).await;
            writers.push(tokio::spawn(write(service.api.clone(), user, Arc::clone(&stop), Arc::clone(&rounds))));
        }
        for n in 0..3 {
            let enough = rounds.load(Ordering::Relaxed) + 20;
            eventually("enough is written", async || (rounds.load(Ordering::Relaxed) >= enough).then_some(())).await;
            let elsewhere = Home::new();
            let file = elsewhere.path("backup.tar");
            let saved = from.run(&home, &["backup", file.to_str().unwrap()]).expect_success();
            assert!(!saved.stdout.contains("Warning"), "{saved:?}");
            let to = if n == 1 { Deployment::scaled(&elsewhere, "to") } else { Deployment::embedded(&elsewhere, "to") };
            to.run(&elsewhere, &["restore", file.to_str().unwrap()]).expect_success();
            expect_consistent(&to, &elsewhere).await;
        }
        stop.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.await.unwrap();
        }
        service.stop();
    }
}

/// Checks that all counts are right, and that the stored images are those that posts reference.
pub(crate) async fn expect_consistent(place: &Deployment, home: &Home) {
    let service = place.start(home);
    let api = &service.api;
    let root = api.log_in("root").await;
    let posts = api.get(&root, "/api/posts/all").await.expect(200).data();
    assert!(!list(&posts).is_empty());
    for post in list(&posts) {
        let id = text(&post["id"]);
        let likes = api.get(&root, &format!("/api/posts/{id}/likes")).await.expect(200).data();
        let comments = api.get(&root, &format!("/api/comments/all/{id}")).await.expect(200).data();
        let count = |name: &str| post[name].as_u64().and_then(|count| usize::try_from(count).ok());
        assert_eq!(count("likeCount"), Some(list(&likes).len()));
        assert_eq!(count("commentCount"), Some(list(&comments).len()));
        assert_ne!(post["image"], Value::Null);
        expect_picture(&api.image(&post["image"]).await);
        api.image(&post["attachments"][0]["thumbnailUrl"]).await;
    }
    service.stop();
    let checked = place.run(home, &["media", "check"]).expect_success().stdout;
    assert!(checked.contains("Orphaned images: 0"), "{checked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_image_fails_the_backup_unless_it_is_allowed() {
    let home = Home::new();
    let from = Deployment::embedded(&home, "from");
    from.settle(&home).await;
    let lost = files(&from.directory).pop_first().unwrap();
    fs::remove_file(&lost).unwrap();
    let file = home.path("backup.tar");
    let backup = ["backup", file.to_str().unwrap(), "--allow-missing-images"];
    let missing = format!("1 referenced images are missing: {}", lost.rsplit('/').next().unwrap());
    from.run(&home, &backup[..2]).expect_refusal(&[&missing, "--allow-missing-images"]);
    assert!(!file.exists());
    let saved = from.run(&home, &backup).expect_success();
    assert!(saved.stdout.contains(&format!("Warning: {missing}")), "{saved:?}");
    let elsewhere = Home::new();
    let restored = Deployment::embedded(&elsewhere, "to").run(&elsewhere, &["restore", file.to_str().unwrap()]);
    assert!(restored.expect_success().stdout.contains(&format!("Warning: {missing}")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_backup_leaves_no_file() {
    let home = Home::new();
    let place = Deployment::embedded(&home, "place");
    let backup = |file: &str| place.run(&home, &["backup", file]);
    backup("nothing-yet.tar").expect_refusal(&["agora.db does not exist", "AGORA_DATABASE_URL"]);
    let empty = Deployment::at(crate::private_postgres::fresh_database(), home.path("media"));
    empty.run(&home, &["backup", "nothing-yet.tar"]).expect_refusal(&["this is not an Agora database"]);
    let anew = Deployment::embedded(&home, "anew");
    home.start_with(&[("AGORA_DATABASE_URL", &anew.database), ("AGORA_MEDIA_URL", "memory:")]).stop();
    anew.run(&home, &["backup", "nothing-yet.tar"]).expect_refusal(&["the database is empty"]);
    // If another setting is forgotten, nothing is created in its place.
    let nowhere = Deployment::at(place.database.clone(), home.path("no-images"));
    place.settle(&home).await;
    nowhere.run(&home, &["backup", "nothing-yet.tar"]).expect_refusal(&[
        "the directory file:",
        "does not exist",
        "AGORA_MEDIA_URL",
    ]);
    assert!(!home.path("no-images").exists() && !home.path("nothing-yet.tar").exists());
    fs::write(home.path("taken.tar"), "mine").unwrap();
    backup("taken.tar").expect_refusal(&["taken.tar already exists"]);
    assert_eq!(fs::read(home.path("taken.tar")).unwrap(), b"mine");
    backup("no/such/directory/backup.tar").expect_refusal(&["no/such/directory"]);
    // An unreadable image is always a failure, unlike a missing one.
    let image = files(&place.directory).pop_first().unwrap();
    fs::remove_file(&image).unwrap();
    std::os::unix::fs::symlink(&image, &image).unwrap();
    let failed = backup("half.tar");
    assert_eq!(failed.code, Some(1), "{failed:?}");
    let tars =
        files(&home.path(".")).into_iter().filter(|file| file.contains("half") || file.contains(".agora-backup"));
    assert_eq!(tars.count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_can_be_piped_to_another_program() {
    let home = Home::new();
    let from = Deployment::embedded(&home, "a");
    let (world, snapshot) = from.settle(&home).await;
    let file = home.path("piped.tar");
    let mut backup = from.command(&home, &["backup", "-"]);
    let done = backup.stdout(fs::File::create(&file).unwrap()).stderr(Stdio::piped()).output().unwrap();
    let output = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.success() && output.contains("1 images in standard output."), "{output}");
    assert!(!home.path("-").exists());
    let elsewhere = Home::new();
    let to = Deployment::embedded(&elsewhere, "to");
    to.run(&elsewhere, &["restore", file.to_str().unwrap()]).expect_success();
    to.expect(&elsewhere, &world, &snapshot).await;
}
