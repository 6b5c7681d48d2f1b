//! Likes and follows of a day, told together.

use diesel::ExpressionMethods;
use diesel::upsert::DecoratableTarget;

use super::dialect::{Conn, RunQueryDsl};
use crate::error::Outcome;
use crate::gathered::with_one_more;
use crate::schema::{NotificationRecord, notifications};
use crate::sql_types::DbId;

/// Adds somebody's act to the notification of its day, or makes that; which it is.
pub(crate) async fn gather(conn: &mut Conn<'_>, row: NotificationRecord, actor: DbId) -> Outcome<DbId> {
    let at = row.updated_at;
    let gathered = diesel::insert_into(notifications::table)
        .values(row)
        .on_conflict((notifications::day, notifications::kind, notifications::target_id))
        .filter_target(notifications::day.is_not_null())
        .do_update()
        .set(with_one_more(at, actor))
        .returning(notifications::id);
    Ok(gathered.get_result(conn).await?)
}
