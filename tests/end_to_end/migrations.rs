//! Databases with the schema of another version of the program.

use std::fs;
use std::path::PathBuf;

use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use crate::client::{PASSWORD, eventually, key, list, text};
use crate::picture::picture;
use crate::process::{Home, mode, run};

/// The last migration, and the statements that revert it on each database.
const LAST: &str = "2026-11-29-230000_locks_in_order";
const UNDO_SQLITE: &str = include_str!("../../migrations/sqlite/2026-11-29-230000_locks_in_order/down.sql");
const UNDO_POSTGRES: &str = include_str!("../../migrations/postgres/2026-11-29-230000_locks_in_order/down.sql");

/// The version of the schema after the last migration is reverted.
const BEFORE: &str = "20261129200000";

/// Reverts the last migration, so that it is pending.
fn undo(home: &Home) {
    let undo = if is_file(home) { UNDO_SQLITE } else { UNDO_POSTGRES };
    let forget = "DELETE FROM __diesel_schema_migrations WHERE version = '20261129230000'";
    home.backend.sql(&home.data_dir(), &format!("{undo}\n{forget}"));
}

/// Returns a home whose database has the user alice and the schema before the last migration.
async fn with_older_schema() -> Home {
    let home = Home::new();
    let service = home.start();
    service.api.user("alice").await;
    service.stop();
    undo(&home);
    home
}

/// Returns the copies of the database that migrations have made.
fn copies(home: &Home) -> Vec<PathBuf> {
    let files = fs::read_dir(home.data_dir()).unwrap().map(|file| file.unwrap().path());
    let mut copies: Vec<_> = files.filter(|file| file.to_str().unwrap().contains("-schema-")).collect();
    copies.sort();
    copies
}

/// Returns whether the database is a file, which is copied before a migration.
fn is_file(home: &Home) -> bool {
    home.data_dir().join("agora.db").exists()
}

