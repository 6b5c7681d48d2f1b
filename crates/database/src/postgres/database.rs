//! A PostgreSQL database: its connections, and how work is run on them.

use std::convert::Infallible;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agora_domain::{Error, Result};
use diesel::dsl::sql;
use diesel::result::Error as DieselError;
use diesel::sql_types::Bool;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::timeout;
use uuid::Uuid;

use super::connect::Connector;
use super::dialect::{RunQueryDsl, Work};
use super::events::Events;
use super::lease;
use super::opening::{MIGRATION_LOCK, applied, connect_to_inspect, prepare};
use super::pipeline::Pipelines;
use super::pool::{Limits, Manager, PING_AFTER_IDLE, Pool, timed_out};
use super::queries;
use super::row_write_limit::RowWriteLimit;
use super::work::{OnUnknownOutcome, Transaction, run_in_pool};
use crate::error::{Failure, OpenError};
use crate::exclusive_job::ExclusiveJob;
use crate::figures::Lane;
use crate::mutex::lock;
use crate::options::{Flavor, Options};
use crate::search_limit::{SearchLimit, too_many};
use crate::sql_types::DbId;
use crate::version::{Backlog, Migrated, Opening};

/// Returns the key of the advisory lock that nodes take for a background job.
const fn advisory_lock_key(job: ExclusiveJob) -> i64 {
    MIGRATION_LOCK
        + match job {
            ExclusiveJob::Sweep => 1,
            ExclusiveJob::Mail => 2,
            ExclusiveJob::Erasure => 3,
        }
}

/// Keeps the server from ending a connection that holds a lock but is otherwise idle. Servers before version 14 do not
/// have the setting.
const DISABLE_IDLE_SESSION_TIMEOUT: &str = "SELECT set_config('idle_session_timeout', '0', false) \
    WHERE current_setting('idle_session_timeout', true) IS NOT NULL";

/// How much longer than a single statement a unit of work may take, so that the server's own statement timeout is
/// reported first, unless the server does not answer at all.
const GRACE: Duration = Duration::from_secs(1);

/// How many searches may wait for a permit; any further one is rejected at once.
const SEARCH_QUEUE_CAPACITY: usize = 64;

/// A PostgreSQL database.
pub(crate) struct Postgres {
    pub(crate) connector: Connector,
    /// For a replica, the server that takes writes: it does what the replica cannot.
    primary: Option<Arc<Postgres>>,
    pool: Pool,
    /// Connections for small reads.
    shared: Arc<Pipelines>,
    /// Connections for reads of a part of a list, separate so that no small read waits behind one.
    lists: Arc<Pipelines>,
    /// Limits how many of the pool's connections write the same row at once.
    row_write_limit: RowWriteLimit,
    /// Limits how many of the pool's connections run searches at once.
    searches: SearchLimit,
    /// Limits how many of these searches may be of the catalog.
    catalog_searches: SearchLimit,
    /// The runtime that drives the pool's connections and runs their work: the one that the database was opened on, which
    /// outlives every request and every thread that serves requests.
    runtime: Handle,
    limits: Limits,
    pub(crate) flavor: Flavor,
    /// The holder in whose name this node takes leases.
    pub(super) holder: DbId,
    pub(crate) events: Events,
    /// Cloned for each unit of work, which keeps its clone while it runs; `None` once the database is closed.
    running: Mutex<Option<Sender<Infallible>>>,
    /// Disconnects when the last of these clones is dropped.
    ended: Mutex<Receiver<Infallible>>,
}

impl Postgres {
    /// Connects and, unless the database is only inspected, brings its schema up to date. Several nodes may do so at once.
    pub(crate) async fn open(opening: Opening, url: &str, options: &Options) -> std::result::Result<Self, OpenError> {
        Self::open_with(opening, url, options, PING_AFTER_IDLE).await
    }

    /// Does what [`open`](Self::open) does, with a pool that pings a connection that was idle for `ping_after_idle`.
    async fn open_with(
        opening: Opening,
        url: &str,
        options: &Options,
        ping_after_idle: Duration,
    ) -> std::result::Result<Self, OpenError> {
        let connector = Connector::new(url, options)?;
        prepare(opening, &connector, options.flavor).await?;
        Self::with_connector(connector, options, ping_after_idle)
    }

    /// Creates a handle on a replica, without connecting to it yet.
    pub(crate) fn replica(primary: Arc<Self>, url: &str, options: &Options) -> std::result::Result<Self, OpenError> {
        let replica = Self::with_connector(Connector::to_replica(url, options)?, options, PING_AFTER_IDLE)?;
        Ok(Self { primary: Some(primary), ..replica })
    }

