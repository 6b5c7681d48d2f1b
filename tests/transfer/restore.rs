//! `agora restore`: the archives and targets that it refuses.

use std::fs;
use std::path::PathBuf;

use crate::place::{Deployment, files};
use crate::process::Home;

/// Makes a backup of a small network; returns the home it is in, and its path.
async fn saved() -> (Home, PathBuf) {
    let home = Home::new();
    let place = Deployment::embedded(&home, "origin");
    place.settle(&home).await;
    let file = home.path("backup.tar");
    place.run(&home, &["backup", file.to_str().unwrap()]).expect_success();
    (home, file)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_or_altered_archive_is_refused_before_anything_is_created() {
    let (_origin, file) = saved().await;
    let whole = fs::read(&file).unwrap();
    let home = Home::new();
    let data_dir = home.data_dir();
    let place = Deployment::at(format!("sqlite:{}", data_dir.join("agora.db").display()), home.path("media"));
    let refuse = |bytes: &[u8], what: &str| {
        let damaged = home.path("damaged.tar");
        fs::write(&damaged, bytes).unwrap();
        let refused = place.run(&home, &["restore", damaged.to_str().unwrap()]).expect_refusal(&["damaged.tar"]);
        assert!(refused.stderr.contains("is not a backup, or is damaged"), "{what}: {refused:?}");
        assert!(!data_dir.exists() && !home.path("media").exists(), "{what}");
    };
    for length in [0, 1, 511, 2047, 2048, whole.len() / 2, whole.len() - 1024, whole.len() - 1] {
        refuse(&whole[..length], &format!("the first {length} bytes"));
    }
    let last = whole.len() - 1;
    let places = [0, 150, 600, whole.len() / 3, whole.len() / 2, last - 2040, last - 1500, last - 1000, last];
    for place in places {
        let mut altered = whole.clone();
        altered[place] ^= 1;
        refuse(&altered, &format!("byte {place}"));
    }
    let mut longer = whole.clone();
    longer.push(0);
    refuse(&longer, "one byte more");
    let without_a_block = [&whole[..1024], &whole[1536..]].concat();
    refuse(&without_a_block, "without a block");
    refuse(b"-- PostgreSQL database dump\n", "something else");

    // The complete archive is restored.
    place.run(&home, &["restore", file.to_str().unwrap()]).expect_success();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_is_not_empty_is_refused_and_unchanged() {
    let (origin, file) = saved().await;
    let file = file.to_str().unwrap();
    let restore = |place: &Deployment, home: &Home| {
        let mut command = place.command(home, &["restore", file]);
        command.env("AGORA_JWT_SECRET", origin.secret());
        crate::process::run(command, "")
    };
    for kind in [Deployment::embedded, Deployment::scaled] {
        let home = Home::new();
        let place = kind(&home, "place");
        let (world, snapshot) = place.settle(&home).await;
        restore(&place, &home).expect_refusal(&["the database is not empty"]);
        place.expect(&home, &world, &snapshot).await;
        // The secret of a service is not replaced either.
        let secret = home.secret();
        let other = kind(&home, "other");
        other.run(&home, &["restore", file]).expect_refusal(&["another signing secret"]);
        assert_eq!(home.secret(), secret);
        other.expect_empty(&home).await;
    }
    let home = Home::new();
    let place = Deployment::embedded(&home, "place");
    let image = place.directory.join("ff/ffffffffffffffffffffffffffffffff.png");
    fs::create_dir_all(image.parent().unwrap()).unwrap();
    fs::write(&image, "other").unwrap();
    place.run(&home, &["restore", file]).expect_refusal(&["the image store is not empty"]);
    fs::remove_file(&image).unwrap();
    place.run(&home, &["restore", "no-such-file.tar"]).expect_refusal(&["no-such-file.tar"]);
    assert!(!home.data_dir().join("jwt-secret").exists(), "kept for nothing");
    place.expect_empty(&home).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_restore_can_be_run_again() {
    let (origin, file) = saved().await;
    let home = Home::new();
    let place = Deployment::scaled(&home, "place");
    // As if it had been interrupted just before its end: the image and the secret are there.
    let image = files(&origin.path("origin")).into_iter().find(|file| file.ends_with(".png")).unwrap();
    let (folder, name) = (&image[image.len() - 39..image.len() - 37], &image[image.len() - 36..]);
    fs::create_dir_all(place.directory.join(folder)).unwrap();
    fs::copy(&image, place.directory.join(folder).join(name)).unwrap();
    fs::create_dir_all(home.data_dir()).unwrap();
    fs::write(home.data_dir().join("jwt-secret"), origin.secret()).unwrap();
    let restored = place.run(&home, &["restore", file.to_str().unwrap()]).expect_success();
    assert!(restored.stdout.contains("1 of which already existed"), "{restored:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configured_secret_is_kept_and_compared() {
    let (origin, file) = saved().await;
    let other = "another secret of at least 32 bytes";
    for (secret, expected) in [(origin.secret(), "tokens stay valid"), (other.to_owned(), "Warning: AGORA_JWT_SECRET")]
    {
        let home = Home::new();
        let place = Deployment::embedded(&home, "place");
        let mut command = place.command(&home, &["restore", file.to_str().unwrap()]);
        command.env("AGORA_JWT_SECRET", &secret);
        let restored = crate::process::run(command, "").expect_success();
        assert!(restored.stdout.contains(expected), "{restored:?}");
        assert!(!home.data_dir().join("jwt-secret").exists());
        let output = format!("{restored:?}");
        assert!(!output.contains(&secret) && !output.contains(&origin.secret()), "a secret was shown");
    }
}
