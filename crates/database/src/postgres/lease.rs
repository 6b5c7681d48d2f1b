//! Leases, by which one node at a time does something, on engines without advisory locks.

use std::time::{Duration, Instant};

use agora_domain::Error;
use diesel::dsl::{now, sql};
use diesel::expression::SqlLiteral;
use diesel::sql_types::{Bool, Timestamptz};
use diesel::upsert::excluded;
use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use tokio::task::AbortHandle;
use tokio::time::{interval_at, sleep};
use uuid::Uuid;

use super::conflict::is_conflict;
use super::connect::Connector;
use super::dialect::{Conn, IS_DISTRIBUTED, RunQueryDsl};
use crate::error::{OpenError, Outcome};
use crate::options::Flavor;
use crate::random::random;
use crate::schema::leases;
use crate::sql_types::DbId;

/// How long a lease lasts without renewal, and so how long other nodes wait for one that has vanished.
const LEASE_DURATION: Duration = Duration::from_secs(30);

/// How often a lease is renewed.
pub(super) const RENEWAL_INTERVAL: Duration = Duration::from_secs(10);

/// How long to wait before trying again to take or release the migration lease.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// The name of the lease under which one node at a time applies migrations.
const MIGRATION: &str = "migration";

/// Creates the table of the leases, as a migration does as well.
const CREATE_TABLE: &str =
    "CREATE TABLE IF NOT EXISTS leases (name text PRIMARY KEY, holder uuid NOT NULL, expires_at timestamptz NOT NULL)";

/// Removes the transaction ids of posts, which only a single server can provide.
pub(super) const DROP_TRANSACTION_IDS: &str = "DROP TRIGGER IF EXISTS posts_shown ON posts; \
    DROP FUNCTION IF EXISTS renew_post_transaction(); ALTER TABLE posts DROP COLUMN IF EXISTS transaction";

/// The migration that adds transaction ids to posts.
const TRANSACTION_IDS_MIGRATION: &str = "20261122000000";

/// Checks that a database with these applied migrations is of the flavor, or of none yet.
pub(super) async fn check_flavor(
    conn: &AsyncPgConnection,
    applied: &[String],
    flavor: Flavor,
) -> Result<(), OpenError> {
    if !applied.iter().any(|version| version == TRANSACTION_IDS_MIGRATION) {
        return Ok(());
    }
    let is_distributed = diesel::select(sql::<Bool>(IS_DISTRIBUTED)).get_result::<bool>(&mut &*conn).await;
    let is_distributed = is_distributed.map_err(|error| OpenError::Migration(error.into()))?;
    match (flavor, is_distributed) {
        (Flavor::Postgresql, true) => Err(OpenError::Flavor("distributed")),
        (Flavor::Distributed, false) => Err(OpenError::Flavor("postgresql")),
        _ => Ok(()),
    }
}

/// Returns when a lease that is taken or renewed now expires.
fn expiry() -> SqlLiteral<Timestamptz> {
    sql(&format!("now() + make_interval(secs => {})", LEASE_DURATION.as_secs()))
}

/// Takes a lease that is free or has expired. Returns whether it was taken.
pub(super) async fn try_acquire(conn: &mut Conn<'_>, name: &'static str, holder: DbId) -> Outcome<bool> {
    // Imported here, since its `filter` and that of `QueryDsl` would be ambiguous in the rest of the file.
    use diesel::query_dsl::methods::FilterDsl;

    let lease = (leases::name.eq(name), leases::holder.eq(holder), leases::expires_at.eq(expiry()));
    let upsert = diesel::insert_into(leases::table).values(lease).on_conflict(leases::name).do_update();
    let upsert =
        upsert.set((leases::holder.eq(excluded(leases::holder)), leases::expires_at.eq(excluded(leases::expires_at))));
    Ok(upsert.filter(leases::expires_at.lt(now)).execute(conn).await? > 0)
}

/// Renews a lease. Returns whether the holder still has it.
pub(super) async fn renew(conn: &mut Conn<'_>, name: &'static str, holder: DbId) -> Outcome<bool> {
    let held = leases::table.find(name).filter(leases::holder.eq(holder));
    Ok(diesel::update(held).set(leases::expires_at.eq(expiry())).execute(conn).await? > 0)
}

/// Releases a lease, if the holder still has it.
pub(super) async fn release(conn: &mut Conn<'_>, name: &'static str, holder: DbId) -> Outcome<()> {
    diesel::delete(leases::table.find(name).filter(leases::holder.eq(holder))).execute(conn).await?;
    Ok(())
}

/// Releases all leases of a holder.
pub(super) async fn release_all(conn: &mut Conn<'_>, holder: DbId) -> Outcome<()> {
    diesel::delete(leases::table.filter(leases::holder.eq(holder))).execute(conn).await?;
    Ok(())
}

/// Returns a new, unique holder.
pub(super) fn new_holder() -> DbId {
    DbId(Uuid::from_u64_pair(random(), random()))
}

/// The migration lease, which is renewed on a connection of its own until this is dropped.
pub(super) struct MigrationLease {
    connector: Connector,
    holder: DbId,
    renewal: AbortHandle,
}

/// Waits for the migration lease and takes it.
pub(super) async fn acquire_migration_lease(connector: &Connector) -> Result<MigrationLease, OpenError> {
    let (mut conn, holder) = (connector.connect_to_open().await?, new_holder());
    let started = Instant::now();
    loop {
        // Two nodes that create the table at once may conflict.
        let made = conn.batch_execute(CREATE_TABLE).await;
        match made {
            Ok(()) => match try_acquire(&mut &conn, MIGRATION, holder).await {
                Ok(true) => break,
                Ok(false) => {}
                Err(error) if started.elapsed() > LEASE_DURATION => {
                    return Err(OpenError::Migration(Error::from(error).into()));
                }
                Err(_) => {}
            },
            Err(error) if started.elapsed() > LEASE_DURATION => return Err(OpenError::Migration(error.into())),
            Err(_) => {}
        }
        sleep(RETRY_INTERVAL).await;
    }
    let renewal = tokio::spawn(async move {
        let mut interval = interval_at(tokio::time::Instant::now() + RENEWAL_INTERVAL, RENEWAL_INTERVAL);
        loop {
            interval.tick().await;
            if let Err(error) = renew(&mut &conn, MIGRATION, holder).await {
                tracing::warn!(%error, "could not renew the migration lease");
            }
        }
    });
    Ok(MigrationLease { connector: connector.clone(), holder, renewal: renewal.abort_handle() })
}

impl MigrationLease {
    /// Releases the lease.
    pub(super) async fn release(self) -> Result<(), OpenError> {
        self.renewal.abort();
        let (conn, started) = (self.connector.connect_to_open().await?, Instant::now());
        loop {
            match release(&mut &conn, MIGRATION, self.holder).await {
                // The server may still be carrying out a renewal.
                Err(failure) if is_conflict(&failure) && started.elapsed() < LEASE_DURATION => {
                    sleep(RETRY_INTERVAL).await
                }
                ended => return ended.map_err(|error| OpenError::Migration(Error::from(error).into())),
            }
        }
    }
}

impl Drop for MigrationLease {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}
