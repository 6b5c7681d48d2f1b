use agora_domain::search::{IndexedText, Kind};
use diesel::connection::SimpleConnection;
use diesel::query_builder::QueryId;
use diesel::{ExpressionMethods as _, QueryDsl as _, SqliteConnection};
use tempfile::TempDir;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::*;
use crate::error::Outcome;
use crate::rows::PostRow;
use crate::schema::{posts, search_tail};
use crate::search_index::TextRow;
use crate::sql_types::{DbId, DbInstant};
use crate::sqlite::dialect::{RunQueryDsl, complete};

fn fresh() -> (TempDir, Sqlite) {
    let directory = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::open(Opening::Serve, &directory.path().join("agora.db"), 2).unwrap();
    (directory, sqlite)
}

fn insert_user(conn: &mut SqliteConnection, n: usize) -> Outcome<()> {
    let id = Uuid::from_u128(n as u128).simple().to_string();
    let row =
        format!("x'{id}', 'u{n}', 'u{n}', 'e{n}', 'e{n}', '', NULL, NULL, 0, 1, 1, 0, 0, NULL, 1, 1, 0, 1, 0, 0, NULL");
    Ok(conn.batch_execute(&format!("INSERT INTO users VALUES ({row})"))?)
}

fn users(conn: &mut SqliteConnection) -> Outcome<i64> {
    complete(async { Ok(RunQueryDsl::get_result(crate::schema::users::table.count(), conn).await?) })
}

