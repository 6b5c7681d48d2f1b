//! PostgreSQL: a pool of connections.
//!
//! A write is one transaction at READ COMMITTED; what it decides on it locks first. A transaction that PostgreSQL ends to
//! resolve a deadlock is run again.

use std::time::Duration;

use agora_domain::{Error, Result};
use diesel::{
    OptionalExtension, QueryDsl, SelectableHelper,
    result::{DatabaseErrorKind, Error as DieselError},
};
pub(crate) use diesel_async::RunQueryDsl;
use diesel_async::{
    AsyncConnection, AsyncMigrationHarness, SimpleAsyncConnection,
    pooled_connection::{
        AsyncDieselConnectionManager, ManagerConfig, RecyclingMethod,
        deadpool::{Object, Pool},
    },
};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use futures_util::future::BoxFuture;

use self::connect::Connector;
pub(crate) use self::session::Session;
use crate::{
    error::{Failure, OpenError, Outcome},
    rows::{PostRow, UserRow},
    schema::{posts, products, users},
    sql_types::DbId,
};

mod connect;
mod session;

#[path = "../queries/mod.rs"]
pub(crate) mod queries;

/// The connection that the query functions run on.
pub(crate) type Conn = diesel_async::AsyncPgConnection;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../migrations/postgres");

/// The key of the advisory lock under which one node at a time applies migrations.
const MIGRATION_LOCK: i64 = 0x61_67_6f_72_61;

/// How long a request waits for a free connection, and how long one may take to be made.
const WAIT: Duration = Duration::from_secs(5);

/// How often a transaction is tried that PostgreSQL ends to resolve a deadlock.
const ATTEMPTS: u32 = 5;

// What others may change at the same time is locked before it is decided upon.

/// The accounts with ADMIN, locked against changes by others; in one order, so that two changes cannot wait for each
/// other.
pub(crate) async fn lock_admins(conn: &mut Conn) -> Outcome<()> {
    let admins = users::table.filter(users::is_admin).order(users::id).select(users::id).for_update();
    admins.load::<DbId>(conn).await?;
    Ok(())
}

/// The account, locked against changes by others.
pub(crate) async fn lock_user(conn: &mut Conn, id: DbId) -> Outcome<Option<UserRow>> {
    let row = users::table.find(id).select(UserRow::as_select()).for_no_key_update();
    Ok(row.get_result(conn).await.optional()?)
}

/// The post, locked against changes by others.
pub(crate) async fn lock_post(conn: &mut Conn, id: DbId) -> Outcome<Option<PostRow>> {
    let row = posts::table.find(id).select(PostRow::as_select()).for_no_key_update();
    Ok(row.get_result(conn).await.optional()?)
}

/// The product, locked against changes by others.
pub(crate) async fn lock_product(conn: &mut Conn, id: DbId) -> Outcome<()> {
    products::table.find(id).select(products::id).for_no_key_update().get_result::<DbId>(conn).await.optional()?;
    Ok(())
}

/// A pool of connections to a PostgreSQL database.
pub(crate) struct Postgres {
    connector: Connector,
    pool: Pool<Conn>,
}

impl Postgres {
    /// Connects and brings the schema up to date. Several nodes may do so at once.
    pub(crate) async fn open(url: &str, connections: usize) -> std::result::Result<Self, OpenError> {
        let connector = Connector::new(url)?;
        let mut config = ManagerConfig::default();
        let setup = connector.clone();
        config.custom_setup = Box::new(move |_| {
            let connector = setup.clone();
            Box::pin(async move { connector.connect().await })
        });
        // A connection that broke is noticed by its first query: no need to ask before each.
        config.recycling_method = RecyclingMethod::Fast;
        let manager = AsyncDieselConnectionManager::new_with_config(url, config);
        let pool = Pool::builder(manager)
            .max_size(connections)
            .wait_timeout(Some(WAIT))
            .create_timeout(Some(WAIT))
            .runtime(deadpool::Runtime::Tokio1)
            .build()
            .map_err(|error| OpenError::Connect(error.into()))?;
        let mut connection = connector.connect().await.map_err(|error| OpenError::Connect(error.into()))?;
        let lock = format!("SELECT pg_advisory_lock({MIGRATION_LOCK})");
        connection.batch_execute(&lock).await.map_err(|error| OpenError::Migration(error.into()))?;
        // The lock goes with the connection.
        let mut harness = AsyncMigrationHarness::new(connection);
        harness.run_pending_migrations(MIGRATIONS).map_err(OpenError::Migration)?;
        Ok(Self { connector, pool })
    }

    async fn connection(&self) -> Result<Object<Conn>> {
        self.pool.get().await.map_err(Error::unavailable)
    }

    /// Runs work that reads.
    pub(crate) async fn read<T>(
        &self,
        work: impl for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Outcome<T>> + Send,
    ) -> Result<T> {
        let mut connection = self.connection().await?;
        Ok(work(&mut connection).await?)
    }

    /// Runs work that writes, in a transaction of its own: it is undone when it fails and on disk when it succeeds.
    pub(crate) async fn write<T: Send>(
        &self,
        work: impl for<'c> Fn(&'c mut Conn) -> BoxFuture<'c, Outcome<T>> + Send + Sync,
    ) -> Result<T> {
        let mut connection = self.connection().await?;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let work = &work;
            match connection.transaction(async move |conn| work(conn).await).await {
                Err(failure) if attempts < ATTEMPTS && is_deadlock(&failure) => {}
                outcome => return Ok(outcome?),
            }
        }
    }

    /// Begins to read everything, as it is now.
    pub(crate) async fn snapshot(&self) -> Result<Session> {
        Session::snapshot(&self.connector).await
    }

    /// Begins to fill the database.
    pub(crate) async fn load(&self) -> Result<Session> {
        Session::load(&self.connector).await
    }

    /// Closes every connection; later work is refused as unavailable.
    pub(crate) fn close(&self) {
        self.pool.close();
    }
}

fn is_deadlock(failure: &Failure) -> bool {
    match failure {
        Failure::Database(DieselError::DatabaseError(DatabaseErrorKind::SerializationFailure, _)) => true,
        Failure::Database(DieselError::DatabaseError(_, info)) => info.message().starts_with("deadlock detected"),
        _ => false,
    }
}
