//! A PostgreSQL database: its connections, and the work of several steps.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use agora_domain::{Error, Result};
use crossbeam_channel::{Receiver, Sender, bounded};
use deadpool::managed::PoolError;
use diesel::QueryResult;
use diesel::result::{DatabaseErrorKind, Error as DieselError};
use diesel::sql_types::BigInt;
use diesel_async::{AsyncConnection, AsyncMigrationHarness, SimpleAsyncConnection, TransactionManager};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinError;
use tokio::time::timeout;

use super::connect::Connector;
use super::dialect::{ATTEMPTS, Conn, RunQueryDsl};
use super::pipeline::{Limits, Pipelines};
use super::pool::{Lease, Manager, Pool, UNPROVEN};
use super::queries;
use super::session::Session;
use crate::error::{Failure, OpenError, Outcome};
use crate::figures::Lane;
use crate::options::Options;
use crate::task::Task;
use crate::transfer::Table;
use crate::version;
use crate::version::{Migrated, Opening, YesOrNo};

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../migrations/postgres");

/// The key of the advisory lock under which one node at a time applies migrations.
const MIGRATION_LOCK: i64 = 0x61_67_6f_72_61;

/// Keeps the server from ending a connection that holds a lock and is idle otherwise. Servers before version 14 do not
/// have the setting.
const STAY_WHILE_IDLE: &str = "SELECT set_config('idle_session_timeout', '0', false) \
    WHERE current_setting('idle_session_timeout', true) IS NOT NULL";

/// How much longer than a single statement all work of one step may take: the server's own word on a statement that
/// takes too long comes first, unless nothing comes from the server at all.
const GRACE: Duration = Duration::from_secs(1);

/// How many parts of lists may wait for a connection of the pool; one more is turned away at once.
const LISTS_IN_LINE: usize = 64;

/// A PostgreSQL database.
pub(crate) struct Postgres {
    connector: Connector,
    pool: Pool,
    /// For single statements that read little.
    pub(crate) shared: Arc<Pipelines>,
    /// For single statements that read a part of a list: nothing that reads little waits behind them.
    pub(crate) lists: Arc<Pipelines>,
    /// For single statements that write, or take longer.
    pub(crate) exclusive: Arc<Pipelines>,
    /// A permit for each of the pool's connections that parts of lists may have at once: half of them.
    pool_for_lists: Arc<Semaphore>,
    /// A permit for each part of a list that may wait for one of them.
    lists_in_line: Semaphore,
    /// Where the pool's connections are driven and its work is done: the runtime that the database was opened on, which
    /// outlives every request and every thread that serves them.
    runtime: Handle,
    /// How long a request waits for a connection.
    wait: Duration,
    /// How long work on a connection may take.
    limit: Duration,
    /// How long a statement may wait for a lock.
    lock_limit: Duration,
    /// What each piece of work keeps a copy of as long as it runs; nothing once the database is closed.
    running: Mutex<Option<Sender<Infallible>>>,
    /// Ends with the last of these.
    ended: Receiver<Infallible>,
}

impl Postgres {
    /// Connects; to serve the database, brings its schema up to date. Several nodes may do so at once.
    pub(crate) async fn open(opening: Opening, url: &str, options: &Options) -> std::result::Result<Self, OpenError> {
        Self::open_with(opening, url, options, UNPROVEN).await
    }

