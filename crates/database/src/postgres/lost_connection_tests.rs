//! Connections that are lost while work is done on them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use agora_domain::clock::Timestamp;
use agora_domain::idempotency::{Begun, Fingerprint, Fingerprints, IdempotencyKey, Outcome as Done, RequestName};
use diesel_async::SimpleAsyncConnection;
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::task::{JoinHandle, block_in_place};

use self::port::Port;
use self::proxy::{Network, Proxy};
use super::private_postgres::{Server, Session};
use super::tests::{AT, HANG, find, id, pid, toggle_like};
use super::*;
use crate::error::Outcome;
use crate::postgres::dialect::{Conn, Work};
use crate::schema::LikeRecord;

#[path = "../../../../tests/support/port.rs"]
mod port;
#[path = "../../../../tests/support/proxy.rs"]
mod proxy;

/// A server, and a network to it.
async fn networked() -> (Server, Proxy) {
    let port = Port::new();
    let address = port.address();
    let server = block_in_place(|| Server::start(address.port(), |_| "-c listen_addresses=127.0.0.1".to_owned()));
    (server, Proxy::start(address).await)
}

/// A database over a network, with a table that takes a row at the end of its transaction, under a lock.
struct Setting {
    database: Arc<Postgres>,
    proxy: Arc<Proxy>,
    /// Has the lock.
    session: Session,
    server: Server,
}

const SCHEMA: &str = "CREATE TABLE written (n integer);
    CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON written DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait();";

impl Setting {
    async fn new() -> Self {
        let (server, proxy) = networked().await;
        // The server learns by itself that a connection is lost, but not within the test.
        let parameters = "sslmode=disable&options=-c%20client_connection_check_interval%3D0";
        let url = format!("postgres://agora@{}/postgres?{parameters}", proxy.address);
        let database = Arc::new(Postgres::open(Opening::Serve, &url, &Options::default()).await.unwrap());
        let mut session = server.session("postgres");
        session.run(SCHEMA);
        session.run("SELECT pg_advisory_lock(7);");
        Self { database, proxy: Arc::new(proxy), session, server }
    }

    fn count(&self) -> u32 {
        self.server.session("postgres").run("SELECT count(*) FROM written;").trim().parse().unwrap()
    }

    /// Waits until a connection waits for a lock of this kind.
    fn await_waiting(&self, kind: &str) {
        let waiting = format!("SELECT count(*) FROM pg_locks WHERE locktype = '{kind}' AND NOT granted;");
        let mut session = self.server.session("postgres");
        until(|| session.run(&waiting).trim() != "0");
    }

    /// Ends the connections that wait for the lock, as a server does that stops: with a last word.
    fn terminate(&self) {
        let terminate = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted;";
        self.server.session("postgres").run(terminate);
    }

    fn unlock(&mut self) {
        self.session.run("SELECT pg_advisory_unlock(7);");
    }

    /// Puts an attempt on record.
    async fn begin(&self, attempt: DbId) -> Begun {
        let key = IdempotencyKey::parse("key").unwrap();
        let name = RequestName { caller: None, route: "POST /".to_owned(), key };
        let (own, now) = (Fingerprints::only(Fingerprint([7; 32])), Timestamp::from_unix_millis(1));
        let begin = self
            .database
            .write(move |conn| Box::pin(queries::idempotency::begin(conn, name.clone(), own, attempt, now)));
        begin.await.unwrap()
    }
}

fn until(holds: impl FnMut() -> bool) {
    let (begun, mut holds) = (Instant::now(), holds);
    block_in_place(|| {
        while !holds() {
            assert!(begun.elapsed() < HANG, "it never happens");
        }
    });
}

/// Writes a row, counting how often, and completes an attempt, if it is part of one.
fn writing(times: &Arc<AtomicU32>, attempt: Option<DbId>) -> impl Work<u32> {
    let times = Arc::clone(times);
    move |conn| {
        let times = Arc::clone(&times);
        Box::pin(async move {
            let time = times.fetch_add(1, Ordering::SeqCst) + 1;
            conn.batch_execute("INSERT INTO written VALUES (1)").await?;
            if let Some(attempt) = attempt {
                queries::idempotency::complete(conn, attempt, Done::LikeToggled(true)).await?;
            }
            Ok(time)
        })
    }
}

#[derive(Debug, Clone, Copy)]
enum Lane {
    Statement,
    Write,
    Again,
    /// As this attempt.
    Once(DbId),
}

/// A write that waits for the lock.
struct Waiting {
    /// How often it was begun.
    times: Arc<AtomicU32>,
    answer: JoinHandle<Result<u32>>,
}