#[tokio::test(flavor = "multi_thread")]
async fn creating_an_administrator_applies_no_migration_to_an_existing_database() {
    let home = with_older_schema().await;
    let create = ["admin", "create", "--username", "root", "--email", "root@example.org", "--password", PASSWORD];
    run(home.agora(&create), "").expect_refusal(&["agora migrate run"]);
    assert_eq!(run(home.agora(&["migrate", "status"]), "").code, Some(3));
    run(home.agora(&["migrate", "run"]), "").expect_success();
    run(home.agora(&create), "").expect_success();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_lists_applied_pending_and_unknown_migrations() {
    let home = with_older_schema().await;
    let status = |code: i32| {
        let finished = run(home.agora(&["migrate", "status"]), "");
        assert_eq!(finished.code, Some(code), "{finished:?}");
        finished
    };
    let pending = status(3);
    assert!(pending.stdout.starts_with("2026-11-21-000000_initial: applied\n"), "{pending:?}");
    assert!(pending.stdout.ends_with(&format!("{LAST}: pending\n")), "{pending:?}");
    assert!(pending.stderr.contains("agora migrate run applies them"), "{pending:?}");
    assert!(copies(&home).is_empty(), "the command changes nothing");

    let output = run(home.agora(&["migrate", "run"]), "").expect_success().stdout;
    assert!(output.starts_with(&format!("Applied {LAST}.\n")), "{output}");
    let applied = status(0).stdout;
    let rest = "posts and comments whose entities are to be extracted: 0\nrows to be indexed for search: 0\n\
        images whose previews are to be made: 0";
    assert!(applied.ends_with(&format!("{LAST}: applied\n{rest}\n")), "{applied}");
    let output = run(home.agora(&["migrate", "run"]), "").expect_success().stdout;
    assert_eq!(output, "No migration is pending.\n");

    home.backend.sql(&home.data_dir(), "INSERT INTO __diesel_schema_migrations (version) VALUES ('29990101000000')");
    let newer = status(4);
    assert!(newer.stdout.ends_with("29990101000000: applied, but unknown to this program\n"), "{newer:?}");
    for command in [&[][..], &["migrate", "run"], &["admin", "list"]] {
        run(home.agora(command), "").expect_refusal(&["29990101000000 is newer than this program"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_file_is_copied_before_a_migration() {
    let home = with_older_schema().await;
    let is_file = is_file(&home);
    let output = run(home.agora(&["migrate", "run"]), "").expect_success().stdout;
    assert_eq!(output.contains("A copy of the database before the change was saved to "), is_file, "{output}");
    let service = home.start();
    service.api.log_in("alice").await;
    service.stop();
    if !is_file {
        assert!(copies(&home).is_empty());
        return;
    }
    let copy = home.data_dir().join(format!("agora.db-schema-{BEFORE}"));
    assert_eq!(copies(&home), std::slice::from_ref(&copy));
    assert_eq!(mode(&copy), 0o600);
    assert!(output.contains(copy.file_name().unwrap().to_str().unwrap()), "{output}");

    // A start of the service makes another copy, and does not touch the first.
    let first = fs::read(&copy).unwrap();
    undo(&home);
    let service = home.start();
    service.api.log_in("alice").await;
    assert!(service.log().contains("saved a copy of the database before migrating it"));
    service.stop();
    assert_eq!(copies(&home).len(), 2);
    assert!(fs::read(&copy).unwrap() == first, "the first copy was changed");

    // A copy is a usable database.
    let mut copied = home.agora(&["migrate", "status"]);
    copied.env("AGORA_DATABASE_URL", format!("sqlite://{}", copy.display()));
    assert_eq!(run(copied, "").code, Some(3));
    fs::copy(&copy, home.data_dir().join("agora.db")).unwrap();
    let service = home.start();
    service.api.log_in("alice").await;
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_fails_repeatedly_leaves_one_copy() {
    let home = with_older_schema().await;
    home.backend.sql(&home.data_dir(), "DELETE FROM __diesel_schema_migrations WHERE version = '20261121000000'");
    for _ in 0..3 {
        run(home.agora(&["migrate", "run"]), "").expect_refusal(&["already exists"]);
        run(home.agora(&[]), "").expect_refusal(&["already exists"]);
    }
    assert_eq!(copies(&home).len(), usize::from(is_file(&home)));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_copy_is_made_of_a_new_database() {
    let home = Home::new();
    let output = run(home.agora(&["migrate", "run"]), "").expect_success().stdout;
    assert!(
        output.starts_with("Applied 2026-11-21-000000_initial, ") && output.trim_end().ends_with(&format!("{LAST}."))
    );
    assert!(copies(&home).is_empty());
    let service = home.start();
    service.api.user("alice").await;
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_creates_missing_entities_previews_and_search_indexes_and_the_status_counts_the_rest() {
    let home = Home::new();
    let service = home.start();
    let alice = service.api.user("alice").await;
    let post = service.api.post(&alice, "#Hello @alice", None).await;
    service.api.post(&alice, "nothing", None).await;
    let pictured = service.api.post(&alice, "with an image", Some(&picture())).await;
    let attachment = &pictured["attachments"][0];
    let thumbnail = service.api.image(&attachment["thumbnailUrl"]).await;
    let form = Form::new().part("profilePicture", Part::bytes(picture()).file_name("me.png"));
    let bob = service.api.user("bob").await;
    let shown = service.api.call_form(&bob, Method::PUT, "/api/users/me", form).await.expect(200).data();
    for url in [&attachment["thumbnailUrl"], &shown["profilePictureThumbnail"]] {
        fs::remove_file(home.image_file(&key(url))).unwrap();
    }
    service.stop();
    // A post from before the migration, and one whose text an older version of the program has changed.
    let before = "UPDATE posts SET attachments = NULL; UPDATE users SET small_picture = NULL; DELETE FROM post_tags; UPDATE posts SET entities = NULL WHERE content LIKE '#Hello%'; \
        UPDATE posts SET content = '#Other' WHERE content = 'nothing'";
    home.backend.sql(&home.data_dir(), before);
    let left = || {
        let output = run(home.agora(&["migrate", "status"]), "").expect_success().stdout;
        let counts = output.lines().rev().map(|line| line.rsplit(' ').next().unwrap().to_owned());
        let mut counts: Vec<String> = counts.take(3).collect();
        counts.reverse();
        counts.join(" ")
    };
    assert_eq!(left(), "2 1 2");

    let service = home.start();
    let alice = service.api.log_in("alice").await;
    let view = eventually("the entities are extracted", async || {
        let view = service.api.view(&alice, &text(&post["id"])).await;
        (view["entities"] != json!([])).then_some(view)
    })
    .await;
    assert_eq!(view, post, "with the time of its last change");
    let tagged: Value = service.api.get(&alice, "/api/tags/hello/posts").await.expect(200).data();
    assert_eq!((list(&tagged).len(), &tagged[0]["id"]), (1, &post["id"]));
    let tagged: Value = service.api.get(&alice, "/api/tags/other/posts").await.expect(200).data();
    assert_eq!(tagged[0]["entities"][0]["tag"], "other");
    eventually("nothing is pending", async || {
        let log = service.log();
        let is_done = |line: &str| log.contains(line);
        (is_done("extracted the entities of texts") && is_done("indexed rows for search")).then_some(())
    })
    .await;
    let found: Value = service.api.get(&alice, "/api/search?type=posts&q=other").await.expect(200).data();
    assert_eq!(found, tagged);
    // Previews are created without a request for the image.
    let described = eventually("a preview is created", async || {
        let view = service.api.view(&alice, &text(&pictured["id"])).await;
        (view["attachments"][0]["width"] != Value::Null).then_some(view)
    })
    .await;
    assert_eq!(described["updatedAt"], pictured["updatedAt"]);
    let [described, made] = [&described, &pictured].map(|post| &post["attachments"][0]);
    for same in ["id", "width", "height", "blurhash"] {
        assert_eq!(described[same], made[same]);
    }
    assert_eq!(service.api.image(&described["thumbnailUrl"]).await, thumbnail);
    let made = eventually("a thumbnail is created", async || {
        let profile = service.api.get(&alice, &format!("/api/users/{}/profile", bob.id)).await.expect(200).data();
        let url = &profile["profilePictureThumbnail"];
        (key(url) == key(&shown["profilePictureThumbnail"])).then(|| url.clone())
    })
    .await;
    assert_eq!(service.api.image(&made).await, thumbnail);
    assert_eq!(left(), "0 0 0");
    service.stop();
}
