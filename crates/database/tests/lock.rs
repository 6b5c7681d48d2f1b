//! The locks of the sweep and of a service, on each database.

#![forbid(unsafe_code)]
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use agora_database::{Database, Lock, OpenError, Options, Turn};
use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};

#[path = "../../../tests/support/postgres.rs"]
mod private_postgres;

/// What takes longer never happens.
const HANG: Duration = Duration::from_secs(60);

async fn open(url: &str) -> Database {
    Database::open(url, &Options { connections: 1, ..Options::default() }).await.unwrap()
}

async fn lock(database: &Database) -> Option<Lock> {
    database.lock(Turn::Sweep).await.unwrap()
}

/// Takes a lock that was just given up, which a server learns a moment later.
async fn take(database: &Database) -> Lock {
    let begun = Instant::now();
    loop {
        if let Some(lock) = lock(database).await {
            return lock;
        }
        assert!(begun.elapsed() < HANG, "the lock was not given up");
    }
}

/// What holds on each database: of two handles on it, one has the lock, until it gives it up.
async fn expect_one_at_a_time(url: &str) {
    let (one, other) = (open(url).await, open(url).await);
    let held = lock(&one).await.expect("a lock that nobody has");
    for handle in [&one, &one.clone(), &other] {
        assert!(lock(handle).await.is_none(), "two have the lock");
    }
    drop(held);
    let held = take(&other).await;
    assert!(lock(&one).await.is_none(), "two have the lock");
    drop(held);
    drop(take(&one).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_at_a_time_has_it_on_postgres() {
    let url = tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap();
    expect_one_at_a_time(&url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_at_a_time_has_it_on_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("agora.db");
    expect_one_at_a_time(&format!("sqlite:{}", file.display())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn links_to_one_sqlite_file_lead_to_one_lock() {
    let directory = tempfile::tempdir().unwrap();
    let (file, link) = (directory.path().join("agora.db"), directory.path().join("link.db"));
    let one = open(&format!("sqlite:{}", file.display())).await;
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let other = open(&format!("sqlite:{}", link.display())).await;
    let _held = lock(&one).await.expect("a lock that nobody has");
    assert!(lock(&other).await.is_none(), "two have the lock");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sqlite_database_takes_one_service_and_commands_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("agora.db");
    let url = format!("sqlite:{}", file.display());
    let serve = async || Database::open_to_serve(&url, &Options::default()).await;
    let first = serve().await.unwrap();
    assert!(matches!(serve().await, Err(OpenError::Served(_))));
    drop((open(&url).await, Database::open_existing(&url, &Options::default()).await.unwrap()));
    assert!(matches!(serve().await, Err(OpenError::Served(_))), "a command that ends leaves the service its lock");
    // Whoever still holds a clone cannot do anything with it.
    let clone = first.clone();
    first.close();
    drop(serve().await.unwrap());
    drop((first, clone));
    serve().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_changes_no_schema_below_a_service() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("agora.db");
    let url = format!("sqlite:{}", file.display());
    let service = Database::open_to_serve(&url, &Options::default()).await.unwrap();
    // As if the service were of the version before.
    let mut conn = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
    let older = "DELETE FROM __diesel_schema_migrations \
        WHERE version > (SELECT min(version) FROM __diesel_schema_migrations)";
    conn.batch_execute(older).unwrap();
    assert!(matches!(Database::open(&url, &Options::default()).await, Err(OpenError::Served(_))));
    service.close();
    // What is applied again finds its work done already, which is a failure of another kind.
    assert!(matches!(Database::open(&url, &Options::default()).await, Err(OpenError::Migration(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_postgres_database_takes_many_services() {
    let url = tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap();
    let options = Options { connections: 3, ..Options::default() };
    let _first = Database::open_to_serve(&url, &options).await.unwrap();
    let _second = Database::open_to_serve(&url, &options).await.unwrap();
}

/// Whether a process of its own gets the lock of a file.
fn another_process_gets(file: &Path) -> bool {
    let status = Command::new("flock").args(["--nonblock", "--conflict-exit-code", "9"]).arg(file).arg("true").status();
    match status.unwrap().code() {
        Some(0) => true,
        Some(9) => false,
        other => unreachable!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_it_is_a_private_file_that_other_processes_see_locked() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(&format!("sqlite:{}", directory.path().join("agora.db").display())).await;
    let file = directory.path().join("agora.db-sweep");
    let held = lock(&database).await.expect("a lock that nobody has");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!another_process_gets(&file));
    drop(held);
    assert!(another_process_gets(&file));
}
