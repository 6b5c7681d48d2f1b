//! A PostgreSQL database: its connections, and the work of several steps.

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
use super::pool::{Limits, Manager, Pool, UNPROVEN, too_late};
use super::queries;
use super::row_turns::RowTurns;
use super::work::{Transaction, Unknown, carry_out};
use crate::error::{Failure, OpenError};
use crate::figures::Lane;
use crate::mutex::lock;
use crate::options::{Flavor, Options};
use crate::search_limit::{SearchLimit, too_many};
use crate::sql_types::DbId;
use crate::turn::Turn;
use crate::version::{Backlog, Migrated, Opening};

/// Returns the key of the advisory lock of a turn.
const fn key(turn: Turn) -> i64 {
    MIGRATION_LOCK
        + match turn {
            Turn::Sweep => 1,
            Turn::Mail => 2,
            Turn::Erasure => 3,
        }
}

/// Keeps the server from ending a connection that holds a lock and is idle otherwise. Servers before version 14 do not
/// have the setting.
const STAY_WHILE_IDLE: &str = "SELECT set_config('idle_session_timeout', '0', false) \
    WHERE current_setting('idle_session_timeout', true) IS NOT NULL";

/// How much longer than a single statement all work of one step may take: the server's own word on a statement that
/// takes too long comes first, unless nothing comes from the server at all.
const GRACE: Duration = Duration::from_secs(1);

/// How many searches may wait for their turn; one more is turned away at once.
const SEARCHES_IN_LINE: usize = 64;

