//! The locks of background jobs and of a service, on each database.

#![forbid(unsafe_code)]
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agora_database::{Database, ExclusiveJob, Flavor, Lock, OpenError, Options, probe};
use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};

#[path = "../../../tests/support/postgres.rs"]
mod private_postgres;

/// The timeout after which a test fails.
const TIMEOUT: Duration = Duration::from_secs(60);

async fn open(url: &str) -> Database {
    open_as(Flavor::Postgresql, url).await.unwrap()
}

async fn open_as(flavor: Flavor, url: &str) -> Result<Database, OpenError> {
    Database::open(url, &Options { connections: 1, flavor, ..Options::default() }).await
}

async fn lock(database: &Database) -> Option<Lock> {
    database.lock(ExclusiveJob::Sweep).await.unwrap()
}

/// Acquires a lock that was just released. A server may notice the release a moment later.
async fn acquire(database: &Database) -> Lock {
    let started = Instant::now();
    loop {
        if let Some(lock) = lock(database).await {
            return lock;
        }
        assert!(started.elapsed() < TIMEOUT, "the lock was not given up");
    }
}

/// Asserts that only one of two handles on a database has the lock until it releases it.
async fn expect_exclusive_lock(url: &str) {
    expect_exclusive_between(open(url).await, open(url).await).await;
}

async fn expect_exclusive_between(one: Database, other: Database) {
    let held = lock(&one).await.expect("a lock that nobody has");
    for handle in [&one, &other] {
        assert!(lock(handle).await.is_none(), "two have the lock");
    }
    drop(held);
    let held = acquire(&other).await;
    assert!(lock(&one).await.is_none(), "two have the lock");
    drop(held);
    drop(acquire(&one).await);
}

/// Returns two handles, opened at the same moment, on a fresh database that is used as a distributed one; and its name.
async fn distributed() -> (String, [Database; 2]) {
    let (name, url) = tokio::task::spawn_blocking(private_postgres::fresh_database_by_name).await.unwrap();
    let open = || {
        let url = url.clone();
        tokio::spawn(async move { open_as(Flavor::Distributed, &url).await.unwrap() })
    };
    let (one, other) = (open(), open());
    (name, [one.await.unwrap(), other.await.unwrap()])
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lock_is_exclusive_on_a_distributed_database() {
    let (_, [one, other]) = distributed().await;
    expect_exclusive_between(one, other).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_node_takes_an_expired_lease_and_that_of_a_stopped_node_at_once() {
    let (name, [one, other]) = distributed().await;
    let held = lock(&one).await.unwrap();
    assert!(lock(&other).await.is_none());
    // As if the node with the lease had vanished half a minute ago.
    let expire = "UPDATE leases SET expires_at = 'epoch' WHERE name = 'sweep';";
    tokio::task::spawn_blocking(move || private_postgres::shared().session(&name).run(expire)).await.unwrap();
    let taken = lock(&other).await.unwrap();
    // The lease that it releases is no longer its own.
    drop(held);
    tokio::task::spawn_blocking(move || one.close()).await.unwrap();
    assert!(lock(&other).await.is_none());

    let other = Arc::new(other);
    let closing = Arc::clone(&other);
    tokio::task::spawn_blocking(move || closing.close()).await.unwrap();
    assert!(other.lock(ExclusiveJob::Mail).await.is_err(), "it is closed");
    drop(taken);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_keeps_the_flavor_that_it_was_created_with() {
    for (made, other) in [(Flavor::Postgresql, Flavor::Distributed), (Flavor::Distributed, Flavor::Postgresql)] {
        let url = tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap();
        open_as(made, &url).await.unwrap();
        assert!(matches!(open_as(other, &url).await.err(), Some(OpenError::Flavor(_))), "{other:?}");
        let probed = probe(&url, &Options { flavor: other, ..Options::default() }).await;
        assert!(matches!(probed.err(), Some(OpenError::Flavor(_))), "{other:?}");
        open_as(made, &url).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lock_is_exclusive_on_postgres() {
    let url = tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap();
    expect_exclusive_lock(&url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lock_is_exclusive_on_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("agora.db");
    expect_exclusive_lock(&format!("sqlite:{}", file.display())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_symlink_to_a_sqlite_file_shares_its_lock() {
    let directory = tempfile::tempdir().unwrap();
    let (file, link) = (directory.path().join("agora.db"), directory.path().join("link.db"));
    let one = open(&format!("sqlite:{}", file.display())).await;
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let other = open(&format!("sqlite:{}", link.display())).await;
    let _held = lock(&one).await.expect("a lock that nobody has");
    assert!(lock(&other).await.is_none(), "two have the lock");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sqlite_database_can_be_opened_by_one_service_and_by_commands_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("agora.db");
    let url = format!("sqlite:{}", file.display());
    let serve = async || Database::open_to_serve(&url, &Options::default()).await;
    let first = serve().await.unwrap();
    assert!(matches!(serve().await, Err(OpenError::Served(_))));
    drop((open(&url).await, Database::open_existing(&url, &Options::default()).await.unwrap()));
    assert!(matches!(serve().await, Err(OpenError::Served(_))), "a command that ends leaves the service its lock");
    // A closed handle can no longer be used, so it does not keep the lock.
    first.close();
    drop(serve().await.unwrap());
    drop(first);
    serve().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_does_not_migrate_a_database_that_a_service_uses() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("agora.db");
    let url = format!("sqlite:{}", file.display());
    let service = Database::open_to_serve(&url, &Options::default()).await.unwrap();
    // As if the service were of an older version.
    let mut conn = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
    let older = "DELETE FROM __diesel_schema_migrations \
        WHERE version > (SELECT min(version) FROM __diesel_schema_migrations)";
    conn.batch_execute(older).unwrap();
    assert!(matches!(Database::open(&url, &Options::default()).await, Err(OpenError::Served(_))));
    service.close();
    // The migrations now run, and fail in another way, since their changes are there already.
    assert!(matches!(Database::open(&url, &Options::default()).await, Err(OpenError::Migration(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_postgres_database_can_be_opened_by_several_services() {
    let url = tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap();
    let options = Options { connections: 3, ..Options::default() };
    let _first = Database::open_to_serve(&url, &options).await.unwrap();
    let _second = Database::open_to_serve(&url, &options).await.unwrap();
}

/// Returns whether another process can lock a file.
fn can_another_process_lock(file: &Path) -> bool {
    let status = Command::new("flock").args(["--nonblock", "--conflict-exit-code", "9"]).arg(file).arg("true").status();
    match status.unwrap().code() {
        Some(0) => true,
        Some(9) => false,
        other => unreachable!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_the_lock_is_a_private_file_that_other_processes_see_locked() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(&format!("sqlite:{}", directory.path().join("agora.db").display())).await;
    let file = directory.path().join("agora.db-sweep");
    let held = lock(&database).await.expect("a lock that nobody has");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!can_another_process_lock(&file));
    drop(held);
    assert!(can_another_process_lock(&file));
}
