//! Connections that are lost while work runs on them.

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

/// Starts a server, and a network to it.
async fn networked() -> (Server, Proxy) {
    let port = Port::new();
    let address = port.address();
    let server = block_in_place(|| Server::start(address.port(), |_| "-c listen_addresses=127.0.0.1".to_owned()));
    (server, Proxy::start(address).await)
}

/// A database over a network, with a table that takes a row at the end of its transaction, under a lock.
struct Fixture {
    database: Arc<Postgres>,
    proxy: Arc<Proxy>,
    /// Holds the lock.
    session: Session,
    server: Server,
}

const SCHEMA: &str = "CREATE TABLE written (n integer);
    CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON written DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait();";

impl Fixture {
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

    /// Blocks until a connection waits for a lock of this kind.
    fn await_lock_wait(&self, kind: &str) {
        let waiting = format!("SELECT count(*) FROM pg_locks WHERE locktype = '{kind}' AND NOT granted;");
        let mut session = self.server.session("postgres");
        until(|| session.run(&waiting).trim() != "0");
    }

    /// Ends the connections that wait for the lock as a stopping server does: with a message to the client.
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
    let (started, mut holds) = (Instant::now(), holds);
    block_in_place(|| {
        while !holds() {
            assert!(started.elapsed() < HANG, "it never happens");
        }
    });
}

/// Returns work that writes a row, counts how often it runs, and completes the attempt, if it is part of one.
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
    Idempotent,
    /// A write that completes this attempt.
    Once(DbId),
}

/// A write that waits for the lock.
struct PendingWrite {
    /// How often the write was started.
    times: Arc<AtomicU32>,
    answer: JoinHandle<Result<u32>>,
}

/// Begins a write, and returns once it waits for the lock at the end of its transaction.
fn start_locked_write(fixture: &Fixture, lane: Lane) -> PendingWrite {
    let (database, times) = (Arc::clone(&fixture.database), Arc::<AtomicU32>::default());
    let attempt = if let Lane::Once(attempt) = lane { Some(attempt) } else { None };
    let work = writing(&times, attempt);
    let answer = tokio::spawn(async move {
        match lane {
            Lane::Statement => database.statement(work).await,
            Lane::Write => database.write(work).await,
            Lane::Idempotent => database.write_idempotent(work).await,
            Lane::Once(attempt) => database.write_once(attempt, work).await,
        }
    });
    fixture.await_lock_wait("advisory");
    PendingWrite { times, answer }
}

/// Cuts the connection of a write that completes an attempt, and returns once it is being looked up whether it was committed.
async fn lose_attempt(fixture: &Fixture) -> PendingWrite {
    let attempt = id(1, 1);
    assert_eq!(fixture.begin(attempt).await, Begun::First);
    let waiting = start_locked_write(fixture, Lane::Once(attempt));
    fixture.proxy.cut();
    // The first transaction is still in progress, and holds the lock on the row of the attempt.
    fixture.await_lock_wait("transactionid");
    waiting
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_was_committed_although_its_connection_was_lost_is_not_repeated() {
    let mut fixture = Fixture::new().await;
    let PendingWrite { times, answer } = lose_attempt(&fixture).await;
    fixture.unlock();
    assert_eq!(answer.await.unwrap().unwrap(), 1);
    assert_eq!((fixture.count(), AtomicU32::load(&times, Ordering::SeqCst)), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_was_not_committed_before_its_connection_was_lost_is_repeated() {
    let mut fixture = Fixture::new().await;
    let PendingWrite { answer, .. } = lose_attempt(&fixture).await;
    fixture.terminate();
    fixture.unlock();
    assert_eq!(answer.await.unwrap().unwrap(), 2);
    assert_eq!(fixture.count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotent_write_is_repeated_after_its_connection_was_lost() {
    let mut fixture = Fixture::new().await;
    let PendingWrite { times, answer } = start_locked_write(&fixture, Lane::Idempotent);
    fixture.proxy.cut();
    until(|| AtomicU32::load(&times, Ordering::SeqCst) >= 2);
    fixture.unlock();
    assert_eq!(answer.await.unwrap().unwrap(), 2);
}

/// Checks that a write that loses its connection while it is being committed fails, and is not run again.
async fn assert_fails_without_retry(lane: Lane, lose: impl FnOnce(&Fixture)) {
    let fixture = Fixture::new().await;
    let PendingWrite { times, answer } = start_locked_write(&fixture, lane);
    lose(&fixture);
    let failed = answer.await.unwrap();
    assert!(matches!(failed, Err(Error::Unavailable(_))), "{failed:?}");
    assert_eq!(AtomicU32::load(&times, Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_with_an_unknown_outcome_fails() {
    assert_fails_without_retry(Lane::Write, |fixture| fixture.proxy.cut()).await;
    assert_fails_without_retry(Lane::Statement, |fixture| fixture.proxy.cut()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_fails_if_the_server_says_that_it_ends_the_connection_during_the_commit() {
    assert_fails_without_retry(Lane::Write, Fixture::terminate).await;
    assert_fails_without_retry(Lane::Statement, Fixture::terminate).await;
}

/// Returns work that cuts the connections the first `losses` times that it runs, each time before the second of two statements.
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
async fn work_that_lost_its_connection_before_the_end_of_its_transaction_is_repeated() {
    let mut fixture = Fixture::new().await;
    fixture.unlock();
    let (database, proxy) = (&fixture.database, &fixture.proxy);
    assert_eq!(database.write(losing(proxy, 2, "INSERT INTO written VALUES (1)")).await.unwrap(), 3);
    assert_eq!(fixture.count(), 1);
    assert_eq!(database.search(losing(proxy, 2, "SELECT 1")).await.unwrap(), 3);
    assert_eq!(database.read(losing(proxy, 2, "SELECT 1")).await.unwrap(), 3);
    let failed = database.write(losing(proxy, 3, "INSERT INTO written VALUES (1)")).await;
    assert!(matches!(failed, Err(Error::Unavailable(_))), "{failed:?}");
    assert_eq!(fixture.count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_fails_because_idle_connections_were_lost_silently() {
    let (_server, proxy) = networked().await;
    let url = format!("postgres://agora@{}/postgres?sslmode=disable", proxy.address);
    let wait_timeout = Duration::from_secs(10);
    let options = Options { connections: 16, wait_timeout, ..Options::default() };
    // Each connection is pinged before it is used, however short it was idle.
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
async fn requests_that_gave_up_while_the_server_was_away_leave_no_attempts_to_connect() {
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
    let started = Instant::now();
    while tasks() > before + REQUESTS / 10 {
        assert!(started.elapsed() < HANG, "{} tasks, and {before} before", tasks());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_that_wait_for_a_replica_do_not_exceed_the_size_of_the_pool() {
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
    let started = Instant::now();
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep';";
    // Goes on for three rounds after all connections wait for the replica.
    let (mut rounds, mut counted) = (0, 0);
    while rounds < 3 {
        futures_util::future::join_all((0..most).map(|_| write())).await;
        counted = block_in_place(|| session.run(waiting)).trim().parse().unwrap();
        rounds += usize::from(counted >= most);
        assert!(started.elapsed() < HANG, "{counted} of {most}");
    }
    assert_eq!(counted, most);

    session.run("ALTER SYSTEM RESET synchronous_standby_names; SELECT pg_reload_conf();");
    while let Err(error) = write().await {
        assert!(started.elapsed() < HANG, "{error}");
    }
}
