use super::Columns;
use crate::{
    error::Outcome,
    postgres::{Postgres, pipeline::Text},
};

static PING: Text = Text { sql: "SELECT 1", types: &[] };

static SCHEMA: Text = Text { sql: "SELECT max(version)::text FROM __diesel_schema_migrations", types: &[] };

/// Has the server answer.
pub(crate) async fn ping(database: &Postgres) -> Outcome<()> {
    database.shared.query(&PING, &[]).await?;
    Ok(())
}

/// The version of the schema; nothing when no migration was ever applied.
pub(crate) async fn schema(database: &Postgres) -> Outcome<Option<String>> {
    let rows = database.shared.query(&SCHEMA, &[]).await?;
    rows.first().map_or(Ok(None), |row| Columns::of(row).take())
}
