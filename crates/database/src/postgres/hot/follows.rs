use tokio_postgres::types::Type;

use super::Columns;
use crate::error::Outcome;
use crate::postgres::Postgres;
use crate::postgres::pipeline::PreparedSql;
use crate::sql_types::DbId;

pub(super) static IS_FOLLOWING: PreparedSql = PreparedSql {
    sql: "SELECT EXISTS (SELECT FROM follows f WHERE f.follower_id = $1 AND f.followed_id = u.id) \
        FROM users u WHERE u.id = $2",
    types: &[Type::UUID, Type::UUID],
};

/// Returns whether `follower` follows `followed`; nothing when there is no such user.
pub(crate) async fn is_following(database: &Postgres, follower: DbId, followed: DbId) -> Outcome<Option<bool>> {
    let rows = database.shared.query(&IS_FOLLOWING, &[&follower, &followed]).await?;
    rows.first().map(|row| Columns::of(row).take()).transpose()
}