    /// Opens it, to ask a connection that was not used for so long whether it is still there.
    async fn open_with(
        opening: Opening,
        url: &str,
        options: &Options,
        unproven: Duration,
    ) -> std::result::Result<Self, OpenError> {
        let connector = Connector::new(url, options)?;
        let runtime = Handle::current();
        let manager = Manager::new(connector.clone(), options.wait_timeout, unproven);
        let limit = options.statement_timeout + GRACE;
        let shares = options.shares();
        let limits = || Limits { wait: options.wait_timeout, statement: limit, unproven };
        let shared = Pipelines::shared(connector.clone(), shares.shared, limits());
        let lists = Pipelines::shared(connector.clone(), shares.lists, limits());
        let exclusive = Pipelines::exclusive(connector.clone(), shares.exclusive, limits());
        let pool =
            Pool::builder(manager).max_size(shares.pool).build().map_err(|error| OpenError::Connect(error.into()))?;
        prepare(opening, &connector).await?;
        let (running, ended) = bounded(0);
        Ok(Self {
            connector,
            pool,
            shared,
            lists,
            exclusive,
            pool_for_lists: Arc::new(Semaphore::new((shares.pool / 2).max(1))),
            lists_in_line: Semaphore::new(LISTS_IN_LINE),
            runtime,
            wait: options.wait_timeout,
            limit,
            lock_limit: options.lock_timeout(),
            running: Mutex::new(Some(running)),
            ended,
        })
    }

    /// Brings the schema up to date, and does no more.
    pub(crate) async fn migrate(url: &str, options: &Options) -> std::result::Result<Migrated, OpenError> {
        prepare(Opening::Change, &Connector::new(url, options)?).await
    }

    /// Returns the versions of the migrations that were applied.
    pub(crate) async fn applied(url: &str, options: &Options) -> std::result::Result<Vec<String>, OpenError> {
        let conn = Connector::new(url, options)?.connect().await;
        let mut conn = conn.map_err(|error| OpenError::Connect(error.into()))?;
        queries::transfer::applied(&mut conn).await.map_err(|error| OpenError::Migration(error.into()))
    }

    /// Returns a connection from the pool, or a new one, which goes on being made for others when the request goes
    /// away.
    async fn lease(&self) -> Result<Lease> {
        let (pool, wait) = (self.pool.clone(), self.wait);
        let got = self.runtime.spawn(async move { timeout(wait, pool.get()).await }).await.map_err(ended)?;
        let got = got.map_err(|_| Error::unavailable("no connection to the database became free in time"))?;
        let got = got.map_err(|error| match error {
            // Whose own text the pool's would repeat.
            PoolError::Backend(error) => Error::unavailable(error),
            error => Error::unavailable(error),
        });
        Ok(Lease::new(got?))
    }

