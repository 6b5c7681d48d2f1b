#![allow(clippy::panic, reason = "a test fails by panicking")]

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;

use agora_domain::accounts::{Role, RoleAction, RoleChange};
use agora_domain::clock::Timestamp;
use agora_domain::posts::FoundPost;
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Integer};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::super::dialect::Conn;
use super::*;
use crate::account_filters::DbViewer;
use crate::error::Outcome;
use crate::exclusive_job::ExclusiveJob;
use crate::rows::{CommentRow, Slice, Toward};
use crate::schema::{AuditRecord, LikeRecord};
use crate::sql_types::{DbId, DbInstant};

/// What takes longer than this counts as never happening.
pub(super) const HANG: Duration = Duration::from_secs(60);

/// An empty database, with one connection to it in the pool.
pub(super) async fn fresh(statement_timeout: Duration) -> Arc<Postgres> {
    let url = tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap();
    let options = Options { connections: 1, statement_timeout, ..Options::default() };
    Arc::new(Postgres::open(Opening::Serve, &url, &options).await.unwrap())
}

#[derive(QueryableByName)]
struct Pid {
    #[diesel(sql_type = Integer)]
    pid: i32,
}

/// Returns the process id of the server's backend for the pool's connection.
pub(super) async fn pid(database: &Postgres) -> i32 {
    let read = database.statement(|conn| {
        let query = diesel::sql_query("SELECT pg_backend_pid() AS pid").get_result::<Pid>(conn);
        Box::pin(async move { Ok(query.await?.pid) })
    });
    read.await.unwrap()
}

/// Returns the process id of the server's backend for the connection that reads share.
async fn shared_pid(database: &Postgres) -> i32 {
    let read = database.read(|conn| {
        let query = diesel::sql_query("SELECT pg_backend_pid() AS pid").get_result::<Pid>(conn);
        Box::pin(async move { Ok(query.await?.pid) })
    });
    read.await.unwrap()
}

/// Finds a post, on a shared connection.
pub(super) async fn find(database: &Postgres, post: DbId, viewer: DbId) -> Result<Option<FoundPost>> {
    database.read(move |conn| Box::pin(queries::posts::find(conn, post, DbViewer::ordinary(viewer.0.into())))).await
}

/// Toggles a like.
pub(super) async fn toggle_like(database: &Postgres, like: LikeRecord) -> Result<bool> {
    database.statement(move |conn| Box::pin(queries::posts::toggle_like(conn, like.clone(), None))).await
}

async fn insert_comment(database: &Postgres, row: CommentRow) -> Result<()> {
    database.statement(move |conn| Box::pin(queries::comments::insert(conn, row.clone(), vec![]))).await
}