    fn with_connector(
        connector: Connector,
        options: &Options,
        ping_after_idle: Duration,
    ) -> std::result::Result<Self, OpenError> {
        let runtime = Handle::current();
        let shares = options.shares();
        let limits = Limits {
            wait: options.wait_timeout,
            work: options.statement_timeout + GRACE,
            lock: options.lock_timeout(),
            may_reads_conflict: options.flavor == Flavor::Distributed,
            ping_after_idle,
        };
        let pipelines = |connections| Pipelines::new(connector.clone(), connections, limits);
        let (shared, lists) = (pipelines(shares.shared), pipelines(shares.lists));
        let manager = Manager::new(connector.clone(), limits);
        let pool =
            Pool::builder(manager).max_size(shares.pool).build().map_err(|error| OpenError::Connect(error.into()))?;
        let (running, ended) = channel();
        Ok(Self {
            connector,
            primary: None,
            pool,
            shared,
            lists,
            row_write_limit: RowWriteLimit::new(shares.pool, limits.wait),
            searches: SearchLimit::new(shares.searches, SEARCH_QUEUE_CAPACITY),
            catalog_searches: SearchLimit::new(shares.catalog_searches, SEARCH_QUEUE_CAPACITY),
            runtime,
            limits,
            flavor: options.flavor,
            holder: lease::new_holder(),
            events: Events::default(),
            running: Mutex::new(Some(running)),
            ended: Mutex::new(ended),
        })
    }

    /// Brings the schema up to date, and does no more.
    pub(crate) async fn migrate(url: &str, options: &Options) -> std::result::Result<Migrated, OpenError> {
        prepare(Opening::Change, &Connector::new(url, options)?, options.flavor).await
    }

    /// Returns the versions of the migrations that were applied.
    pub(crate) async fn applied(url: &str, options: &Options) -> std::result::Result<Vec<String>, OpenError> {
        applied(&connect_to_inspect(url, options).await?).await
    }

    /// Returns how much the service still has to do in the background.
    pub(crate) async fn backlog(url: &str, options: &Options) -> std::result::Result<Backlog, OpenError> {
        let conn = connect_to_inspect(url, options).await?;
        let found = queries::transfer::backlog(&mut &conn).await;
        found.map_err(|failure| OpenError::Migration(Error::from(failure).into()))
    }

    /// Runs a small read.
    pub(crate) async fn read<T>(&self, work: impl Work<T>) -> Result<T> {
        let Some(primary) = &self.primary else { return self.shared.run(&work).await };
        match self.shared.run(&work).await {
            Err(error) if self.should_fall_back_to_primary(&error) => primary.shared.run(&work).await,
            answer => answer,
        }
    }

    /// Runs work that reads a part of a list.
    pub(crate) async fn list<T>(&self, work: impl Work<T>) -> Result<T> {
        let Some(primary) = &self.primary else { return self.lists.run(&work).await };
        match self.lists.run(&work).await {
            Err(error) if self.should_fall_back_to_primary(&error) => primary.lists.run(&work).await,
            answer => answer,
        }
    }

