//! `agora doctor`: its findings, and that it changes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::picture::picture;
use crate::process::{Finished, Home, run};

fn doctor(home: &Home, variables: &[(&str, &str)]) -> Finished {
    let mut command = home.agora(&["doctor"]);
    command.envs(variables.iter().copied());
    let finished = run(command, "");
    // All checks run, whatever their results.
    for subject in ["configuration", "data directory", "signing secret", "database", "images", "clock", "free space"] {
        assert!(finished.stdout.lines().any(|line| line[9..].starts_with(subject)), "{subject}: {finished:?}");
    }
    finished
}

/// Checks that there is a finding with this state about this subject.
#[track_caller]
fn expect(finished: &Finished, code: i32, state: &str, subject: &str, words: &str) {
    assert_eq!(finished.code, Some(code), "{finished:?}");
    let beginning = format!("{state:8} {subject}: ");
    let is_found = |line: &str| line.starts_with(&beginning) && line.contains(words);
    assert!(finished.stdout.lines().any(is_found), "no {beginning:?} with {words:?}: {finished:?}");
}

#[track_caller]
fn expect_well(finished: &Finished) {
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let is_well = |line: &str| line.starts_with("ok ") || line == "No problems found.";
    assert!(finished.stdout.lines().all(is_well), "{finished:?}");
}

/// Returns all files and directories below a directory, with the content of the files.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
            found.insert(path, None);
        } else {
            found.insert(path.clone(), Some(fs::read(&path).unwrap()));
        }
    }
    found
}

