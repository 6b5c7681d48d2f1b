//! The files of the default configuration: SQLite and a directory of images.

use std::fs;

use diesel::connection::SimpleConnection as _;
use diesel::sql_types::Bool;
use diesel::{Connection as _, RunQueryDsl as _, SqliteConnection};

use crate::client::{list, text};
use crate::picture::{expect_picture, picture};
use crate::process::{Finished, Home, mode, run};

#[tokio::test(flavor = "multi_thread")]
async fn files_and_directories_are_created_for_the_owner_alone() {
    let home = Home::new();
    let mut service = home.start();
    let shown = service.line("Data directory: ");
    assert_eq!(shown, home.data_dir().canonicalize().unwrap().display().to_string());
    let data_dir = home.data_dir();
    assert_eq!(mode(&data_dir), 0o700);
    assert_eq!(mode(&data_dir.join("media")), 0o700);
    for file in ["agora.db", "agora.db-wal", "agora.db-shm", "jwt-secret"] {
        assert_eq!(mode(&data_dir.join(file)), 0o600, "{file}");
    }
    let secret = home.secret();
    assert!(secret.len() == 64 && secret.bytes().all(|byte| byte.is_ascii_hexdigit()), "{} bytes", secret.len());
    service.stop();
    let names = fs::read_dir(&data_dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let others: Vec<_> = names.filter(|name| !name.starts_with("agora.db")).collect();
    assert!(others.len() == 2 && others.iter().all(|name| name == "jwt-secret" || name == "media"), "{others:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_use_of_a_session_just_before_the_stop_is_stored() {
    let home = Home::new();
    let service = home.start();
    let alice = service.api.user("alice").await;
    service.stop();
    let file = home.data_dir().join("agora.db");
    let mut conn = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
    conn.batch_execute("UPDATE sessions SET last_seen_at = 0").unwrap();
    let service = home.start();
    service.api.get(&alice, "/api/users/me").await.expect(200);
    service.stop();
    let stored = diesel::dsl::sql::<Bool>("SELECT last_seen_at > 0 FROM sessions");
    assert!(stored.get_result::<bool>(&mut conn).unwrap());
}

#[test]
fn after_a_stop_the_database_is_one_file() {
    let home = Home::new();
    for _ in 0..20 {
        home.start().stop();
        for companion in ["agora.db-wal", "agora.db-shm"] {
            assert!(!home.data_dir().join(companion).exists(), "{companion} is left");
        }
    }
}

#[test]
fn a_file_that_is_no_database_is_refused_by_name_and_not_changed() {
    let home = Home::new();
    let file = home.path("letter.txt");
    let letter = "Dear Sir or Madam, ".repeat(500);
    fs::write(&file, &letter).unwrap();
    let url = format!("sqlite://{}", file.display());
    refusal(&home, &url).expect_refusal(&[file.to_str().unwrap(), "not a database"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), letter);

    let directory = home.path("directory");
    fs::create_dir(&directory).unwrap();
    let url = format!("sqlite:{}", directory.display());
    refusal(&home, &url).expect_refusal(&[directory.to_str().unwrap(), "directory"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn database_and_images_may_be_elsewhere() {
    let home = Home::new();
    let (database, media) = (home.path("kept/agora.db"), home.path("pictures"));
    fs::create_dir(database.parent().unwrap()).unwrap();
    let service = home.start_with(&[
        ("AGORA_DATABASE_URL", &format!("sqlite:{}", database.display())),
        ("AGORA_MEDIA_URL", &format!("file://{}", media.display())),
    ]);
    let alice = service.api.user("alice").await;
    let post = service.api.post(&alice, "", Some(&picture())).await;
    expect_picture(&service.api.image(&post["image"]).await);
    service.stop();
    assert!(database.exists() && !home.data_dir().join("agora.db").exists());
    assert_eq!(fs::read_dir(&media).unwrap().count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_service_on_a_database_is_refused_without_harm_to_the_first() {
    let home = Home::new();
    let first = home.start_with_root();
    let alice = first.api.user("alice").await;
    let post = first.api.post(&alice, "", Some(&picture())).await;
    let words = ["another process serves", "agora.db", "stop it first"];
    run(home.agora(&[]), "").expect_refusal(&words);
    // Also by another path to the file, and with another data directory.
    let link = home.path("link.db");
    std::os::unix::fs::symlink(home.data_dir().join("agora.db"), &link).unwrap();
    let mut elsewhere = home.agora(&["--data-dir", home.path("elsewhere").to_str().unwrap()]);
    elsewhere.env("AGORA_DATABASE_URL", format!("sqlite://{}", link.display()));
    run(elsewhere, "").expect_refusal(&words[..1]);

    // Commands work while it runs, and the first service keeps working.
    run(home.agora(&["admin", "grant", "alice"]), "").expect_success();
    run(home.agora(&["backup", home.path("backup.tar").to_str().unwrap()]), "").expect_success();
    first.api.post(&alice, "still here", None).await;
    first.kill();

    // The kernel has released the lock of the killed service.
    let second = home.start();
    expect_picture(&second.api.image(&second.api.view(&alice, &text(&post["id"])).await["image"]).await);
    assert_eq!(list(&second.api.get(&alice, "/api/posts/all").await.expect(200).data()).len(), 2);
    run(home.agora(&[]), "").expect_refusal(&words);
    second.stop();
    home.start().stop();
}

/// Starts the service with this database; returns how it ended.
fn refusal(home: &Home, database_url: &str) -> Finished {
    let mut command = home.agora(&[]);
    command.env("AGORA_DATABASE_URL", database_url);
    run(command, "")
}

#[test]
fn the_doctor_finds_overwritten_pages() {
    let home = Home::new();
    home.start().stop();
    let filler = "CREATE TABLE filler (text TEXT); WITH RECURSIVE rows(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM rows \
                  WHERE n < 1000) INSERT INTO filler SELECT hex(zeroblob(200)) FROM rows; PRAGMA wal_checkpoint(TRUNCATE)";
    home.backend.sql(&home.data_dir(), filler);
    let doctor = || run(home.agora(&["doctor"]), "");
    doctor().expect_success();
    let path = home.data_dir().join("agora.db");
    let mut bytes = fs::read(&path).unwrap();
    let end = bytes.len();
    // Only the pages of the table, which are the last ones.
    bytes[end - 40 * 4096..end - 20 * 4096].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    let found = doctor();
    assert_eq!(found.code, Some(1), "{found:?}");
    let is_finding = |line: &str| line.starts_with("failed   database: ") && line.ends_with(": restore a backup");
    assert!(found.stdout.lines().any(is_finding), "{found:?}");
}
