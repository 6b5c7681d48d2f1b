//! What is done before a database is used: its sessions and its schema are checked, and the schema is brought up to date.

use diesel::result::Error as DieselError;
use diesel_async::{AsyncMigrationHarness, AsyncPgConnection, SimpleAsyncConnection};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

use super::connect::Connector;
use super::{lease, queries};
use crate::error::OpenError;
use crate::options::{Flavor, Options};
use crate::random::random;
use crate::version;
use crate::version::{Migrated, Migrations, Opening};

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../migrations/postgres");

/// The key of the advisory lock under which one node at a time applies migrations. Whoever reads for long shares it: a migration that waited
/// for a table would have everybody else wait behind it.
pub(super) const MIGRATION_LOCK: i64 = 0x61_67_6f_72_61;

/// Connects, to look.
pub(super) async fn connect_to_inspect(url: &str, options: &Options) -> Result<AsyncPgConnection, OpenError> {
    Connector::new(url, options)?.connect_to_open().await
}

/// Connects, to look, and checks what is checked when it is opened; also the versions of the migrations that were applied.
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

/// Connects to a replica, to look.
pub(crate) async fn connect_to_replica(url: &str, options: &Options) -> Result<AsyncPgConnection, OpenError> {
    Connector::to_replica(url, options)?.connect_to_open().await
}

/// Returns the versions of the migrations that were applied.
pub(super) async fn applied(conn: &AsyncPgConnection) -> Result<Vec<String>, OpenError> {
    queries::transfer::applied(&mut &*conn).await.map_err(|error| OpenError::Migration(error.into()))
}

/// Checks that a connection has the server's session to itself as long as it lasts.
async fn ensure_sessions(conn: &AsyncPgConnection, connector: &Connector) -> Result<(), OpenError> {
    const SHARED: &str = "the session is shared";
    let id = random();
    let unless =
        |is_right: &str| format!("DO $$BEGIN IF NOT {is_right} THEN RAISE EXCEPTION '{SHARED}'; END IF; END$$");
    let marked = format!("coalesce(current_setting('agora.session', true), '') = '{id}'");
    let other = connector.connect_to_open().await?;
    let steps = [
        (conn, format!("SET agora.session = '{id}'")),
        // As long as its transaction is open, nobody else has the session of this one.
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

/// Checks that a schema may be opened so; the versions of its migrations.
async fn check(conn: &AsyncPgConnection, opening: Opening, flavor: Flavor) -> Result<Vec<String>, OpenError> {
    let applied = applied(conn).await?;
    version::check(&applied, opening)?;
    lease::check_flavor(conn, &applied, flavor).await?;
    Ok(applied)
}

/// Checks the schema; unless the database is to be inspected, brings it up to date, when no other node does.
pub(super) async fn prepare(opening: Opening, connector: &Connector, flavor: Flavor) -> Result<Migrated, OpenError> {
    let mut conn = connector.connect_to_open().await?;
    let failed = |error: DieselError| OpenError::Migration(error.into());
    if opening != Opening::Inspect {
        ensure_sessions(&conn, connector).await?;
    }
    // Nobody is waited for where there is nothing to do. On distributed engines, a schema may be brought up to date but not be theirs yet.
    if opening == Opening::Inspect || flavor == Flavor::Postgresql {
        let applied = check(&conn, opening, flavor).await?;
        if Migrations::of(applied).pending.is_empty() {
            return Ok(Migrated::default());
        }
    }
    tracing::info!("the schema is brought up to date once no other node does so and no backup is under way");
    // Changing a schema, and waiting for another node that does, may take longer than any request.
    conn.batch_execute("SET statement_timeout = 0; SET lock_timeout = 0").await.map_err(failed)?;
    let lease = match flavor {
        Flavor::Postgresql => {
            // It goes with the connection.
            let lock = format!("SELECT pg_advisory_lock({MIGRATION_LOCK})");
            conn.batch_execute(&lock).await.map_err(failed)?;
            None
        }
        Flavor::Distributed => Some(lease::to_migrate(connector).await?),
    };
    let applied = apply(conn, opening, flavor).await;
    // Also when it failed: the next node would wait until the lease expires.
    let ended = match lease {
        Some(lease) => lease.end().await,
        None => Ok(()),
    };
    let migrated = Migrated { applied: applied?, saved: None };
    ended.map(|()| migrated)
}

/// Applies the migrations that are pending by now; their names.
async fn apply(conn: AsyncPgConnection, opening: Opening, flavor: Flavor) -> Result<Vec<String>, OpenError> {
    check(&conn, opening, flavor).await?;
    let mut harness = AsyncMigrationHarness::new(conn);
    let applied = version::names(&harness.run_pending_migrations(MIGRATIONS).map_err(OpenError::Migration)?);
    if flavor == Flavor::Distributed {
        let mut conn = harness.into_inner();
        let without = conn.batch_execute(lease::WITHOUT_TRANSACTIONS).await;
        without.map_err(|error| OpenError::Migration(error.into()))?;
    }
    Ok(applied)
}
