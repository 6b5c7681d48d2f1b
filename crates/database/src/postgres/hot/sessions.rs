use tokio_postgres::types::Type;

use super::Columns;
use crate::error::Outcome;
use crate::postgres::Postgres;
use crate::postgres::pipeline::PreparedSql;
use crate::sql_types::DbId;
use crate::values::SessionRow;

/// Every request of a session depends on it, so it waits for no work of several steps.
pub(super) static FIND: PreparedSql = PreparedSql {
    sql: "SELECT s.user_id, s.opened_at, s.revoked_at, u.enabled, u.is_admin, u.is_user \
        FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.id = $1",
    types: &[Type::UUID],
};

/// Finds a session, with what its account may do.
pub(crate) async fn find(database: &Postgres, id: DbId) -> Outcome<Option<SessionRow>> {
    let rows = database.shared.query(&FIND, &[&id]).await?;
    let read = |row| {
        let mut columns = Columns::of(row);
        Ok((columns.take()?, columns.take()?, columns.take()?, columns.take()?, columns.take()?, columns.take()?))
    };
    rows.first().map(read).transpose()
}