    /// Does work on a connection from the pool. Once begun it is done to its end, also when the request that waits for
    /// it goes away, since a connection could not be used again after half a statement or half a transaction.
    ///
    /// What fails at once and for a reason that the driver does not tell is done once more, on a connection that has
    /// nothing prepared: a migration may have changed what a statement gives since it was prepared (SQLSTATE 0A000), or
    /// somebody in between may have forgotten it (26000).
    async fn run<T: Send + 'static>(
        &self,
        permit: Option<OwnedSemaphorePermit>,
        work: impl for<'c> Fn(&'c mut Conn) -> BoxFuture<'c, Outcome<T>> + Send + Sync + 'static,
    ) -> Result<T> {
        let (permit, work) = (permit.map(Arc::new), Arc::new(work));
        let (outcome, time) = self.attempt(permit.clone(), Arc::clone(&work)).await?;
        match outcome {
            Err(failure) if is_unexplained(&failure) && time < self.lock_limit => {
                self.pool.manager().distrust();
                Ok(self.attempt(permit, work).await?.0?)
            }
            outcome => Ok(outcome?),
        }
    }

    /// Does work once; its outcome, and how long it took.
    async fn attempt<T: Send + 'static>(
        &self,
        permit: Option<Arc<OwnedSemaphorePermit>>,
        work: Arc<impl for<'c> Fn(&'c mut Conn) -> BoxFuture<'c, Outcome<T>> + Send + Sync + 'static>,
    ) -> Result<(Outcome<T>, Duration)> {
        let mut lease = self.lease().await?;
        let runs = self.running().clone().ok_or_else(|| Error::unavailable("the database is closed"))?;
        let limit = self.limit;
        let work = self.runtime.spawn(async move {
            let _held = (runs, permit);
            let begun = Instant::now();
            let outcome = timeout(limit, work(lease.connection()?)).await;
            let outcome = outcome.map_err(|_| Error::unavailable("the database did not answer in time"))?;
            lease.give_back();
            Ok((outcome, begun.elapsed()))
        });
        work.await.map_err(ended)?
    }

    /// Runs work that reads little.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl for<'c> Fn(&'c mut Conn) -> BoxFuture<'c, Outcome<T>> + Send + Sync + 'static,
    ) -> Result<T> {
        self.run(None, work).await
    }

    /// Runs work that reads a part of a list. Together they have no more than half of the pool's connections.
    pub(crate) async fn list<T: Send + 'static>(
        &self,
        work: impl for<'c> Fn(&'c mut Conn) -> BoxFuture<'c, Outcome<T>> + Send + Sync + 'static,
    ) -> Result<T> {
        let too_many = || Error::unavailable("too many lists are read from the database");
        let permit = {
            let _in_line = self.lists_in_line.try_acquire().map_err(|_| too_many())?;
            timeout(self.wait, Arc::clone(&self.pool_for_lists).acquire_owned()).await.map_err(|_| too_many())?
        };
        self.run(Some(permit.map_err(Error::internal)?), work).await
    }

    /// Runs work that writes, in a transaction of its own: it is undone when it fails and on disk when it succeeds.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl for<'c> Fn(&'c mut Conn) -> BoxFuture<'c, Outcome<T>> + Send + Sync + 'static,
    ) -> Result<T> {
        let work = Arc::new(work);
        self.run(None, move |conn| {
            let work = Arc::clone(&work);
            Box::pin(async move { transact_again(conn, &*work).await })
        })
        .await
    }

    /// Takes the lock of a task if no node has it, on a connection of its own outside the pool, which keeps it.
    pub(crate) async fn try_lock(&self, task: Task) -> Result<Option<Conn>> {
        let mut conn = self.connector.connect().await.map_err(Error::unavailable)?;
        let lock = diesel::sql_query("SELECT pg_try_advisory_lock($1) AS holds").bind::<BigInt, _>(key(task));
        let answer: QueryResult<YesOrNo> = lock.get_result(&mut conn).await;
        if !answer.map_err(Failure::from)?.holds {
            return Ok(None);
        }
        conn.batch_execute(STAY_WHILE_IDLE).await.map_err(Failure::from)?;
        Ok(Some(conn))
    }

    /// Begins to read everything, as it is now.
    pub(crate) async fn snapshot(&self) -> Result<Session> {
        Session::snapshot(&self.connector).await
    }

    /// Begins to change these tables.
    pub(crate) async fn change(&self, tables: &'static [Table]) -> Result<Session> {
        Session::change(&self.connector, tables).await
    }

    /// Returns how busy the connections are.
    pub(crate) fn lanes(&self) -> [Lane; 4] {
        let pool = self.pool.status();
        let busy = pool.size.saturating_sub(pool.available);
        let pool = Lane { name: "pool", size: pool.max_size, open: pool.size, busy, waiting: pool.waiting };
        [self.shared.lane("shared"), self.lists.lane("list"), self.exclusive.lane("exclusive"), pool]
    }

    fn running(&self) -> MutexGuard<'_, Option<Sender<Infallible>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the work at hand end, which takes no longer than its limit, and closes every connection; later work is
    /// refused as unavailable. Blocks until it is done.
    pub(crate) fn close(&self) {
        self.pool.close();
        self.shared.close();
        self.lists.close();
        self.exclusive.close();
        *self.running() = None;
        // Nothing is ever sent: it ends, or it does not.
        let _ = self.ended.recv_timeout(self.limit + GRACE);
    }
}

/// Checks that a URL names a database of a PostgreSQL server.
pub(crate) fn check_url(url: &str) -> std::result::Result<(), OpenError> {
    Connector::check(url)
}

/// Connects, to look.
pub(crate) async fn connect_to_inspect(url: &str, options: &Options) -> std::result::Result<Conn, OpenError> {
    let connector = Connector::new(url, options)?;
    connector.connect().await.map_err(|error| OpenError::Connect(error.into()))
}

/// Returns the key of a task's advisory lock.
fn key(task: Task) -> i64 {
    match task {
        Task::Sweep => MIGRATION_LOCK + 1,
    }
}

