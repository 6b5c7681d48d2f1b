//! `agora media check`: compares the stored images with those that rows reference.

use std::fs;
use std::fs::File;
use std::time::{Duration, SystemTime};

use crate::client::{key, text};
use crate::picture::picture;
use crate::process::{Finished, Home, run};

fn check(home: &Home, arguments: &[&str]) -> Finished {
    run(home.agora(&[&["media", "check"], arguments].concat()), "")
}

/// Puts an orphaned image of this age into the store; returns its key.
fn place(home: &Home, letter: char, age: Duration) -> String {
    let key = format!("{}.png", letter.to_string().repeat(32));
    let path = home.image_file(&key);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, vec![0; 250_000]).unwrap();
    #[allow(clippy::disallowed_methods, reason = "a file has its time from the system")]
    File::options().append(true).open(&path).unwrap().set_modified(SystemTime::now() - age).unwrap();
    key
}

#[tokio::test(flavor = "multi_thread")]
async fn orphaned_images_are_deleted_on_request_unless_they_are_young() {
    let home = Home::new();
    let service = home.start();
    let (alice, bob) = (service.api.user("alice").await, service.api.user("bob").await);
    let post = service.api.post(&alice, "", Some(&picture())).await;
    service.api.post(&alice, "", Some(&picture())).await;
    service.api.post(&bob, "", Some(&picture())).await;
    let (hour, minute) = (Duration::from_secs(3_600), Duration::from_secs(60));
    let [old, young] = [place(&home, 'a', hour + minute), place(&home, 'b', hour - minute)];

    let output = check(&home, &["--top", "1"]).expect_success().stdout;
    let mut size = 0.0;
    for file in [&post["image"], &post["attachments"][0]["thumbnailUrl"]] {
        size += service.api.image(file).await.len() as f64 / 1000.0;
    }
    assert_eq!(
        output,
        format!(
            "Referenced images in the store: 3 ({:.2} kB)\n\
         Images recorded for the sweep: 0 (0 B)\n\
         Orphaned images: 2 (500.00 kB)\n  \
           younger than an hour, and kept: 1 (250.00 kB)\n  \
           deletable with --delete: 1 (250.00 kB)\n\
         Missing images that are referenced: 0\n\
         Users with the most bytes:\n  \
           alice: 2 ({:.2} kB)\n",
            3.0 * size,
            2.0 * size
        )
    );
    assert!(home.image_file(&old).exists() && home.image_file(&young).exists(), "nothing is deleted without --delete");
    let output = check(&home, &["--delete", "--top", "0"]).expect_success().stdout;
    assert!(output.contains("  deleted: 1 (250.00 kB)\n") && !output.contains("Users"), "{output}");
    assert!(!home.image_file(&old).exists() && home.image_file(&young).exists());
    assert!(check(&home, &[]).expect_success().stdout.contains("Orphaned images: 1 (250.00 kB)"));
    service.api.image(&service.api.view(&bob, &text(&post["id"])).await["image"]).await;
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_image_is_named_and_fails_the_check() {
    let home = Home::new();
    let service = home.start();
    let alice = service.api.user("alice").await;
    let lost = key(&service.api.post(&alice, "", Some(&picture())).await["image"]);
    service.api.post(&alice, "", Some(&picture())).await;
    service.stop();
    fs::remove_file(home.image_file(&lost)).unwrap();
    let lost = format!("{lost} of alice");
    let failed = check(&home, &[]).expect_refusal(&["1 referenced images are missing", &lost]);
    assert!(failed.stdout.contains("Missing images that are referenced: 1\n"), "{failed:?}");
    assert!(failed.stdout.contains("Referenced images in the store: 1 "), "{failed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_images_of_another_database_are_not_deleted() {
    let home = Home::new();
    let service = home.start();
    let alice = service.api.user("alice").await;
    service.stop();
    let old = place(&home, 'c', Duration::from_secs(7_200));
    check(&home, &["--delete"])
        .expect_refusal(&["references any of the 1 stored images", "are these the right database"]);
    assert!(home.image_file(&old).exists());
    let service = home.start();
    service.api.post(&service.api.log_in(&alice.name).await, "", Some(&picture())).await;
    check(&home, &["--delete"]).expect_success();
    assert!(!home.image_file(&old).exists());
    service.stop();
}
