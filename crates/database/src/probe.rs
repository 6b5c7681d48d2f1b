//! A look at a database that changes nothing about it.

use agora_domain::clock::Timestamp;
use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Bool, Integer, Text};

use crate::database::is_postgres;
use crate::error::OpenError;
use crate::version::{Migrations, Opening};
use crate::{Database, Options, postgres, sqlite, version};

/// What a database says of itself.
#[derive(Debug, Clone)]
pub struct Probe {
    /// What it is, such as `PostgreSQL 15.4`.
    pub product: String,
    /// The version of its schema; nothing when it has none of ours.
    pub schema: Option<String>,
    /// How many migrations of this program it lacks.
    pub pending: usize,
    /// What a server says besides; nothing of an embedded database.
    pub server: Option<ServerProbe>,
}

/// What a database server says of itself.
#[derive(Debug, Clone)]
pub struct ServerProbe {
    /// Whether its version is one that this program works with.
    pub is_supported: bool,
    /// Whether we may change the schema.
    pub may_change_schema: bool,
    /// How many connections it takes from users like us.
    pub connections: usize,
    /// Its time.
    pub now: Timestamp,
}

/// The oldest version of PostgreSQL that this program works with, as the server counts them.
const OLDEST: i32 = 130_000;

/// Asks for the version in words and as a number, whether we may change the schema, how many connections the server takes
/// and its time.
const OF_POSTGRES: &str = "SELECT current_setting('server_version'), current_setting('server_version_num')::int4, \
    coalesce(has_schema_privilege(current_schema(), 'CREATE'), false), \
    current_setting('max_connections')::int4 - current_setting('superuser_reserved_connections')::int4, \
    (extract(epoch FROM clock_timestamp()) * 1000)::int8";

/// Looks at the database that the URL names. Blocks while it works, so it is called on a runtime of several threads.
///
/// # Errors
/// [`OpenError`], in words for an operator: when it is not there, cannot be used as configured, or has a newer schema.
pub async fn probe(url: &str, options: &Options) -> Result<Probe, OpenError> {
    if is_postgres(url) {
        let (mut conn, applied) = postgres::connect_to_probe(url, options).await?;
        let of = sql::<(Text, Integer, Bool, Integer, BigInt)>(OF_POSTGRES);
        let (version, number, may_change_schema, connections, now): (String, i32, bool, i32, i64) =
            diesel_async::RunQueryDsl::get_result(of, &mut conn)
                .await
                .map_err(|error| OpenError::Connect(error.into()))?;
        let server = ServerProbe {
            is_supported: number >= OLDEST,
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

/// Looks at the replica that the URL names, and returns what it is, such as `PostgreSQL 15.4`. Blocks while it works, so it is called on a
/// runtime of several threads.
///
/// # Errors
/// [`OpenError`], in words for an operator: when it is not there, or takes writes.
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