/// A PostgreSQL database.
pub(crate) struct Postgres {
    pub(crate) connector: Connector,
    /// Of a replica, the server that takes writes: it does what the replica cannot.
    primary: Option<Arc<Postgres>>,
    pool: Pool,
    /// For what reads little.
    shared: Arc<Pipelines>,
    /// For what reads a part of a list: nothing that reads little waits behind it.
    lists: Arc<Pipelines>,
    /// For the pool's connections that may write one row at once.
    row_turns: RowTurns,
    /// For those that searches may have at once.
    searches: SearchLimit,
    /// For those of them that searches of the catalog may have.
    catalog_searches: SearchLimit,
    /// Where the pool's connections are driven and its work is done: the runtime that the database was opened on, which
    /// outlives every request and every thread that serves them.
    runtime: Handle,
    limits: Limits,
    pub(crate) flavor: Flavor,
    /// As whom it holds leases.
    pub(super) holder: DbId,
    pub(crate) events: Events,
    /// What each piece of work keeps a copy of as long as it runs; nothing once the database is closed.
    running: Mutex<Option<Sender<Infallible>>>,
    /// Ends with the last of these.
    ended: Mutex<Receiver<Infallible>>,
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
        prepare(opening, &connector, options.flavor).await?;
        Self::over(connector, options, unproven)
    }

    /// Returns a replica, to which nothing is connected yet.
    pub(crate) fn replica(primary: Arc<Self>, url: &str, options: &Options) -> std::result::Result<Self, OpenError> {
        let replica = Self::over(Connector::to_replica(url, options)?, options, UNPROVEN)?;
        Ok(Self { primary: Some(primary), ..replica })
    }

    fn over(connector: Connector, options: &Options, unproven: Duration) -> std::result::Result<Self, OpenError> {
        let runtime = Handle::current();
        let shares = options.shares();
        let limits = Limits {
            wait: options.wait_timeout,
            work: options.statement_timeout + GRACE,
            lock: options.lock_timeout(),
            do_reads_conflict: options.flavor == Flavor::Distributed,
            unproven,
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
            row_turns: RowTurns::new(shares.pool, limits.wait),
            searches: SearchLimit::new(shares.searches, SEARCHES_IN_LINE),
            catalog_searches: SearchLimit::new(shares.catalog_searches, SEARCHES_IN_LINE),
            runtime,
            limits,
            flavor: options.flavor,
            holder: lease::holder(),
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

    /// Runs work that reads little.
    pub(crate) async fn read<T>(&self, work: impl Work<T>) -> Result<T> {
        let Some(primary) = &self.primary else { return self.shared.run(&work).await };
        match self.shared.run(&work).await {
            Err(error) if self.is_for_primary(&error) => primary.shared.run(&work).await,
            answer => answer,
        }
    }

    /// Runs work that reads a part of a list.
    pub(crate) async fn list<T>(&self, work: impl Work<T>) -> Result<T> {
        let Some(primary) = &self.primary else { return self.lists.run(&work).await };
        match self.lists.run(&work).await {
            Err(error) if self.is_for_primary(&error) => primary.lists.run(&work).await,
            answer => answer,
        }
    }

    /// Runs work that reads a part of a list and takes longer the more there is to choose from: no other waits behind it,
    /// and together they have a few of the pool's connections.
    pub(crate) async fn search<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        let Some(primary) = &self.primary else { return self.search_here(work).await };
        // Where too many wait for the replica it is well: what is remembered of its state stays.
        let Ok(turn) = self.turn_of(&self.searches).await else { return primary.search_here(work).await };
        let work = Arc::new(work);
        let same = Arc::clone(&work);
        match self.search_in(turn, move |conn| same(conn)).await {
            Err(error) if self.is_for_primary(&error) => primary.search_here(move |conn| work(conn)).await,
            answer => answer,
        }
    }

    /// Does so for the catalog, of which fewer searches run at once.
    pub(crate) async fn search_catalog<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        let turn = self.turn_of(&self.catalog_searches).await?;
        self.search(move |conn| {
            // Until it is done, also when the request that waits for it goes away.
            let _ = &turn;
            work(conn)
        })
        .await
    }

    /// Runs work that reads little on this very server, if it is a replica.
    pub(crate) async fn ask<T>(&self, work: impl Work<T>) -> Result<T> {
        self.shared.run(&work).await
    }

    /// Returns whether a replica failed at what the server that takes writes may do: it is away, has ended a read that it
    /// would have had to wait for, or has not received a change of the schema. What is remembered of its state is forgotten.
    fn is_for_primary(&self, error: &Error) -> bool {
        let is_failure = matches!(error, Error::Unavailable(_) | Error::Internal(_));
        if is_failure {
            tracing::debug!(cause = error.cause(), "the replica failed");
            self.connector.count();
        }
        is_failure
    }

    /// Waits for the turn of a search, no longer than for a connection.
    async fn turn_of(&self, limit: &SearchLimit) -> Result<OwnedSemaphorePermit> {
        timeout(self.limits.wait, limit.acquire()).await.map_err(|_| too_many())?
    }

    async fn search_here<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        let turn = self.turn_of(&self.searches).await?;
        self.search_in(turn, work).await
    }

    async fn search_in<T: Send + 'static>(&self, turn: OwnedSemaphorePermit, work: impl Work<T>) -> Result<T> {
        self.run(Some(turn), self.limits, Transaction::Read, Unknown::Fails, Box::new(work)).await
    }

    /// Runs work that writes with one statement, which is its own transaction. A distributed engine may
    /// refuse a transaction when it commits, and a row that the statement has returned by then would pass for success: there it commits apart.
    pub(crate) async fn statement<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        self.write_by(None, self.of_statement(), Unknown::Fails, work).await
    }

    /// Runs work that writes, in a transaction of its own: it is undone when it fails and on disk when it succeeds.
    pub(crate) async fn write<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        self.write_by(None, Transaction::Explicit, Unknown::Fails, work).await
    }

    /// Writes what is the same when it is written twice: so it is, when the connection is lost before its end is known.
    pub(crate) async fn write_again<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        self.write_by(None, Transaction::Explicit, Unknown::IsDoneAgain, work).await
    }

    /// Writes what stores with it that it completes an attempt: by that it is known, when the connection is lost before its end is, whether
    /// it is to be done again.
    pub(crate) async fn write_once<T: Send + 'static>(&self, attempt: DbId, work: impl Work<T>) -> Result<T> {
        self.write_by(None, Transaction::Explicit, Unknown::IsLookedUp(attempt), work).await
    }

    /// Returns which transaction a single statement that writes is done in.
    const fn of_statement(&self) -> Transaction {
        match self.flavor {
            Flavor::Postgresql => Transaction::Statement,
            Flavor::Distributed => Transaction::Explicit,
        }
    }

    /// Runs work that writes, in its turn where it is at a row that many may write at once.
    async fn write_by<T: Send + 'static>(
        &self,
        row: Option<Uuid>,
        transaction: Transaction,
        unknown: Unknown,
        work: impl Work<T>,
    ) -> Result<T> {
        let this = self.for_writes();
        let begun = Instant::now();
        let turn = match row {
            Some(row) => Some(this.row_turns.acquire(row).await?),
            None => None,
        };
        // Both are waited for together no longer than a connection alone.
        let limits = Limits { wait: this.limits.wait.saturating_sub(begun.elapsed()), ..this.limits };
        this.run(turn, limits, transaction, unknown, Box::new(work)).await
    }

    /// Returns what writes a row that many may write at once.
    pub(crate) fn at_row(&self, row: Uuid) -> AtRow<'_> {
        AtRow { database: self, row }
    }

    fn for_writes(&self) -> &Self {
        self.primary.as_deref().unwrap_or(self)
    }

    /// Does work on a connection from the pool, on the runtime that drives it. Once begun it is done to its end, also when
    /// the request that waits for it goes away, since a connection could not be used again after half a statement or half
    /// a transaction.
    async fn run<T: Send + 'static>(
        &self,
        permit: Option<OwnedSemaphorePermit>,
        limits: Limits,
        transaction: Transaction,
        unknown: Unknown,
        work: Box<dyn Work<T>>,
    ) -> Result<T> {
        let runs = lock(&self.running).clone().ok_or_else(|| Error::unavailable("the database is closed"))?;
        let pool = self.pool.clone();
        let (reply, answer) = oneshot::channel();
        self.runtime.spawn(async move {
            let _held = (runs, permit);
            let outcome = carry_out(&pool, limits, (transaction, unknown), &*work, &|| reply.is_closed()).await;
            // Whoever no longer waits does not miss it.
            let _ = reply.send(outcome);
        });
        answer.await.unwrap_or_else(|_| Err(Error::unavailable("the database is closed")))
    }

    /// Returns whether it is an engine over many machines.
    pub(crate) fn is_distributed(&self) -> bool {
        self.flavor == Flavor::Distributed
    }

    /// Returns where work goes on that nobody waits for.
    pub(super) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Takes the lock of a turn if no node has it, on a connection of its own outside the pool, which keeps it.
    pub(crate) async fn lock(&self, turn: Turn) -> Result<Option<AsyncPgConnection>> {
        let mut conn = self.connector.connect().await.map_err(Error::unavailable)?;
        let taken = async {
            let lock = sql::<Bool>(&format!("SELECT pg_try_advisory_lock({})", key(turn)));
            let is_taken: bool = lock.get_result(&mut conn).await?;
            if is_taken {
                conn.batch_execute(STAY_WHILE_IDLE).await?;
            }
            Ok::<_, DieselError>(is_taken)
        };
        // Whoever waits for a server that never answers would do nothing any more.
        let taken = timeout(self.limits.work, taken).await.map_err(|_| too_late())?;
        Ok(taken.map_err(Failure::from)?.then_some(conn))
    }

    /// Returns how busy the connections are.
    pub(crate) fn lanes(&self) -> [Lane; 3] {
        let pool = self.pool.status();
        let busy = pool.size.saturating_sub(pool.available);
        let pool = Lane { name: "pool", size: pool.max_size, open: pool.size, busy, waiting: pool.waiting };
        [self.shared.lane("shared"), self.lists.lane("list"), pool]
    }

    /// Lets the work at hand end, which takes no longer than its limit, and closes every connection; later work is
    /// refused as unavailable. Blocks until it is done.
    pub(crate) fn close(&self) {
        if self.is_distributed() {
            let given_back = self.statement({
                let holder = self.holder;
                move |conn| Box::pin(lease::give_back_all(conn, holder))
            });
            // They expire by themselves otherwise.
            let _ = self.runtime.block_on(timeout(GRACE, given_back));
        }
        self.pool.close();
        self.shared.close();
        self.lists.close();
        *lock(&self.running) = None;
        // Nothing is ever sent: it ends, or it does not.
        let _ = lock(&self.ended).recv_timeout(self.limits.work + GRACE);
    }
}

/// Writes a row that many may write at once, in turns, by the ways of [`Postgres`].
pub(crate) struct AtRow<'a> {
    database: &'a Postgres,
    row: Uuid,
}

impl AtRow<'_> {
    pub(crate) async fn statement<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        self.database.write_by(Some(self.row), self.database.of_statement(), Unknown::Fails, work).await
    }

    pub(crate) async fn write<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        self.database.write_by(Some(self.row), Transaction::Explicit, Unknown::Fails, work).await
    }

    pub(crate) async fn write_again<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        self.database.write_by(Some(self.row), Transaction::Explicit, Unknown::IsDoneAgain, work).await
    }

    pub(crate) async fn write_once<T: Send + 'static>(&self, attempt: DbId, work: impl Work<T>) -> Result<T> {
        self.database.write_by(Some(self.row), Transaction::Explicit, Unknown::IsLookedUp(attempt), work).await
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