/// Checks the schema; unless the database is to be inspected, brings it up to date, when no other node does.
async fn prepare(opening: Opening, connector: &Connector) -> std::result::Result<Migrated, OpenError> {
    let mut conn = connector.connect().await.map_err(|error| OpenError::Connect(error.into()))?;
    // Changing a schema, and waiting for another node that does, may take longer than any request.
    let lock = format!("SET statement_timeout = 0; SET lock_timeout = 0; SELECT pg_advisory_lock({MIGRATION_LOCK})");
    if opening != Opening::Inspect {
        conn.batch_execute(&lock).await.map_err(|error| OpenError::Migration(error.into()))?;
    }
    let found = queries::transfer::applied(&mut conn).await.map_err(|error| OpenError::Migration(error.into()))?;
    version::check(&found, opening)?;
    if opening != Opening::Inspect {
        // The lock goes with the connection.
        let mut harness = AsyncMigrationHarness::new(conn);
        let applied = harness.run_pending_migrations(MIGRATIONS).map_err(OpenError::Migration)?;
        return Ok(Migrated { applied: version::names(&applied), saved: None });
    }
    Ok(Migrated::default())
}

async fn transact_again<T>(
    conn: &mut Conn,
    work: &impl for<'c> Fn(&'c mut Conn) -> BoxFuture<'c, Outcome<T>>,
) -> Outcome<T> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        match transact(conn, work).await {
            Err(failure) if attempts < ATTEMPTS && is_deadlock(&failure) => {}
            outcome => return outcome,
        }
    }
}

async fn transact<T>(conn: &mut Conn, work: impl for<'c> Fn(&'c mut Conn) -> BoxFuture<'c, Outcome<T>>) -> Outcome<T> {
    type Transactions = <Conn as AsyncConnection>::TransactionManager;
    Transactions::begin_transaction(conn).await?;
    match work(conn).await {
        Ok(value) => {
            Transactions::commit_transaction(conn).await?;
            Ok(value)
        }
        Err(failure) => {
            // When this fails too, the connection is broken and leaves the pool; the cause is the first failure.
            let _ = Transactions::rollback_transaction(conn).await;
            Err(failure)
        }
    }
}

/// Why work came to no end of its own.
fn ended(error: JoinError) -> Error {
    if error.is_panic() {
        Error::internal("work on the database panicked")
    } else {
        Error::unavailable("the service stops")
    }
}

/// Returns whether the server refused for a reason that the driver does not tell, and that is none of those which the
/// server explains by a detail or a hint. The driver keeps the SQLSTATE to itself, and messages are in the server's
/// language.
fn is_unexplained(failure: &Failure) -> bool {
    match failure {
        Failure::Database(DieselError::DatabaseError(DatabaseErrorKind::Unknown, info)) => {
            info.details().is_none() && info.hint().is_none()
        }
        _ => false,
    }
}

/// Returns whether PostgreSQL ended the transaction to resolve a deadlock, or a conflict of serializable transactions.
///
/// The driver keeps the SQLSTATE (40P01) to itself, and the message is in the server's language. What tells a report of
/// a deadlock from all other errors without a kind of their own that these queries can meet is that it has both a
/// detail (who waits for whom) and a hint. To take another error for one does no harm: the transaction is undone and
/// may be run again.
fn is_deadlock(failure: &Failure) -> bool {
    match failure {
        Failure::Database(DieselError::DatabaseError(DatabaseErrorKind::SerializationFailure, _)) => true,
        Failure::Database(DieselError::DatabaseError(DatabaseErrorKind::Unknown, info)) => {
            info.details().is_some() && info.hint().is_some()
        }
        _ => false,
    }
}

#[cfg(test)]
#[path = "changed_schema_tests.rs"]
mod changed_schema_tests;
#[cfg(test)]
#[path = "../../../../tests/support/postgres.rs"]
pub(super) mod private_postgres;
#[cfg(test)]
#[path = "tests.rs"]
pub(super) mod tests;