    /// Runs a read of a part of a list that takes longer the more data there is to choose from. It has a pooled connection
    /// to itself, so that no other read waits behind it, and all searches together use only a few of these.
    pub(crate) async fn search<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        let Some(primary) = &self.primary else { return self.search_locally(work).await };
        // That too many searches wait is no failure of the replica: what is cached of its state stays valid.
        let Ok(permit) = self.acquire_search_permit(&self.searches).await else {
            return primary.search_locally(work).await;
        };
        let work = Arc::new(work);
        let same = Arc::clone(&work);
        match self.search_with_permit(permit, move |conn| same(conn)).await {
            Err(error) if self.should_fall_back_to_primary(&error) => {
                primary.search_locally(move |conn| work(conn)).await
            }
            answer => answer,
        }
    }

    /// Runs a [`search`](Self::search) of the catalog, of which fewer may run at once.
    pub(crate) async fn search_catalog<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        let permit = self.acquire_search_permit(&self.catalog_searches).await?;
        self.search(move |conn| {
            // Held until the search ends, even if its request is cancelled.
            let _ = &permit;
            work(conn)
        })
        .await
    }

    /// Runs a small read on this server, without falling back to the primary if it is a replica.
    pub(crate) async fn ask<T>(&self, work: impl Work<T>) -> Result<T> {
        self.shared.run(&work).await
    }

    /// Returns whether a replica failed at something that the primary can do: the replica is away, has cancelled a read that
    /// held up its recovery, or has not received a change of the schema. If so, what is cached of its state is invalidated.
    fn should_fall_back_to_primary(&self, error: &Error) -> bool {
        let is_failure = matches!(error, Error::Unavailable(_) | Error::Internal(_));
        if is_failure {
            tracing::debug!(cause = error.cause(), "a read from the replica failed");
            self.connector.count();
        }
        is_failure
    }

    /// Acquires the permit of a search, which is waited for no longer than a connection.
    async fn acquire_search_permit(&self, limit: &SearchLimit) -> Result<OwnedSemaphorePermit> {
        timeout(self.limits.wait, limit.acquire()).await.map_err(|_| too_many())?
    }

    async fn search_locally<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        let permit = self.acquire_search_permit(&self.searches).await?;
        self.search_with_permit(permit, work).await
    }

    async fn search_with_permit<T: Send + 'static>(
        &self,
        permit: OwnedSemaphorePermit,
        work: impl Work<T>,
    ) -> Result<T> {
        self.run(Some(permit), self.limits, Transaction::Read, OnUnknownOutcome::Fail, Box::new(work)).await
    }

    /// Runs a write of a single statement, as an implicit transaction. A distributed engine may refuse a transaction when it
    /// commits, after the statement has returned a row that would pass for success, so there the transaction is explicit.
    pub(crate) async fn statement<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        self.write_with(None, self.statement_transaction(), OnUnknownOutcome::Fail, work).await
    }

    /// Runs a write in a transaction of its own, which is rolled back if it fails and on disk if it succeeds.
    pub(crate) async fn write<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        self.write_with(None, Transaction::Explicit, OnUnknownOutcome::Fail, work).await
    }

    /// Runs an idempotent write, which is repeated if the connection is lost before its outcome is known.
    pub(crate) async fn write_idempotent<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        self.write_with(None, Transaction::Explicit, OnUnknownOutcome::Retry, work).await
    }

    /// Runs a write that stores, in its transaction, that it completes an attempt. If the connection is lost before the outcome
    /// is known, that record tells whether to repeat the write.
    pub(crate) async fn write_once<T: Send + 'static>(&self, attempt: DbId, work: impl Work<T>) -> Result<T> {
        self.write_with(None, Transaction::Explicit, OnUnknownOutcome::LookUp(attempt), work).await
    }

    /// Returns the kind of transaction for a write of a single statement.
    const fn statement_transaction(&self) -> Transaction {
        match self.flavor {
            Flavor::Postgresql => Transaction::Statement,
            Flavor::Distributed => Transaction::Explicit,
        }
    }

    /// Runs a write. If it names a row that many may write at once, it first waits for a permit for that row.
    async fn write_with<T: Send + 'static>(
        &self,
        row: Option<Uuid>,
        transaction: Transaction,
        on_unknown: OnUnknownOutcome,
        work: impl Work<T>,
    ) -> Result<T> {
        let this = self.primary_or_self();
        let started = Instant::now();
        let permit = match row {
            Some(row) => Some(this.row_write_limit.acquire(row).await?),
            None => None,
        };
        // The waits for the permit and for a connection together take no longer than for a connection alone.
        let limits = Limits { wait: this.limits.wait.saturating_sub(started.elapsed()), ..this.limits };
        this.run(permit, limits, transaction, on_unknown, Box::new(work)).await
    }

    /// Returns a handle for writes to a row that many may write at once.
    pub(crate) fn at_row(&self, row: Uuid) -> AtRow<'_> {
        AtRow { database: self, row }
    }

    fn primary_or_self(&self) -> &Self {
        self.primary.as_deref().unwrap_or(self)
    }

    /// Runs work on a pooled connection, on the runtime that drives it. Once started, the work runs to its end even if its
    /// request is cancelled, since a connection cannot be reused after half a statement or half a transaction.
    async fn run<T: Send + 'static>(
        &self,
        permit: Option<OwnedSemaphorePermit>,
        limits: Limits,
        transaction: Transaction,
        on_unknown: OnUnknownOutcome,
        work: Box<dyn Work<T>>,
    ) -> Result<T> {
        let runs = lock(&self.running).clone().ok_or_else(|| Error::unavailable("the database is closed"))?;
        let pool = self.pool.clone();
        let (reply, answer) = oneshot::channel();
        self.runtime.spawn(async move {
            let _held = (runs, permit);
            let outcome = run_in_pool(&pool, limits, (transaction, on_unknown), &*work, &|| reply.is_closed()).await;
            // The receiver is gone if the request was cancelled.
            let _ = reply.send(outcome);
        });
        answer.await.unwrap_or_else(|_| Err(Error::unavailable("the database is closed")))
    }

    /// Returns whether the server is a distributed engine, which runs on many machines.
    pub(crate) fn is_distributed(&self) -> bool {
        self.flavor == Flavor::Distributed
    }

    /// Returns the runtime for work that nobody waits for.
    pub(super) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Takes the lock of a job unless another node has it. The returned connection, which is not in the pool, holds the lock.
    pub(crate) async fn lock(&self, job: ExclusiveJob) -> Result<Option<AsyncPgConnection>> {
        let mut conn = self.connector.connect().await.map_err(Error::unavailable)?;
        let taken = async {
            let lock = sql::<Bool>(&format!("SELECT pg_try_advisory_lock({})", advisory_lock_key(job)));
            let is_taken: bool = lock.get_result(&mut conn).await?;
            if is_taken {
                conn.batch_execute(DISABLE_IDLE_SESSION_TIMEOUT).await?;
            }
            Ok::<_, DieselError>(is_taken)
        };
        // Without a limit, the caller would wait forever for a server that never answers.
        let taken = timeout(self.limits.work, taken).await.map_err(|_| timed_out())?;
        Ok(taken.map_err(Failure::from)?.then_some(conn))
    }

    /// Returns how busy the connections are.
    pub(crate) fn lanes(&self) -> [Lane; 3] {
        let pool = self.pool.status();
        let busy = pool.size.saturating_sub(pool.available);
        let pool = Lane { name: "pool", size: pool.max_size, open: pool.size, busy, waiting: pool.waiting };
        [self.shared.lane("shared"), self.lists.lane("list"), pool]
    }

    /// Waits for running work, which takes no longer than its limit, and closes every connection. Later work is refused as
    /// unavailable. Blocks until all of this is done.
    pub(crate) fn close(&self) {
        if self.is_distributed() {
            let released = self.statement({
                let holder = self.holder;
                move |conn| Box::pin(lease::release_all(conn, holder))
            });
            // Leases that could not be released expire by themselves.
            let _ = self.runtime.block_on(timeout(GRACE, released));
        }
        self.pool.close();
        self.shared.close();
        self.lists.close();
        *lock(&self.running) = None;
        // Nothing is ever sent: this returns when every sender is dropped, or at the timeout.
        let _ = lock(&self.ended).recv_timeout(self.limits.work + GRACE);
    }
}

