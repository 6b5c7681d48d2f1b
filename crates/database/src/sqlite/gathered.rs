//! Likes and follows of a day, told together.

use diesel::{ExpressionMethods, OptionalExtension, QueryDsl};

use super::dialect::{Conn, RunQueryDsl};
use crate::error::Outcome;
use crate::gathered::with_one_more;
use crate::prepared::prepared;
use crate::schema::{NotificationRecord, notifications};
use crate::sql_types::DbId;

/// Adds somebody's act to the notification of its day, or makes that; which it is.
pub(crate) async fn gather(conn: &mut Conn<'_>, row: NotificationRecord, actor: DbId) -> Outcome<DbId> {
    let of_day = notifications::table
        .filter(notifications::day.eq(row.day))
        .filter(notifications::kind.eq(row.kind))
        .filter(notifications::target_id.eq(row.target_id));
    let gathered = diesel::update(of_day).set(with_one_more(row.updated_at, actor)).returning(notifications::id);
    if let Some(id) = prepared(gathered).get_result(conn).await.optional()? {
        return Ok(id);
    }
    let id = row.id;
    diesel::insert_into(notifications::table).values(row).execute(conn).await?;
    Ok(id)
}
