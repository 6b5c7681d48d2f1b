#![allow(clippy::panic, reason = "a test fails by panicking")]

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use diesel::sql_types::Integer;
use tokio::sync::Notify;

use super::*;

#[path = "../../../../tests/support/postgres.rs"]
mod private_postgres;

/// An empty database, with one connection to it in the pool.
async fn fresh(statement_timeout: Duration) -> Arc<Postgres> {
    let url = tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap();
    let options = Options { connections: 1, statement_timeout, ..Options::default() };
    Arc::new(Postgres::open(&url, &options).await.unwrap())
}

#[derive(QueryableByName)]
struct Pid {
    #[diesel(sql_type = Integer)]
    pid: i32,
}

/// Which of the server's processes the pool's connection leads to.
async fn pid(database: &Postgres) -> i32 {
    let read = database.read(|conn| {
        let query = diesel::sql_query("SELECT pg_backend_pid() AS pid").get_result::<Pid>(conn);
        Box::pin(async move { Ok(query.await?.pid) })
    });
    read.await.unwrap()
}

/// Runs statements as one write.
async fn write(database: &Postgres, sql: &'static str) -> Result<()> {
    database.write(move |conn| Box::pin(async move { Ok(conn.batch_execute(sql).await?) })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadlock_is_resolved_by_running_a_transaction_again_in_whatever_language_it_is_reported() {
    let database = fresh(Duration::from_secs(20)).await;
    // What a sequence has given out is not taken back.
    let setup = "CREATE SEQUENCE attempts; CREATE TABLE written (n bigint);
        CREATE FUNCTION deadlock() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF nextval('attempts') < 3 THEN
                RAISE EXCEPTION 'Verklemmung entdeckt' USING ERRCODE = '40P01', DETAIL = 'Wer auf wen wartet.', HINT = 'Siehe Log.';
            END IF;
            RETURN new;
        END $$;
        CREATE TRIGGER deadlock BEFORE INSERT ON written FOR EACH ROW EXECUTE FUNCTION deadlock();";
    write(&database, setup).await.unwrap();
    write(&database, "INSERT INTO written VALUES (1)").await.unwrap();
    let again = write(&database, "DO $$ BEGIN ASSERT (SELECT count(*) FROM written) = 1; END $$");
    again.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn two_transactions_that_wait_for_each_other_both_succeed() {
    let url = tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap();
    let database = Arc::new(Postgres::open(&url, &Options::default()).await.unwrap());
    write(&database, "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0), (2, 0)").await.unwrap();
    let attempts = Arc::new(AtomicU32::new(0));
    let both = Arc::new(tokio::sync::Barrier::new(2));
    let one_then_other = |first: i32, second: i32| {
        let (database, attempts, both) = (Arc::clone(&database), Arc::clone(&attempts), Arc::clone(&both));
        async move {
            let write = database.write(move |conn| {
                let (attempts, both) = (Arc::clone(&attempts), Arc::clone(&both));
                Box::pin(async move {
                    conn.batch_execute(&format!("UPDATE t SET n = n + 1 WHERE id = {first}")).await?;
                    if attempts.fetch_add(1, Ordering::SeqCst) < 2 {
                        both.wait().await;
                    }
                    Ok(conn.batch_execute(&format!("UPDATE t SET n = n + 1 WHERE id = {second}")).await?)
                })
            });
            write.await
        }
    };
    let (one, other) = tokio::join!(one_then_other(1, 2), one_then_other(2, 1));
    one.unwrap();
    other.unwrap();
    write(&database, "DO $$ BEGIN ASSERT (SELECT min(n) FROM t) = 2; END $$").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn work_goes_on_when_nobody_waits_for_it_any_more_and_its_connection_is_used_again() {
    let database = fresh(Duration::from_secs(20)).await;
    write(&database, "CREATE TABLE written (n int)").await.unwrap();
    let before = pid(&database).await;
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let request = tokio::spawn({
        let (database, begun, go_on) = (Arc::clone(&database), Arc::clone(&begun), Arc::clone(&go_on));
        async move {
            let write = database.write(move |conn| {
                let (begun, go_on) = (Arc::clone(&begun), Arc::clone(&go_on));
                Box::pin(async move {
                    conn.batch_execute("INSERT INTO written VALUES (1)").await?;
                    begun.notify_one();
                    go_on.notified().await;
                    Ok(conn.batch_execute("INSERT INTO written VALUES (2)").await?)
                })
            });
            write.await
        }
    });
    begun.notified().await;
    request.abort();
    assert!(request.await.unwrap_err().is_cancelled());
    go_on.notify_one();
    assert_eq!(pid(&database).await, before);
    write(&database, "DO $$ BEGIN ASSERT (SELECT count(*) FROM written) = 2; END $$").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_connection_of_work_that_takes_too_long_leaves_the_pool() {
    let database = fresh(Duration::from_millis(200)).await;
    let before = pid(&database).await;
    let endless = database.write(|conn| {
        Box::pin(async move {
            conn.batch_execute("CREATE TABLE half_written (n int)").await?;
            pending::<Outcome<()>>().await
        })
    });
    let cut_short = endless.await;
    assert!(matches!(cut_short, Err(Error::Unavailable(_))), "{cut_short:?}");
    assert_ne!(pid(&database).await, before);
    // Nothing of it is there.
    write(&database, "CREATE TABLE half_written (n int)").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_connection_of_work_that_panics_leaves_the_pool() {
    let database = fresh(Duration::from_secs(20)).await;
    let before = pid(&database).await;
    let panicked: Result<()> = database.write(|_| Box::pin(async { panic!("as a defect would") })).await;
    assert!(matches!(panicked, Err(Error::Internal(_))), "{panicked:?}");
    assert_ne!(pid(&database).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_the_server_ended_is_replaced() {
    let database = fresh(Duration::from_secs(20)).await;
    let before = pid(&database).await;
    let ended = write(&database, "SELECT pg_terminate_backend(pg_backend_pid())").await;
    assert!(matches!(ended, Err(Error::Unavailable(_))), "{ended:?}");
    assert_ne!(pid(&database).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_outlive_the_runtime_of_the_request_that_needed_them() {
    let database = fresh(Duration::from_secs(20)).await;
    let before = std::thread::spawn({
        let database = Arc::clone(&database);
        move || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(pid(&database))
    });
    let before = tokio::task::spawn_blocking(|| before.join().unwrap()).await.unwrap();
    assert_eq!(pid(&database).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_at_a_time_has_the_lock_of_a_task() {
    let database = fresh(Duration::from_secs(20)).await;
    let lock = database.try_lock(Task::Sweep).await.unwrap();
    assert!(lock.is_some());
    assert!(database.try_lock(Task::Sweep).await.unwrap().is_none());
    drop(lock);
    while database.try_lock(Task::Sweep).await.unwrap().is_none() {}
}
