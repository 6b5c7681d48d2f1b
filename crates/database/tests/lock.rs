//! The locks of the sweep and of a service, on each database.

#![forbid(unsafe_code)]
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agora_database::{Database, Flavor, Lock, OpenError, Options, Turn, probe};
use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};

#[path = "../../../tests/support/postgres.rs"]
mod private_postgres;

/// What takes longer never happens.
const HANG: Duration = Duration::from_secs(60);

async fn open(url: &str) -> Database {
    open_as(Flavor::Postgresql, url).await.unwrap()
}

async fn open_as(flavor: Flavor, url: &str) -> Result<Database, OpenError> {
    Database::open(url, &Options { connections: 1, flavor, ..Options::default() }).await
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
    expect_one_of(open(url).await, open(url).await).await;
}

async fn expect_one_of(one: Database, other: Database) {
    let held = lock(&one).await.expect("a lock that nobody has");
    for handle in [&one, &other] {
        assert!(lock(handle).await.is_none(), "two have the lock");
    }
    drop(held);
    let held = take(&other).await;
    assert!(lock(&one).await.is_none(), "two have the lock");
    drop(held);
    drop(take(&one).await);
}

/// Two handles on a fresh database that is taken for an engine over many machines, opened at the same moment, and its name.
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
async fn one_at_a_time_has_it_on_an_engine_over_many_machines() {
    let (_, [one, other]) = distributed().await;
    expect_one_of(one, other).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_is_not_renewed_is_taken_by_others_and_one_of_a_node_that_stops_at_once() {
    let (name, [one, other]) = distributed().await;
    let held = lock(&one).await.unwrap();
    assert!(lock(&other).await.is_none());
    // As when the node that has it vanished half a minute ago.
    let expire = "UPDATE leases SET expires_at = 'epoch' WHERE name = 'sweep';";
    tokio::task::spawn_blocking(move || private_postgres::shared().session(&name).run(expire)).await.unwrap();
    let taken = lock(&other).await.unwrap();
    // What it gives up is not its own any more.
    drop(held);
    tokio::task::spawn_blocking(move || one.close()).await.unwrap();
    assert!(lock(&other).await.is_none());

    let other = Arc::new(other);
    let closing = Arc::clone(&other);
    tokio::task::spawn_blocking(move || closing.close()).await.unwrap();
    assert!(other.lock(Turn::Mail).await.is_err(), "it is closed");
    drop(taken);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_stays_of_the_flavor_that_it_was_made_as() {
    for (made, other) in [(Flavor::Postgresql, Flavor::Distributed), (Flavor::Distributed, Flavor::Postgresql)] {
        let url = tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap();
        open_as(made, &url).await.unwrap();
        assert!(matches!(open_as(other, &url).await.err(), Some(OpenError::Flavor(_))), "{other:?}");
        let looked = probe(&url, &Options { flavor: other, ..Options::default() }).await;
        assert!(matches!(looked.err(), Some(OpenError::Flavor(_))), "{other:?}");
        open_as(made, &url).await.unwrap();
    }
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
    // Whoever still holds it cannot do anything with it.
    first.close();
    drop(serve().await.unwrap());
    drop(first);
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