/// Runs statements as one write.
pub(super) async fn write(database: &Postgres, sql: impl Into<String>) -> Result<()> {
    let sql: Arc<str> = sql.into().into();
    let write = database.write(move |conn| {
        let sql = Arc::clone(&sql);
        Box::pin(async move { Ok(conn.batch_execute(&sql).await?) })
    });
    write.await
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_get_the_configured_time_limits_and_the_url_overrides_them() {
    let url = tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap();
    let options = Options { statement_timeout: Duration::from_secs(8), ..Options::default() };
    let assert_settings = |settings: [(&str, &str); 3]| {
        let holds = settings.map(|(name, value)| format!("ASSERT current_setting('{name}') = '{value}', '{name}';"));
        format!("DO $$ BEGIN {} END $$", holds.concat())
    };
    let database = Postgres::open(Opening::Serve, &url, &options).await.unwrap();
    let settings = [("statement_timeout", "8s"), ("lock_timeout", "4s"), ("client_connection_check_interval", "1s")];
    write(&database, assert_settings(settings)).await.unwrap();
    let url = format!("{url}?options=-c%20lock_timeout%3D7s%20-c%20agora.test%3Da%2Bb");
    let url = format!("{url}%20-c%20client_connection_check_interval%3D2s");
    let database = Postgres::open(Opening::Serve, &url, &options).await.unwrap();
    let settings = [("lock_timeout", "7s"), ("client_connection_check_interval", "2s"), ("agora.test", "a+b")];
    write(&database, assert_settings(settings)).await.unwrap();
    write(&database, assert_settings([("statement_timeout", "8s"); 3])).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_changes_of_admins_are_serialized_and_need_no_retry() {
    const TASKS: u32 = 16;
    const CHANGES: u32 = 20;
    let url = tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap();
    let database = Arc::new(Postgres::open(Opening::Serve, &url, &Options::default()).await.unwrap());
    // The account that is made an admin and unmade comes before the one that is an admin all the time.
    let (friend, admin) = (id(1, 1), id(1, 2));
    let user = |id: DbId, name: &str, is_admin: bool| {
        let columns =
            "id, username, username_key, email, email_key, password_hash, is_admin, is_user, enabled, created_at";
        let id = id.0;
        format!(
            "INSERT INTO users ({columns}) VALUES ('{id}', '{name}', '{name}', '{name}', '{name}', '', {is_admin}, true, true, now());"
        )
    };
    write(&database, user(friend, "friend", false) + &user(admin, "admin", true)).await.unwrap();
    let attempts = Arc::new(AtomicU32::new(0));
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let (database, attempts) = (Arc::clone(&database), Arc::clone(&attempts));
        tasks.spawn(async move {
            for n in 0..CHANGES {
                let action = if (task + n) % 2 == 0 { RoleAction::Add } else { RoleAction::Remove };
                let change = RoleChange { role: Role::Admin, action };
                let attempts = Arc::clone(&attempts);
                let changed = database.write(move |conn| {
                    let number = attempts.fetch_add(1, Ordering::Relaxed);
                    let (id, actor_id, target_id, details) = (id(20, u64::from(number)), None, None, None);
                    let entry =
                        AuditRecord { id, created_at: AT, actor_id, action: 0, target_kind: 5, target_id, details };
                    Box::pin(queries::accounts::change_role(conn, friend, change, entry))
                });
                changed.await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(AtomicU32::load(&attempts, Ordering::Relaxed), TASKS * CHANGES);
}

#[tokio::test(flavor = "multi_thread")]
async fn work_of_a_cancelled_request_completes_and_its_connection_is_reused() {
    let database = fresh(Duration::from_secs(20)).await;
    write(&database, "CREATE TABLE written (n int)").await.unwrap();
    let before = pid(&database).await;
    let (started, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let request = tokio::spawn({
        let (database, started, go_on) = (Arc::clone(&database), Arc::clone(&started), Arc::clone(&go_on));
        async move {
            let write = database.write(move |conn| {
                let (started, go_on) = (Arc::clone(&started), Arc::clone(&go_on));
                Box::pin(async move {
                    conn.batch_execute("INSERT INTO written VALUES (1)").await?;
                    started.notify_one();
                    go_on.notified().await;
                    Ok(conn.batch_execute("INSERT INTO written VALUES (2)").await?)
                })
            });
            write.await
        }
    });
    started.notified().await;
    request.abort();
    assert!(request.await.unwrap_err().is_cancelled());
    go_on.notify_one();
    assert_eq!(pid(&database).await, before);
    write(&database, "DO $$ BEGIN ASSERT (SELECT count(*) FROM written) = 2; END $$").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_connection_of_work_that_times_out_leaves_the_pool() {
    let database = fresh(Duration::from_secs(3)).await;
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
    // Nothing of the work was stored.
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

/// Reads the first part of the public timeline, as often as the server needs to decide that one plan will do for all values, and
/// returns how often it was planned.
async fn read_timeline(conn: &mut Conn<'_>) -> Outcome<i64> {
    let viewer = DbViewer::ordinary(Uuid::from_u128(1).into());
    for _ in 0..10 {
        queries::timelines::list_public(conn, viewer, Slice::new(Toward::Older, None, 21), 20).await?;
    }
    let plans = "SELECT sum(custom_plans)::int8 FROM pg_prepared_statements WHERE statement LIKE '%FROM \"posts\"%'";
    Ok(sql::<BigInt>(plans).get_result(conn).await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn shared_connections_use_a_generic_plan_where_the_server_would_plan_each_time() {
    let database = fresh(Duration::from_secs(20)).await;
    let rows = "INSERT INTO users SELECT lpad(n::text, 32, '0')::uuid, n, n, n, n, '', NULL, NULL, false, true, true, now() \
            FROM generate_series(1, 100) n;
        INSERT INTO posts SELECT lpad(n::text, 32, '0')::uuid, lpad((n % 100 + 1)::text, 32, '0')::uuid, 'text', NULL, 0, \
            to_timestamp(n), to_timestamp(n), 0, 0 FROM generate_series(1, 10000) n;
        ANALYZE users, posts";
    write(&database, rows).await.unwrap();
    let mut conn = &database.connector.connect().await.unwrap();
    assert!(read_timeline(&mut conn).await.unwrap() >= 10);
    assert_eq!(database.list(|conn| Box::pin(read_timeline(conn))).await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runtime_that_serves_requests_takes_the_place_of_an_idle_background_connection() {
    let database = fresh(Duration::from_secs(20)).await;
    let of_background = shared_pid(&database).await;
    let serving = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let read = |database: Arc<Postgres>| serving.spawn(async move { shared_pid(&database).await });
    let of_serving = read(Arc::clone(&database)).await.unwrap();
    assert_ne!(of_serving, of_background);
    assert_eq!(shared_pid(&database).await, of_serving, "the only connection there is");
    assert_eq!(read(Arc::clone(&database)).await.unwrap(), of_serving);
    serving.shutdown_background();
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
async fn the_server_does_not_end_an_idle_connection_that_holds_a_lock() {
    let url = tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap();
    let url = format!("{url}?options=-c%20idle_session_timeout%3D1h");
    let database = Postgres::open(Opening::Serve, &url, &Options::default()).await.unwrap();
    let mut lock = database.lock(ExclusiveJob::Sweep).await.unwrap().unwrap();
    let assertion = "DO $$ BEGIN ASSERT current_setting('idle_session_timeout') = '0'; END $$";
    lock.batch_execute(assertion).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_waits_for_running_work_of_a_cancelled_request() {
    let database = fresh(Duration::from_secs(20)).await;
    let (started, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let is_done = Arc::new(AtomicBool::new(false));
    let request = tokio::spawn({
        let (database, started, go_on) = (Arc::clone(&database), Arc::clone(&started), Arc::clone(&go_on));
        let is_done = Arc::clone(&is_done);
        async move {
            let read = database.statement(move |conn| {
                let (started, go_on, is_done) = (Arc::clone(&started), Arc::clone(&go_on), Arc::clone(&is_done));
                Box::pin(async move {
                    started.notify_one();
                    go_on.notified().await;
                    conn.batch_execute("SELECT 1").await?;
                    is_done.store(true, Ordering::SeqCst);
                    Ok(())
                })
            });
            read.await
        }
    });
    started.notified().await;
    request.abort();
    assert!(request.await.unwrap_err().is_cancelled());
    let closing = tokio::task::spawn_blocking({
        let database = Arc::clone(&database);
        move || database.close()
    });
    // The pool has no connection left, so this is answered only once closing has started.
    assert!(matches!(write(&database, "SELECT 1").await, Err(Error::Unavailable(_))));
    assert!(!closing.is_finished(), "closed while work was at hand");
    go_on.notify_one();
    closing.await.unwrap();
    assert!(AtomicBool::load(&is_done, Ordering::SeqCst), "the work was cut short");
}

/// What the users of the deadlock test do to a post at the same time.
#[derive(Debug, Clone, Copy)]
enum Step {
    Like,
    Comment,
    DeleteComment,
    DeletePost,
}

pub(super) const AT: DbInstant = DbInstant(Timestamp::from_unix_millis(1));

pub(super) fn id(kind: u64, n: u64) -> DbId {
    DbId(Uuid::from_u64_pair(kind, n))
}

fn comment(post: DbId, author: DbId, id: DbId) -> CommentRow {
    let (post_id, author_id, content) = (post, author, "text".to_owned());
    let (parent_id, reply_to_id, entities) = (None, None, Some(String::new()));
    let (created_at, updated_at, is_hidden) = (AT, AT, false);
    CommentRow { id, post_id, author_id, content, created_at, updated_at, parent_id, reply_to_id, entities, is_hidden }
}

async fn run_step(database: Arc<Postgres>, step: Step, post: DbId, user: u64) {
    let (author, number) = (id(1, user), post.0.as_u64_pair().1 * 1000 + user);
    let outcome = match step {
        Step::Like => {
            let like = LikeRecord { post_id: post, user_id: author, id: id(4, number), created_at: AT };
            toggle_like(&database, like).await.map(drop)
        }
        Step::Comment => {
            let row = comment(post, author, id(5, number));
            insert_comment(&database, row).await
        }
        Step::DeleteComment => {
            let old = id(3, number);
            database.write(move |conn| Box::pin(queries::comments::delete(conn, old))).await.map(drop)
        }
        Step::DeletePost => {
            database.write(move |conn| Box::pin(queries::posts::delete(conn, post, AT))).await.map(drop)
        }
    };
    // A step after the deletion of the post finds it missing.
    assert!(matches!(outcome, Ok(()) | Err(Error::NotFound(_))), "{step:?}: {outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn likes_comments_and_the_deletion_of_their_post_do_not_deadlock() {
    const POSTS: u64 = 20;
    const USERS: u64 = 16;
    let (name, url) = tokio::task::spawn_blocking(private_postgres::fresh_database_by_name).await.unwrap();
    let options = Options { connections: 64, ..Options::default() };
    let database = Arc::new(Postgres::open(Opening::Serve, &url, &options).await.unwrap());
    for n in 0..USERS {
        let values =
            format!("'{}', 'u{n}', 'u{n}', 'e{n}', 'e{n}', '', NULL, NULL, false, true, true, now()", id(1, n).0);
        write(&database, format!("INSERT INTO users VALUES ({values})")).await.unwrap();
    }
    for n in 0..POSTS {
        let post = id(2, n);
        let values = format!("'{}', '{}', 'text', NULL, 0, now(), now(), 0, 0", post.0, id(1, 0).0);
        write(&database, format!("INSERT INTO posts VALUES ({values})")).await.unwrap();
        for user in 0..USERS {
            let row = comment(post, id(1, user), id(3, n * 1000 + user));
            insert_comment(&database, row).await.unwrap();
        }
        let mut work = JoinSet::new();
        for user in 0..USERS {
            let end = (user == USERS / 2).then_some(Step::DeletePost);
            for step in [Step::Like, Step::Comment, Step::DeleteComment].into_iter().chain(end) {
                work.spawn(run_step(Arc::clone(&database), step, post, user));
            }
        }
        work.join_all().await;
    }
    drop(database);
    let deadlocks = tokio::task::spawn_blocking(move || {
        let mut session = private_postgres::shared().session("postgres");
        // The number is complete once the connections that counted are gone.
        let started = Instant::now();
        while session.run(&format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}';")).trim() != "0" {
            assert!(started.elapsed() < HANG, "connections are left");
        }
        session.run(&format!("SELECT deadlocks FROM pg_stat_database WHERE datname = '{name}';"))
    });
    assert_eq!(deadlocks.await.unwrap().trim(), "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn lanes_report_busy_connections_and_waiting_work() {
    let database = fresh(Duration::from_secs(20)).await;
    let lane = |name: &str| database.lanes().into_iter().find(|lane| lane.name == name).unwrap();
    let applied = database.read(|conn| Box::pin(queries::transfer::applied(conn))).await.unwrap();
    assert_eq!(applied.last(), Some(&crate::version::schema_version()));
    let shared = lane("shared");
    assert!((shared.size, shared.open, shared.busy, shared.waiting) == (1, 1, 0, 0), "{shared:?}");

    let (started, let_go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let held = database.statement({
        let (started, let_go) = (Arc::clone(&started), Arc::clone(&let_go));
        move |_| {
            let (started, let_go) = (Arc::clone(&started), Arc::clone(&let_go));
            Box::pin(async move {
                started.notify_one();
                let_go.notified().await;
                Ok(())
            })
        }
    });
    let others = async {
        started.notified().await;
        let waiting = tokio::spawn({
            let database = Arc::clone(&database);
            async move { pid(&database).await }
        });
        // The making of the connection waits as well.
        while (lane("pool").busy, lane("pool").waiting) != (1, 1) {
            tokio::task::yield_now().await;
        }
        let_go.notify_one();
        waiting.await.unwrap();
    };
    tokio::join!(held, others).0.unwrap();
    assert_eq!((lane("pool").busy, lane("pool").waiting), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn catalog_searches_get_half_of_the_permits_and_hold_them_until_they_end() {
    let url = tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap();
    let options = Options { connections: 20, ..Options::default() };
    let database = Arc::new(Postgres::open(Opening::Serve, &url, &options).await.unwrap());
    let (started, let_go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let search = || {
        let (database, started, let_go) = (Arc::clone(&database), Arc::clone(&started), Arc::clone(&let_go));
        tokio::spawn(async move {
            let search = database.search_catalog(move |_| {
                let (started, let_go) = (Arc::clone(&started), Arc::clone(&let_go));
                Box::pin(async move {
                    started.notify_one();
                    let_go.notified().await;
                    Ok(())
                })
            });
            search.await
        })
    };
    let given_up = search();
    started.notified().await;
    given_up.abort();
    assert!(given_up.await.unwrap_err().is_cancelled());

    let next = search();
    while database.catalog_searches.queue.available_permits() == SEARCH_QUEUE_CAPACITY {
        tokio::task::yield_now().await;
    }
    database.search(|_| Box::pin(async { Ok(()) })).await.unwrap();
    assert_eq!(database.catalog_searches.permits.available_permits(), 0, "the one that nobody waits for goes on");
    let_go.notify_one();
    started.notified().await;
    let_go.notify_one();
    next.await.unwrap().unwrap();
}