/// Begins a write, until it waits for the lock at the end of its transaction.
fn write_until_locked(setting: &Setting, lane: Lane) -> Waiting {
    let (database, times) = (Arc::clone(&setting.database), Arc::<AtomicU32>::default());
    let attempt = if let Lane::Once(attempt) = lane { Some(attempt) } else { None };
    let work = writing(&times, attempt);
    let answer = tokio::spawn(async move {
        match lane {
            Lane::Statement => database.statement(work).await,
            Lane::Write => database.write(work).await,
            Lane::Again => database.write_again(work).await,
            Lane::Once(attempt) => database.write_once(attempt, work).await,
        }
    });
    setting.await_waiting("advisory");
    Waiting { times, answer }
}

/// Loses the connection of a write that completes an attempt, until it asks for what became of it.
async fn lose_attempt(setting: &Setting) -> Waiting {
    let attempt = id(1, 1);
    assert_eq!(setting.begin(attempt).await, Begun::First);
    let waiting = write_until_locked(setting, Lane::Once(attempt));
    setting.proxy.cut();
    // The first is still under way, and has the lock of its row.
    setting.await_waiting("transactionid");
    waiting
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_was_carried_out_though_its_connection_was_lost_is_not_done_again() {
    let mut setting = Setting::new().await;
    let Waiting { times, answer } = lose_attempt(&setting).await;
    setting.unlock();
    assert_eq!(answer.await.unwrap().unwrap(), 1);
    assert_eq!((setting.count(), AtomicU32::load(&times, Ordering::SeqCst)), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_was_not_carried_out_is_done_again() {
    let mut setting = Setting::new().await;
    let Waiting { answer, .. } = lose_attempt(&setting).await;
    setting.terminate();
    setting.unlock();
    assert_eq!(answer.await.unwrap().unwrap(), 2);
    assert_eq!(setting.count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_may_be_written_twice_is_done_again() {
    let mut setting = Setting::new().await;
    let Waiting { times, answer } = write_until_locked(&setting, Lane::Again);
    setting.proxy.cut();
    until(|| AtomicU32::load(&times, Ordering::SeqCst) >= 2);
    setting.unlock();
    assert_eq!(answer.await.unwrap().unwrap(), 2);
}

/// Has a write lose its connection while it is committed, which must not be done again.
async fn fails_once(lane: Lane, lose: impl FnOnce(&Setting)) {
    let setting = Setting::new().await;
    let Waiting { times, answer } = write_until_locked(&setting, lane);
    lose(&setting);
    let failed = answer.await.unwrap();
    assert!(matches!(failed, Err(Error::Unavailable(_))), "{failed:?}");
    assert_eq!(AtomicU32::load(&times, Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_of_which_nobody_can_know_whether_it_was_carried_out_fails() {
    fails_once(Lane::Write, |setting| setting.proxy.cut()).await;
    fails_once(Lane::Statement, |setting| setting.proxy.cut()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_word_of_a_server_does_not_tell_that_a_write_was_not_carried_out() {
    fails_once(Lane::Write, Setting::terminate).await;
    fails_once(Lane::Statement, Setting::terminate).await;
}

/// Loses the connections so often, each time before the second of two statements.
fn losing(proxy: &Arc<Proxy>, losses: u32, statement: &'static str) -> impl Work<u32> {
    let (proxy, times) = (Arc::clone(proxy), AtomicU32::new(0));
    move |conn| {
        let time = times.fetch_add(1, Ordering::SeqCst) + 1;
        let proxy = (time <= losses).then(|| Arc::clone(&proxy));
        Box::pin(twice(conn, proxy, statement, time))
    }
}

fn twice<'a>(
    conn: &'a mut Conn<'_>,
    proxy: Option<Arc<Proxy>>,
    statement: &'static str,
    time: u32,
) -> BoxFuture<'a, Outcome<u32>> {
    Box::pin(async move {
        conn.batch_execute(statement).await?;
        if let Some(proxy) = proxy {
            proxy.cut();
            // Until it is cut.
            while conn.batch_execute("SELECT 1").await.is_ok() {}
        }
        conn.batch_execute("SELECT 1").await?;
        Ok(time)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_lost_before_the_end_of_its_transaction_is_done_again() {
    let mut setting = Setting::new().await;
    setting.unlock();
    let (database, proxy) = (&setting.database, &setting.proxy);
    assert_eq!(database.write(losing(proxy, 2, "INSERT INTO written VALUES (1)")).await.unwrap(), 3);
    assert_eq!(setting.count(), 1);
    assert_eq!(database.search(losing(proxy, 2, "SELECT 1")).await.unwrap(), 3);
    assert_eq!(database.read(losing(proxy, 2, "SELECT 1")).await.unwrap(), 3);
    let failed = database.write(losing(proxy, 3, "INSERT INTO written VALUES (1)")).await;
    assert!(matches!(failed, Err(Error::Unavailable(_))), "{failed:?}");
    assert_eq!(setting.count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_that_were_lost_without_a_word_cost_no_request() {
    let (_server, proxy) = networked().await;
    let url = format!("postgres://agora@{}/postgres?sslmode=disable", proxy.address);
    let wait_timeout = Duration::from_secs(10);
    let options = Options { connections: 16, wait_timeout, ..Options::default() };
    // Each has to prove that it is still there, however short it was idle.
    let database = Arc::new(Postgres::open_with(Opening::Serve, &url, &options, Duration::ZERO).await.unwrap());
    // As many connections as there can be.
    let connections = database.pool.status().max_size;
    let all = Arc::new(tokio::sync::Barrier::new(connections));
    let reads = (0..connections).map(|_| {
        let all = Arc::clone(&all);
        database.statement(move |_| {
            let all = Arc::clone(&all);
            Box::pin(async move {
                all.wait().await;
                Ok(())
            })
        })
    });
    futures_util::future::try_join_all(reads).await.unwrap();
    let like = LikeRecord { post_id: id(2, 1), user_id: id(1, 1), id: id(4, 1), created_at: AT };
    let single_statements = async || {
        let statements = (0..connections).map(async |_| {
            assert!(find(&database, like.post_id, like.user_id).await.unwrap().is_none());
            assert!(matches!(toggle_like(&database, like.clone()).await, Err(Error::NotFound(_))));
        });
        futures_util::future::join_all(statements).await;
    };
    single_statements().await;
    proxy.lose();
    for _ in 0..connections {
        pid(&database).await;
    }
    single_statements().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_to_be_tried_for_requests_that_gave_up_while_the_server_was_away() {
    const REQUESTS: usize = 100;
    let (_server, proxy) = networked().await;
    let url = format!("postgres://agora@{}/postgres?sslmode=disable", proxy.address);
    let (connect_timeout, wait_timeout) = (Duration::from_secs(2), Duration::from_millis(100));
    let options = Options { connect_timeout, wait_timeout, ..Options::default() };
    let database = Postgres::open(Opening::Serve, &url, &options).await.unwrap();
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    proxy.set(Network::Swallows);
    proxy.cut();
    let reads = (0..REQUESTS).map(|_| find(&database, id(2, 1), id(1, 1)));
    let answers = futures_util::future::join_all(reads).await;
    assert!(answers.iter().all(|answer| matches!(answer, Err(Error::Unavailable(_)))), "{answers:?}");
    let begun = Instant::now();
    while tasks() > before + REQUESTS / 10 {
        assert!(begun.elapsed() < HANG, "{} tasks, and {before} before", tasks());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_that_wait_for_a_replica_take_no_more_connections_than_there_may_be() {
    let server = block_in_place(|| Server::start(5432, |_| "-c listen_addresses=".to_owned()));
    let (statement_timeout, wait_timeout) = (Duration::from_millis(100), Duration::from_millis(100));
    let options = Options { connections: 8, statement_timeout, wait_timeout, ..Options::default() };
    let url = format!("postgres://agora@{}/postgres", server.host());
    let database = Arc::new(Postgres::open(Opening::Serve, &url, &options).await.unwrap());
    let mut session = server.session("postgres");
    session.run("CREATE TABLE written (n integer);");
    let write = || {
        database.write(|conn| Box::pin(async move { Ok(conn.batch_execute("INSERT INTO written VALUES (1)").await?) }))
    };
    session.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'; SELECT pg_reload_conf();");
    let most = database.pool.status().max_size;
    let begun = Instant::now();
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep';";
    // Once they all wait for the replica, for as long as three more rounds would take.
    let (mut rounds, mut counted) = (0, 0);
    while rounds < 3 {
        futures_util::future::join_all((0..most).map(|_| write())).await;
        counted = block_in_place(|| session.run(waiting)).trim().parse().unwrap();
        rounds += usize::from(counted >= most);
        assert!(begun.elapsed() < HANG, "{counted} of {most}");
    }
    assert_eq!(counted, most);

    session.run("ALTER SYSTEM RESET synchronous_standby_names; SELECT pg_reload_conf();");
    while let Err(error) = write().await {
        assert!(begun.elapsed() < HANG, "{error}");
    }
}
