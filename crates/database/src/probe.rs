//! Inspects a database without changing it.

use agora_domain::clock::Timestamp;
use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Bool, Integer, Text};

use crate::database::is_postgres;
use crate::error::OpenError;
use crate::version::{Migrations, Opening};
use crate::{Database, Options, postgres, sqlite, version};

/// The properties of a database.
#[derive(Debug, Clone)]
pub struct Probe {
    /// The product and its version, such as `PostgreSQL 15.4`.
    pub product: String,
    /// The version of its schema, or `None` if it has no schema of this program.
    pub schema: Option<String>,
    /// The number of migrations of this program that are not applied.
    pub pending: usize,
    /// The properties of the server, or `None` for an embedded database.
    pub server: Option<ServerProbe>,
}

/// The properties of a database server.
#[derive(Debug, Clone)]
pub struct ServerProbe {
    /// Whether this program supports its version.
    pub is_supported: bool,
    /// Whether the user of the connection may change the schema.
    pub may_change_schema: bool,
    /// The number of connections it allows to users who are not superusers.
    pub connections: usize,
    /// The time of its clock.
    pub now: Timestamp,
}

/// The oldest supported version of PostgreSQL, as in `server_version_num`.
const OLDEST_SUPPORTED: i32 = 130_000;

/// Selects the version as text and as a number, whether the user may change the schema, the number of connections and the time.
const SERVER_PROPERTIES: &str = "SELECT current_setting('server_version'), current_setting('server_version_num')::int4, \
    coalesce(has_schema_privilege(current_schema(), 'CREATE'), false), \
    current_setting('max_connections')::int4 - current_setting('superuser_reserved_connections')::int4, \
    (extract(epoch FROM clock_timestamp()) * 1000)::int8";

/// Inspects the database that the URL names. Blocks while it works, so call it on a multi-threaded runtime.
///
/// # Errors
/// [`OpenError`], in words for an operator, if the database does not exist, cannot be used as configured, or has a newer schema.
pub async fn probe(url: &str, options: &Options) -> Result<Probe, OpenError> {
    if is_postgres(url) {
        let (mut conn, applied) = postgres::connect_to_probe(url, options).await?;
        let of = sql::<(Text, Integer, Bool, Integer, BigInt)>(SERVER_PROPERTIES);
        let (version, number, may_change_schema, connections, now): (String, i32, bool, i32, i64) =
            diesel_async::RunQueryDsl::get_result(of, &mut conn)
                .await
                .map_err(|error| OpenError::Connect(error.into()))?;
        let server = ServerProbe {
            is_supported: number >= OLDEST_SUPPORTED,
            may_change_schema,
            connections: usize::try_from(connections).unwrap_or_default(),
            now: Timestamp::from_unix_millis(now),
        };
        return Probe::of(format!("PostgreSQL {version}"), applied, Some(server));
    }
    let file = Database::named_file(url).ok_or(OpenError::Scheme)?;
    let mut conn = sqlite::open_to_inspect(&file)?;
    let version = sql::<Text>("SELECT sqlite_version()");
    let version: String =
        diesel::RunQueryDsl::get_result(version, &mut conn).map_err(|error| OpenError::Setup(file.clone(), error))?;
    Probe::of(format!("SQLite {version}"), sqlite::applied(&mut conn, &file)?, None)
}

/// Connects to the replica that the URL names, and returns its product and version, such as `PostgreSQL 15.4`. Blocks while it
/// works, so call it on a multi-threaded runtime.
///
/// # Errors
/// [`OpenError`], in words for an operator, if it cannot be reached, or takes writes.
pub async fn probe_replica(url: &str, options: &Options) -> Result<String, OpenError> {
    let mut conn = postgres::connect_to_replica(url, options).await?;
    let version = diesel::select(sql::<Text>("current_setting('server_version')"));
    let version: String = diesel_async::RunQueryDsl::get_result(version, &mut conn)
        .await
        .map_err(|error| OpenError::Connect(error.into()))?;
    Ok(format!("PostgreSQL {version}"))
}

impl Probe {
    fn of(product: String, versions: Vec<String>, server: Option<ServerProbe>) -> Result<Self, OpenError> {
        version::check(&versions, Opening::Change)?;
        let schema = versions.last().cloned();
        let pending = Migrations::of(versions).pending.len();
        Ok(Self { product, schema, pending, server })
    }
}
