use super::{Conn, RunQueryDsl, queries};
use crate::{error::Outcome, version::Answer};

/// Looks into the file: what names no table would be answered without.
pub(crate) async fn ping(conn: &mut Conn) -> Outcome<()> {
    let tables = diesel::sql_query("SELECT count(*) > 0 AS holds FROM sqlite_schema");
    tables.get_result::<Answer>(conn).await?;
    Ok(())
}

/// The version of the schema; nothing when there is none of ours.
pub(crate) async fn schema(conn: &mut Conn) -> Outcome<Option<String>> {
    queries::transfer::schema(conn).await
}
