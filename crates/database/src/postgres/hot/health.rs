use super::Columns;
use crate::error::Outcome;
use crate::postgres::Postgres;
use crate::postgres::pipeline::PreparedSql;

static PING: PreparedSql = PreparedSql { sql: "SELECT 1", types: &[] };

static APPLIED: PreparedSql =
    PreparedSql { sql: "SELECT version::text FROM __diesel_schema_migrations ORDER BY version", types: &[] };

/// Has the server answer.
pub(crate) async fn ping(database: &Postgres) -> Outcome<()> {
    database.shared.query(&PING, &[]).await?;
    Ok(())
}

/// Returns the versions of the migrations that were applied, in order.
pub(crate) async fn applied(database: &Postgres) -> Outcome<Vec<String>> {
    let rows = database.shared.query(&APPLIED, &[]).await?;
    rows.iter().map(|row| Columns::of(row).take()).collect()
}