/// Writes to a row that many may write at once. It has the writing methods of [`Postgres`], but limits how many run at a time.
pub(crate) struct AtRow<'a> {
    database: &'a Postgres,
    row: Uuid,
}

impl AtRow<'_> {
    pub(crate) async fn statement<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        self.database
            .write_with(Some(self.row), self.database.statement_transaction(), OnUnknownOutcome::Fail, work)
            .await
    }

    pub(crate) async fn write<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        self.database.write_with(Some(self.row), Transaction::Explicit, OnUnknownOutcome::Fail, work).await
    }

    pub(crate) async fn write_idempotent<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        self.database.write_with(Some(self.row), Transaction::Explicit, OnUnknownOutcome::Retry, work).await
    }

    pub(crate) async fn write_once<T: Send + 'static>(&self, attempt: DbId, work: impl Work<T>) -> Result<T> {
        self.database.write_with(Some(self.row), Transaction::Explicit, OnUnknownOutcome::LookUp(attempt), work).await
    }
}

#[cfg(test)]
#[path = "changed_schema_tests.rs"]
mod changed_schema_tests;
#[cfg(test)]
#[path = "conflict_tests.rs"]
mod conflict_tests;
#[cfg(test)]
#[path = "event_tests.rs"]
mod event_tests;
#[cfg(test)]
#[path = "lease_tests.rs"]
mod lease_tests;
#[cfg(test)]
#[path = "lost_connection_tests.rs"]
mod lost_connection_tests;
#[cfg(test)]
#[path = "previous_release_tests.rs"]
mod previous_release_tests;
#[cfg(test)]
#[path = "../../../../tests/support/postgres.rs"]
pub(crate) mod private_postgres;
#[cfg(test)]
#[path = "several_servers_tests.rs"]
mod several_servers_tests;
#[cfg(test)]
#[path = "tests.rs"]
pub(super) mod tests;
