//! `agora copy` of rows and images.

use std::os::unix::fs::symlink;

use crate::place::{Deployment, copying};
use crate::process::{Home, run};

#[tokio::test(flavor = "multi_thread")]
async fn a_service_is_moved_to_postgresql_and_s3_and_back_without_a_difference_for_users() {
    let home = Home::new();
    let embedded = Deployment::embedded(&home, "first");
    let scaled = Deployment::scaled(&home, "second");
    let again = Deployment::embedded(&home, "third");
    let (world, snapshot) = embedded.settle(&home).await;
    for (from, to) in [(&embedded, &scaled), (&scaled, &again)] {
        let copied = run(home.agora(&copying(from, to)), "").expect_success();
        for words in ["rows; counts and checksums agree", "users", "Copied 1 images", "0 of which already existed"] {
            assert!(copied.stdout.contains(words), "{words:?} is missing: {copied:?}");
        }
        assert!(!copied.stdout.contains("Warning"), "{copied:?}");
        to.expect(&home, &world, &snapshot).await;
    }
    // The source is unchanged.
    embedded.expect(&home, &world, &snapshot).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_with_rows_is_refused_unless_they_are_to_be_replaced() {
    let home = Home::new();
    let (from, to) = (Deployment::embedded(&home, "from"), Deployment::scaled(&home, "to"));
    let (world, snapshot) = from.settle(&home).await;
    let other = to.start(&home);
    let carol = other.api.user("carol").await;
    other.stop();

    let databases = ["copy", "--from", &from.database, "--to", &to.database];
    run(home.agora(&databases), "").expect_refusal(&["the target database has rows", "--replace"]);
    let service = to.start(&home);
    service.api.get(&carol, "/api/users/me").await.expect(200);
    service.stop();

    let back = ["copy", "--from", &to.database, "--to", &from.database, "--replace"];
    let service = from.start(&home);
    run(home.agora(&back), "").expect_refusal(&["another process serves", "stop it first"]);
    service.stop();

    let replacing = [copying(&from, &to), vec!["--replace"]].concat();
    run(home.agora(&replacing), "").expect_success();
    to.expect(&home, &world, &snapshot).await;
    let service = to.start(&home);
    assert_eq!(service.api.login("carol", crate::client::PASSWORD).await.status, 401, "carol is gone");
    service.stop();
    // Run again, as after an unnoticed interruption.
    let again = run(home.agora(&replacing), "").expect_success();
    assert!(again.stdout.contains("1 of which already existed"), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_databases_may_be_named_by_variables_which_other_users_cannot_see() {
    let home = Home::new();
    let (from, to) = (Deployment::embedded(&home, "from"), Deployment::scaled(&home, "to"));
    from.settle(&home).await;
    let mut command = home.agora(&["copy"]);
    command.env("AGORA_COPY_FROM", &from.database).env("AGORA_COPY_TO", &to.database);
    let copied = run(command, "").expect_success();
    assert!(!copied.stderr.contains("no such setting"), "{copied:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_arguments_are_refused_and_nothing_is_created() {
    let home = Home::new();
    let place = Deployment::embedded(&home, "place");
    let other = Deployment::embedded(&home, "other");
    let missing = format!("sqlite:{}", home.path("typo.db").display());
    let missing_directory = format!("file://{}", home.path("typo").display());
    let refuse = |arguments: &[&str], words: &[&str]| {
        run(home.agora(&[&["copy"], arguments].concat()), "").expect_refusal(words);
    };
    let misuse = |arguments: &[&str], words: &[&str]| {
        run(home.agora(&[&["copy"], arguments].concat()), "").expect_misuse(words);
    };
    place.settle(&home).await;
    misuse(&[], &["nothing to copy"]);
    misuse(&["--from", &place.database], &["must be given together"]);
    misuse(&["--from", &place.database, "--to", &place.database], &["the same database"]);
    // Also if they are named differently.
    let (link, media) = (home.path("link.db"), home.path("link"));
    symlink(place.directory.parent().unwrap().join("agora.db"), &link).unwrap();
    symlink(&place.directory, &media).unwrap();
    let link = format!("sqlite:{}", link.display());
    misuse(&["--from", &place.database, "--to", &link, "--replace"], &["the same database"]);
    let media = format!("file://{}", media.display());
    misuse(&["--media-from", &media, "--media-to", &place.media], &["the same store"]);
    let scaled = Deployment::scaled(&home, "scaled");
    scaled.settle(&home).await;
    let renamed = scaled.database.replace("%2F", "%2f");
    assert_ne!(renamed, scaled.database);
    misuse(&["--from", &scaled.database, "--to", &renamed, "--replace"], &["the same database"]);
    refuse(&["--from", &missing, "--to", &other.database], &["typo.db does not exist"]);
    misuse(&["--from", "mysql://e.org/x", "--to", &other.database], &["--from", "postgres://"]);
    refuse(
        &["--media-from", &missing_directory, "--media-to", &other.media],
        &["the directory file:", "does not exist"],
    );
    misuse(&["--media-from", &place.media, "--media-to", &place.media], &["the same store"]);
    misuse(&["--media-from", &place.media, "--media-to", "ftp://e.org/x"], &["--media-to"]);
    let both =
        ["--from", &place.database, "--to", &missing, "--media-from", &place.media, "--media-to", "ftp://e.org/x"];
    misuse(&both, &["--media-to"]);
    assert!(!home.path("typo.db").exists() && !home.path("typo").exists());
    // A database without rows is most likely the wrong one.
    let empty = crate::private_postgres::fresh_database();
    refuse(&["--from", &empty, "--to", &other.database], &["--from", "this is not an Agora database"]);
    home.start_with(&[("AGORA_DATABASE_URL", &empty), ("AGORA_MEDIA_URL", "memory:")]).stop();
    refuse(&["--from", &empty, "--to", &other.database], &["the source database is empty"]);
    let usage = run(home.agora(&["copy", "--media-from", &place.media]), "");
    assert_eq!(usage.code, Some(2), "{usage:?}");
}