#[test]
fn before_the_first_start_all_checks_pass_and_nothing_is_created() {
    let home = Home::new();
    let finished = doctor(&home, &[]);
    expect_well(&finished);
    expect(&finished, 0, "ok", "data directory", "the first start creates it");
    assert!(!home.data_dir().exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn while_and_after_a_service_runs_all_checks_pass_and_nothing_is_changed() {
    let home = Home::new();
    let images = home.backend.images(&home.data_dir());
    let service = home.start_with_root();
    let alice = service.api.user("alice").await;
    service.api.post(&alice, "", Some(&picture())).await;
    let names = |directory: &Path| contents(directory).into_keys().collect::<Vec<_>>();
    let before = (names(&home.data_dir()), contents(&images));
    let finished = doctor(&home, &[]);
    expect_well(&finished);
    expect(&finished, 0, "ok", "database", "is up to date");
    expect(&finished, 0, "ok", "images", "written, read and deleted");
    expect(&finished, 0, "ok", "clock", "the image store");
    assert_eq!((names(&home.data_dir()), contents(&images)), before);
    service.api.post(&alice, "still here", None).await;
    service.stop();

    let before = (contents(&home.data_dir()), contents(&images));
    expect_well(&doctor(&home, &[]));
    assert_eq!((contents(&home.data_dir()), contents(&images)), before);
}

#[test]
fn a_bad_setting_fails_the_checks_that_depend_on_it() {
    let home = Home::new();
    let finished = doctor(&home, &[("AGORA_BCRYPT_COST", "3"), ("AGORA_DATABASE_URL", "agora.db")]);
    expect(&finished, 1, "failed", "configuration", "AGORA_BCRYPT_COST must be a number from 4 to 20");
    expect(&finished, 1, "failed", "configuration", "AGORA_DATABASE_URL: ");
    expect(&finished, 1, "failed", "database", "not checked");
    expect(&finished, 1, "ok", "data directory", "the first start creates it");

    fs::write(home.path("agora.toml"), "listen = \n").unwrap();
    let finished = doctor(&home, &[]);
    expect(&finished, 1, "failed", "configuration", "agora.toml:1: invalid TOML");
    expect(&finished, 1, "failed", "signing secret", "not checked");
    expect(&finished, 1, "ok", "data directory", "the first start creates it");
    assert!(!home.data_dir().exists());
}

#[test]
fn a_missing_file_of_the_secret_is_not_mistaken_for_a_generated_secret() {
    let home = Home::new();
    let finished = doctor(&home, &[("AGORA_JWT_SECRET_FILE", "/nope")]);
    expect(&finished, 1, "failed", "configuration", "AGORA_JWT_SECRET_FILE: cannot read /nope");
    expect(&finished, 1, "failed", "signing secret", "not checked");
}

#[test]
fn an_address_that_this_machine_lacks_is_a_failure() {
    let home = Home::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    expect(
        &doctor(&home, &[("AGORA_LISTEN", &address)]),
        0,
        "ok",
        "addresses",
        "is in use, by the service if it is running",
    );
    let finished = doctor(&home, &[("AGORA_LISTEN", "203.0.113.9:80"), ("AGORA_METRICS_LISTEN", "203.0.113.9:9464")]);
    expect(&finished, 1, "failed", "addresses", "cannot listen on 203.0.113.9:80 (AGORA_LISTEN)");
    expect(&finished, 1, "failed", "addresses", "cannot listen on 203.0.113.9:9464 (AGORA_METRICS_LISTEN)");
}

#[test]
fn an_unreachable_server_is_a_failure_that_does_not_show_its_password() {
    let home = Home::new();
    let finished = doctor(&home, &[("AGORA_DATABASE_URL", "postgres://agora:hunter2@127.0.0.1:1/agora")]);
    expect(&finished, 1, "failed", "database", "PostgreSQL at 127.0.0.1");
    expect(&finished, 1, "failed", "database", "start the server, or correct AGORA_DATABASE_URL");
    assert!(!format!("{finished:?}").contains("hunter2"), "{finished:?}");
}

#[test]
fn an_unusable_image_store_is_a_failure() {
    let home = Home::new();
    let finished = doctor(&home, &[("AGORA_MEDIA_URL", "file:///dev/null/media")]);
    expect(&finished, 1, "failed", "images", "cannot be created");
    let finished = doctor(
        &home,
        &[
            ("AGORA_MEDIA_URL", "s3://agora"),
            ("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
            ("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1"),
            ("AWS_ACCESS_KEY_ID", "agora"),
            ("AWS_SECRET_ACCESS_KEY", "hunter2"),
        ],
    );
    expect(&finished, 1, "failed", "images", "cannot write there");
    assert!(!format!("{finished:?}").contains("hunter2"), "{finished:?}");
}

#[test]
fn files_that_others_can_read_are_a_warning() {
    let home = Home::new();
    home.start().stop();
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set(&home.data_dir(), 0o755);
    set(&home.data_dir().join("jwt-secret"), 0o644);
    fs::write(home.path("agora.toml"), "jwt_accepted_secret = '0123456789abcdef0123456789abcdef'\n").unwrap();
    set(&home.path("agora.toml"), 0o644);
    let finished = doctor(&home, &[]);
    expect(&finished, 0, "warning", "data directory", "chmod 700");
    expect(&finished, 0, "warning", "signing secret", "chmod 600");
    expect(&finished, 0, "warning", "configuration", "chmod o-rwx");
    assert!(!format!("{finished:?}").contains("0123456789abcdef"), "{finished:?}");
}

#[test]
fn damaged_files_and_files_of_another_kind_are_a_failure() {
    let home = Home::new();
    home.start().stop();
    fs::write(home.data_dir().join("jwt-secret"), "damaged").unwrap();
    expect(&doctor(&home, &[]), 1, "failed", "signing secret", "is damaged");

    let letter = home.path("letter.txt");
    fs::write(&letter, "Dear Sir or Madam, ".repeat(500)).unwrap();
    let url = format!("sqlite://{}", letter.display());
    let finished = doctor(&home, &[("AGORA_DATA_DIR", letter.to_str().unwrap()), ("AGORA_DATABASE_URL", &url)]);
    expect(&finished, 1, "failed", "data directory", "is not a directory");
    expect(&finished, 1, "failed", "database", "not a database");
}

#[test]
fn an_older_or_newer_schema_is_reported_and_not_changed() {
    let home = Home::new();
    home.start().stop();
    let sql = |statement: &str| home.backend.sql(&home.data_dir(), statement);
    let last = "(SELECT max(version) FROM __diesel_schema_migrations)";
    sql(&format!("DELETE FROM __diesel_schema_migrations WHERE version = {last}"));
    expect(&doctor(&home, &[]), 0, "warning", "database", "pending migrations: 1;");
    expect(&doctor(&home, &[]), 0, "warning", "database", "pending migrations: 1;");
    sql("INSERT INTO __diesel_schema_migrations (version) VALUES ('99999999999999')");
    expect(&doctor(&home, &[]), 1, "failed", "database", "newer than this program");
}
