//! One transaction over several steps, on a connection of its own.

use agora_domain::{Error, Result};
use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Bool};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use futures_util::future::BoxFuture;

use super::connect::Connector;
use super::database::Postgres;
use super::dialect::Conn;
use super::opening::MIGRATION_LOCK;
use crate::error::{Failure, Outcome};
use crate::options::Flavor;
use crate::random::random;
use crate::transfer::Table;

/// A transaction. Dropping it closes its connection, which rolls back what is not committed.
pub(crate) struct Session {
    conn: AsyncPgConnection,
    /// The tables that the transaction changes.
    tables: &'static [Table],
}

impl Session {
    /// Lifts the time limits that keep requests short: a whole table takes its time, and so does what is done with it between
    /// two steps.
    const UNLIMITED: &str = "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0";

    /// Begins to read the database as it is now. Until this is dropped, no migration is applied.
    pub(crate) async fn snapshot(connector: &Connector, flavor: Flavor) -> Result<Self> {
        let mut conn = connector.connect().await.map_err(Error::unavailable)?;
        if flavor == Flavor::Postgresql {
            // Taken before the transaction, which then sees no migration that is half done. It is released with the connection,
            // and waited for as long as a migration takes.
            let lock = format!(
                "SET statement_timeout = 0; SET lock_timeout = 0; SELECT pg_advisory_lock_shared({MIGRATION_LOCK})"
            );
            conn.batch_execute(&lock).await.map_err(Failure::from)?;
        }
        // The transaction sees the database as of its first query.
        let first = "SELECT count(*) FROM users WHERE false";
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        Self::begin(conn, &format!("{begin}; {}; {first}", Self::UNLIMITED), &[]).await
    }

    /// Begins to change these tables, which others may meanwhile read but not change.
    pub(crate) async fn change(connector: &Connector, tables: &'static [Table]) -> Result<Self> {
        let lock = format!("LOCK TABLE {} IN EXCLUSIVE MODE", names(tables));
        let conn = connector.connect().await.map_err(Error::unavailable)?;
        Self::begin(conn, &format!("BEGIN; {}; {lock}", Self::UNLIMITED), tables).await
    }

    async fn begin(mut conn: AsyncPgConnection, statements: &str, tables: &'static [Table]) -> Result<Self> {
        conn.batch_execute(statements).await.map_err(Failure::from)?;
        Ok(Self { conn, tables })
    }

    /// Runs work in the transaction.
    pub(crate) async fn run<T>(
        &mut self,
        work: impl for<'a, 'c> FnOnce(&'a mut Conn<'c>) -> BoxFuture<'a, Outcome<T>> + Send,
    ) -> Result<T> {
        Ok(work(&mut &self.conn).await?)
    }

    /// Commits; the session is of no use afterwards. The changed tables are analyzed first: until the server does so by itself,
    /// its plans would be those for empty tables.
    pub(crate) async fn commit(&mut self) -> Result<()> {
        let commit = format!("ANALYZE {}; COMMIT", names(self.tables));
        Ok(self.conn.batch_execute(&commit).await.map_err(Failure::from)?)
    }
}

impl Postgres {
    /// Returns whether both handles lead to the same database, by checking that a lock taken through one is held for the other.
    pub(crate) async fn is_same(&self, other: &Self) -> Result<bool> {
        if [self.flavor, other.flavor] != [Flavor::Postgresql; 2] {
            return Ok(false);
        }
        let id = random().cast_signed();
        let connect = async |connector: &Connector| connector.connect().await.map_err(Error::unavailable);
        let (mut holding, trying) = (connect(&self.connector).await?, connect(&other.connector).await?);
        let lock = format!("BEGIN; SELECT pg_advisory_xact_lock({id})");
        holding.batch_execute(&lock).await.map_err(Failure::from)?;
        let is_free = sql::<Bool>("pg_try_advisory_xact_lock(").bind::<BigInt, _>(id).sql(")");
        let is_free: bool = diesel::select(is_free).get_result(&mut &trying).await.map_err(Failure::from)?;
        Ok(!is_free)
    }
}

fn names(tables: &[Table]) -> String {
    tables.iter().map(|table| table.name()).collect::<Vec<_>>().join(", ")
}