async fn count_users(sqlite: &Sqlite) -> i64 {
    sqlite.read(users).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_fails_the_whole_group_with_its_cause_and_later_writes_succeed() {
    let (_directory, sqlite) = fresh();
    // SQLite's own limit on the size of the file stands in for a full disk.
    sqlite.write(|conn| Ok(conn.batch_execute("PRAGMA max_page_count = 1")?)).await.unwrap();
    let failure = sqlite.write(|conn: &mut SqliteConnection| {
        insert_user(conn, 1)?;
        Ok(conn.batch_execute("CREATE TABLE t AS SELECT zeroblob(3000000) AS b")?)
    });
    let Err(Error::Unavailable(cause)) = failure.await else { panic!("the disk is full") };
    assert!(cause.to_string().contains("full"), "{cause}");
    sqlite.write(|conn| Ok(conn.batch_execute("PRAGMA max_page_count = 1000000")?)).await.unwrap();
    sqlite.write(|conn| insert_user(conn, 2)).await.unwrap();
    assert_eq!(count_users(&sqlite).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_rolls_back_its_own_job_alone() {
    let (_directory, sqlite) = fresh();
    let panicking = sqlite.write(|conn: &mut SqliteConnection| -> Outcome<()> {
        insert_user(conn, 1)?;
        panic!("a defect");
    });
    let (panicked, other) = tokio::join!(panicking, sqlite.write(|conn| insert_user(conn, 2)));
    assert!(matches!(panicked, Err(Error::Internal(_))));
    other.unwrap();
    let reading = sqlite.read(|_: &mut SqliteConnection| -> Outcome<()> { panic!("a defect") });
    assert!(matches!(reading.await, Err(Error::Internal(_))));
    for _ in 0..4 {
        assert_eq!(count_users(&sqlite).await, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_job_does_not_affect_the_others_of_its_group() {
    let (_directory, sqlite) = fresh();
    let jobs = (0..20).map(|n| sqlite.write(move |conn| insert_user(conn, n / 2)));
    let outcomes = futures_util::future::join_all(jobs).await;
    let conflicts = outcomes.iter().filter(|it| matches!(it, Err(Error::Conflict(_)))).count();
    assert_eq!((outcomes.iter().filter(|it| it.is_ok()).count(), conflicts), (10, 10));
    assert_eq!(count_users(&sqlite).await, 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_database_refuses_work() {
    let (_directory, sqlite) = fresh();
    sqlite.close();
    sqlite.close();
    assert!(matches!(sqlite.write(|conn| insert_user(conn, 1)).await, Err(Error::Unavailable(_))));
    assert!(matches!(sqlite.read(|conn| insert_user(conn, 1)).await, Err(Error::Unavailable(_))));
}

#[test]
fn processes_that_start_at_once_on_a_new_file_all_find_its_schema() {
    for _ in 0..10 {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("agora.db");
        let start = |opening| {
            std::thread::spawn({
                let file = file.clone();
                move || Sqlite::open(opening, &file, 1).map(drop)
            })
        };
        // A service, and commands beside it.
        let openings = [Opening::Change, Opening::Serve, Opening::Change, Opening::Change];
        let starts: Vec<_> = openings.into_iter().map(start).collect();
        for start in starts {
            start.join().unwrap().unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lanes_report_busy_and_waiting_jobs_and_the_writer_counts_its_groups() {
    let (_directory, sqlite) = fresh();
    let before = sqlite.write_groups();
    let lane = |name: &str| sqlite.lanes().into_iter().find(|lane| lane.name == name).unwrap();
    assert_eq!((lane("read").size, lane("read").busy, lane("write").size, lane("write").busy), (2, 0, 1, 0));
    let (let_go, waits) = std::sync::mpsc::channel::<()>();
    let first = sqlite.write(move |_| {
        let _ = waits.recv();
        Ok(())
    });
    let others = async {
        while lane("write").busy == 0 {
            tokio::task::yield_now().await;
        }
        let writes = futures_util::future::join_all((1..4).map(|n| sqlite.write(move |conn| insert_user(conn, n))));
        let release = async {
            while lane("write").waiting < 3 {
                tokio::task::yield_now().await;
            }
            let_go.send(()).unwrap();
        };
        tokio::join!(writes, release).0
    };
    let (first, others) = tokio::join!(first, others);
    first.unwrap();
    assert!(others.into_iter().all(|write| write.is_ok()));
    // The groups are counted after the answers.
    while lane("write").busy > 0 || sqlite.write_groups().writes < before.writes + 4 {
        tokio::task::yield_now().await;
    }
    assert_eq!(sqlite.write_groups().groups, before.groups + 2);
}

/// A read that counts users and then waits until it is released: its outcome, and the sender that releases it.
struct HeldRead {
    count: tokio::task::JoinHandle<agora_domain::Result<i64>>,
    let_go: std::sync::mpsc::Sender<()>,
    started: oneshot::Receiver<()>,
}

fn held_read(sqlite: &Arc<Sqlite>) -> HeldRead {
    let (let_go, waits) = std::sync::mpsc::channel::<()>();
    let (start, started) = oneshot::channel();
    let work = move |conn: &mut SqliteConnection| {
        let count = users(conn)?;
        let _ = start.send(());
        let _ = waits.recv();
        Ok(count)
    };
    let sqlite = Arc::clone(sqlite);
    HeldRead { count: tokio::spawn(async move { sqlite.read(work).await }), let_go, started }
}

fn with_one_reader() -> (TempDir, Arc<Sqlite>) {
    let directory = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::open(Opening::Serve, &directory.path().join("agora.db"), 1).unwrap();
    (directory, Arc::new(sqlite))
}

async fn until_waiting(sqlite: &Sqlite, reads: usize) {
    while sqlite.readers.lane("read").waiting != reads {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_sees_earlier_writes_and_queued_reads_share_its_snapshot() {
    let (_directory, sqlite) = with_one_reader();
    let first = held_read(&sqlite);
    first.started.await.unwrap();
    // Requested after a write that is not in the snapshot of the first read.
    sqlite.write(|conn| insert_user(conn, 1)).await.unwrap();
    let second = held_read(&sqlite);
    until_waiting(&sqlite, 1).await;
    let third = held_read(&sqlite);
    until_waiting(&sqlite, 2).await;
    third.let_go.send(()).unwrap();
    first.let_go.send(()).unwrap();
    second.started.await.unwrap();
    sqlite.write(|conn| insert_user(conn, 2)).await.unwrap();
    second.let_go.send(()).unwrap();
    let counts = [first.count, second.count, third.count];
    let counts = futures_util::future::join_all(counts).await.into_iter().map(|count| count.unwrap().unwrap());
    assert_eq!(counts.collect::<Vec<_>>(), [0, 1, 1]);
    assert_eq!(count_users(&sqlite).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn queued_reads_get_a_new_snapshot_after_sqlite_ended_the_transaction_of_the_shared_one() {
    let (_directory, sqlite) = with_one_reader();
    let first = held_read(&sqlite);
    first.started.await.unwrap();
    // Rolls back as SQLite does by itself after a disk error.
    let failing = tokio::spawn({
        let sqlite = Arc::clone(&sqlite);
        async move { sqlite.read(|conn| Ok(conn.batch_execute("ROLLBACK; SELECT no_such_function()")?)).await }
    });
    until_waiting(&sqlite, 1).await;
    let (let_go, waits) = std::sync::mpsc::channel::<()>();
    let (start, started) = oneshot::channel();
    let twice = tokio::spawn({
        let sqlite = Arc::clone(&sqlite);
        let counts = move |conn: &mut SqliteConnection| {
            let before = users(conn)?;
            let _ = start.send(());
            let _ = waits.recv();
            Ok((before, users(conn)?))
        };
        async move { sqlite.read(counts).await }
    });
    until_waiting(&sqlite, 2).await;
    first.let_go.send(()).unwrap();
    started.await.unwrap();
    sqlite.write(|conn| insert_user(conn, 1)).await.unwrap();
    let_go.send(()).unwrap();
    assert!(failing.await.unwrap().is_err());
    assert_eq!(twice.await.unwrap().unwrap(), (0, 0));
    assert_eq!(count_users(&sqlite).await, 1);
}

#[test]
fn the_statements_that_store_a_post_are_built_once() {
    fn is_built_once<Q: QueryId>(_: &Q) -> bool {
        Q::HAS_STATIC_QUERY_ID
    }
    let (id, at) = (DbId(Uuid::nil()), DbInstant::MIN);
    let (content, image, attachments, entities) = (String::new(), None, None, None);
    let (created_at, updated_at, visibility, hidden_visibility) = (at, at, 0, None);
    let post = PostRow {
        id,
        author_id: id,
        content,
        image,
        attachments,
        visibility,
        created_at,
        updated_at,
        entities,
        hidden_visibility,
    };
    let text = TextRow::new(Kind::Post, id, at, &IndexedText::default());
    assert!(is_built_once(&diesel::insert_into(posts::table).values((&post, posts::indexed.eq(true)))));
    assert!(is_built_once(&diesel::insert_into(search_tail::table).values(text)));
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_of_the_catalog_leave_a_thread_to_other_lists_until_they_end() {
    let (_directory, sqlite) = fresh();
    let sqlite = Arc::new(sqlite);
    let part = || {
        let ((start, started), (let_go, waits)) = (oneshot::channel(), std::sync::mpsc::channel::<()>());
        let sqlite = Arc::clone(&sqlite);
        let work = move |_: &mut SqliteConnection| {
            let _ = start.send(());
            let _ = waits.recv();
            Ok(())
        };
        (started, let_go, tokio::spawn(async move { sqlite.search_catalog(work).await }))
    };
    let (started, let_go, given_up) = part();
    started.await.unwrap();
    given_up.abort();
    assert!(given_up.await.unwrap_err().is_cancelled());

    let (next_begun, next_let_go, next) = part();
    while sqlite.catalog.queue.available_permits() == LIST_QUEUE_CAPACITY {
        tokio::task::yield_now().await;
    }
    assert_eq!(sqlite.list(users).await.unwrap(), 0);
    assert_eq!(sqlite.catalog.permits.available_permits(), 0, "the one that nobody waits for goes on");
    let_go.send(()).unwrap();
    next_begun.await.unwrap();
    next_let_go.send(()).unwrap();
    next.await.unwrap().unwrap();
}
