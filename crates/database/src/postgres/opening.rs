//! Opening a database: its sessions and its schema are checked, and the schema is brought up to date.

use diesel::dsl::sql;
use diesel::result::Error as DieselError;
use diesel::sql_types::Bool;
use diesel_async::{AsyncMigrationHarness, AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

use super::connect::Connector;
use super::{lease, queries};
use crate::error::OpenError;
use crate::options::{Flavor, Options};
use crate::random::random;
use crate::version;
use crate::version::{Migrated, Migrations, Opening};

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../migrations/postgres");

/// The key of the advisory lock under which one node at a time applies migrations. Long reads take it in shared mode: everybody
/// else would have to wait behind a migration that waits for a table.
pub(super) const MIGRATION_LOCK: i64 = 0x61_67_6f_72_61;

/// Connects to inspect the database.
pub(super) async fn connect_to_inspect(url: &str, options: &Options) -> Result<AsyncPgConnection, OpenError> {
    Connector::new(url, options)?.connect_to_open().await
}

/// Connects to inspect the database, with the checks that are made when it is opened. Also returns the versions of the applied
/// migrations.
pub(crate) async fn connect_to_probe(
    url: &str,
    options: &Options,
) -> Result<(AsyncPgConnection, Vec<String>), OpenError> {
    let connector = Connector::new(url, options)?;
    let conn = connector.connect_to_open().await?;
    ensure_sessions(&conn, &connector).await?;
    let applied = check(&conn, Opening::Change, options.flavor).await?;
    Ok((conn, applied))
}

/// Connects to inspect a replica.
pub(crate) async fn connect_to_replica(url: &str, options: &Options) -> Result<AsyncPgConnection, OpenError> {
    Connector::to_replica(url, options)?.connect_to_open().await
}

/// Returns the versions of the migrations that were applied.
pub(super) async fn applied(conn: &AsyncPgConnection) -> Result<Vec<String>, OpenError> {
    queries::transfer::applied(&mut &*conn).await.map_err(|error| OpenError::Migration(error.into()))
}

/// Checks that a connection has a session of the server to itself as long as it lasts, which some poolers do not grant.
async fn ensure_sessions(conn: &AsyncPgConnection, connector: &Connector) -> Result<(), OpenError> {
    const SHARED: &str = "the session is shared";
    let id = random();
    let unless =
        |is_right: &str| format!("DO $$BEGIN IF NOT {is_right} THEN RAISE EXCEPTION '{SHARED}'; END IF; END$$");
    let marked = format!("coalesce(current_setting('agora.session', true), '') = '{id}'");
    let other = connector.connect_to_open().await?;
    let steps = [
        (conn, format!("SET agora.session = '{id}'")),
        // While its transaction is open, no other connection can have its session.
        (&other, format!("BEGIN; {}", unless(&format!("({marked}) IS FALSE")))),
        (conn, unless(&marked)),
    ];
    for (mut conn, step) in steps {
        conn.batch_execute(&step).await.map_err(|error| match error {
            DieselError::DatabaseError(_, info) if info.message() == SHARED => OpenError::Pooled,
            error => OpenError::Connect(error.into()),
        })?;
    }
    Ok(())
}

/// Checks that a schema may be opened in this way. Returns the versions of its migrations.
async fn check(conn: &AsyncPgConnection, opening: Opening, flavor: Flavor) -> Result<Vec<String>, OpenError> {
    let applied = applied(conn).await?;
    version::check(&applied, opening)?;
    lease::check_flavor(conn, &applied, flavor).await?;
    if let Some(found) = version::must_have_no_rows(&applied, opening) {
        let has_rows = diesel::select(sql::<Bool>(version::HAS_ROWS)).get_result(&mut &*conn).await;
        if has_rows.map_err(|error| OpenError::Migration(error.into()))? {
            return Err(OpenError::Filled(found));
        }
    }
    Ok(applied)
}

/// Checks the schema and, unless the database is only inspected, brings it up to date, one node at a time.
pub(super) async fn prepare(opening: Opening, connector: &Connector, flavor: Flavor) -> Result<Migrated, OpenError> {
    let mut conn = connector.connect_to_open().await?;
    let failed = |error: DieselError| OpenError::Migration(error.into());
    if opening != Opening::Inspect {
        ensure_sessions(&conn, connector).await?;
    }
    // If nothing is to be done, no other node is waited for. On a distributed engine, a schema that is up to date may still have
    // to be adapted to it, and another node may be doing that now.
    if opening == Opening::Inspect || flavor == Flavor::Postgresql {
        let applied = check(&conn, opening, flavor).await?;
        if Migrations::of(applied).pending.is_empty() {
            return Ok(Migrated::default());
        }
    }
    tracing::info!("migrating the schema, once no other node is migrating it and no backup is running");
    // Changing a schema, and waiting for another node that does, may take longer than any request.
    conn.batch_execute("SET statement_timeout = 0; SET lock_timeout = 0").await.map_err(failed)?;
    let lease = match flavor {
        Flavor::Postgresql => {
            // Released with the connection.
            let lock = format!("SELECT pg_advisory_lock({MIGRATION_LOCK})");
            conn.batch_execute(&lock).await.map_err(failed)?;
            None
        }
        Flavor::Distributed => Some(lease::acquire_migration_lease(connector).await?),
    };
    let applied = apply(conn, opening, flavor).await;
    // Also if it failed: otherwise the next node would wait until the lease expires.
    let released = match lease {
        Some(lease) => lease.release().await,
        None => Ok(()),
    };
    let migrated = Migrated { applied: applied?, saved: None };
    released.map(|()| migrated)
}

/// Applies the migrations that are still pending. Returns their names.
async fn apply(conn: AsyncPgConnection, opening: Opening, flavor: Flavor) -> Result<Vec<String>, OpenError> {
    check(&conn, opening, flavor).await?;
    let mut harness = AsyncMigrationHarness::new(conn);
    let applied = version::names(&harness.run_pending_migrations(MIGRATIONS).map_err(OpenError::Migration)?);
    if flavor == Flavor::Distributed {
        let mut conn = harness.into_inner();
        let dropped = conn.batch_execute(lease::DROP_TRANSACTION_IDS).await;
        dropped.map_err(|error| OpenError::Migration(error.into()))?;
    }
    Ok(applied)
}
