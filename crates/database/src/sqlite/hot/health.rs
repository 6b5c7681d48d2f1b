use super::{Conn, RunQueryDsl, queries};
use crate::error::Outcome;
use crate::version::YesOrNo;

/// Looks into the file: what names no table would be answered without.
pub(crate) async fn ping(conn: &mut Conn) -> Outcome<()> {
    let tables = diesel::sql_query("SELECT count(*) > 0 AS holds FROM sqlite_schema");
    tables.get_result::<YesOrNo>(conn).await?;
    Ok(())
}

/// Returns the versions of the migrations that were applied, in order.
pub(crate) async fn applied(conn: &mut Conn) -> Outcome<Vec<String>> {
    queries::transfer::applied(conn).await
}
