//! Leases: what one node at a time does, on engines without advisory locks.

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

/// How long a lease lasts that is not renewed: as long as the others wait for a node that has vanished.
const LENGTH: Duration = Duration::from_secs(30);

/// How often it is renewed.
pub(super) const RENEWAL: Duration = Duration::from_secs(10);

/// How often it is tried to take the lease of the migrations.
const RETRY: Duration = Duration::from_millis(200);

/// The lease under which one node at a time applies migrations.
const MIGRATION: &str = "migration";

/// The table, which a migration makes as well.
const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS leases (name text PRIMARY KEY, holder uuid NOT NULL, expires_at timestamptz NOT NULL)";

/// Leaves out what only one server can know.
pub(super) const WITHOUT_TRANSACTIONS: &str = "DROP TRIGGER IF EXISTS posts_shown ON posts; \
    DROP FUNCTION IF EXISTS renew_post_transaction(); ALTER TABLE posts DROP COLUMN IF EXISTS transaction";

/// The migration that has posts numbered by their transactions.
const NUMBERING: &str = "20261122000000";

/// Checks that the database, of whose migrations these were applied, is of a flavor, or of none yet.
pub(super) async fn check_flavor(
    conn: &AsyncPgConnection,
    applied: &[String],
    flavor: Flavor,
) -> Result<(), OpenError> {
    if !applied.iter().any(|version| version == NUMBERING) {
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

/// Returns when a lease expires that is taken or renewed now.
fn expiry() -> SqlLiteral<Timestamptz> {
    sql(&format!("now() + make_interval(secs => {})", LENGTH.as_secs()))
}

/// Takes a lease that nobody has, or that has expired; whether it was taken.
pub(super) async fn take(conn: &mut Conn<'_>, name: &'static str, holder: DbId) -> Outcome<bool> {
    // Beside `QueryDsl`, which has it for tables, it would be ambiguous in the rest of the file.
    use diesel::query_dsl::methods::FilterDsl;

    let lease = (leases::name.eq(name), leases::holder.eq(holder), leases::expires_at.eq(expiry()));
    let take = diesel::insert_into(leases::table).values(lease).on_conflict(leases::name).do_update();
    let take =
        take.set((leases::holder.eq(excluded(leases::holder)), leases::expires_at.eq(excluded(leases::expires_at))));
    Ok(take.filter(leases::expires_at.lt(now)).execute(conn).await? > 0)
}

/// Renews a lease; whether it is still the holder's.
pub(super) async fn renew(conn: &mut Conn<'_>, name: &'static str, holder: DbId) -> Outcome<bool> {
    let held = leases::table.find(name).filter(leases::holder.eq(holder));
    Ok(diesel::update(held).set(leases::expires_at.eq(expiry())).execute(conn).await? > 0)
}

/// Gives a lease back, if it is still the holder's.
pub(super) async fn give_back(conn: &mut Conn<'_>, name: &'static str, holder: DbId) -> Outcome<()> {
    diesel::delete(leases::table.find(name).filter(leases::holder.eq(holder))).execute(conn).await?;
    Ok(())
}

/// Gives all leases of a holder back.
pub(super) async fn give_back_all(conn: &mut Conn<'_>, holder: DbId) -> Outcome<()> {
    diesel::delete(leases::table.filter(leases::holder.eq(holder))).execute(conn).await?;
    Ok(())
}

/// Returns a holder that nobody else is.
pub(super) fn holder() -> DbId {
    DbId(Uuid::from_u64_pair(random(), random()))
}

/// The lease of the migrations, on a connection of its own, which is renewed until this is dropped.
pub(super) struct MigrationLease {
    connector: Connector,
    holder: DbId,
    renewal: AbortHandle,
}

/// Waits for the lease of the migrations.
pub(super) async fn to_migrate(connector: &Connector) -> Result<MigrationLease, OpenError> {
    let (mut conn, holder) = (connector.connect_to_open().await?, holder());
    let begun = Instant::now();
    loop {
        // Two that make the table at once may be in each other's way.
        let made = conn.batch_execute(TABLE).await;
        match made {
            Ok(()) => match take(&mut &conn, MIGRATION, holder).await {
                Ok(true) => break,
                Ok(false) => {}
                Err(error) if begun.elapsed() > LENGTH => return Err(OpenError::Migration(Error::from(error).into())),
                Err(_) => {}
            },
            Err(error) if begun.elapsed() > LENGTH => return Err(OpenError::Migration(error.into())),
            Err(_) => {}
        }
        sleep(RETRY).await;
    }
    let renewal = tokio::spawn(async move {
        let mut interval = interval_at(tokio::time::Instant::now() + RENEWAL, RENEWAL);
        loop {
            interval.tick().await;
            if let Err(error) = renew(&mut &conn, MIGRATION, holder).await {
                tracing::warn!(%error, "could not renew the lease of the migrations");
            }
        }
    });
    Ok(MigrationLease { connector: connector.clone(), holder, renewal: renewal.abort_handle() })
}

impl MigrationLease {
    /// Gives it back.
    pub(super) async fn end(self) -> Result<(), OpenError> {
        self.renewal.abort();
        let (conn, begun) = (self.connector.connect_to_open().await?, Instant::now());
        loop {
            match give_back(&mut &conn, MIGRATION, self.holder).await {
                // The server may be about to renew it still.
                Err(failure) if is_conflict(&failure) && begun.elapsed() < LENGTH => sleep(RETRY).await,
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
