use diesel::{ExpressionMethods, OptionalExtension, QueryDsl};

use super::{Conn, RunQueryDsl};
use crate::error::Outcome;
use crate::schema::{sessions, users};
use crate::sql_types::DbId;
use crate::values::SessionRow;

/// Finds a session, with what its account may do.
pub(crate) async fn find(conn: &mut Conn, id: DbId) -> Outcome<Option<SessionRow>> {
    Ok(sessions::table
        .inner_join(users::table)
        .filter(sessions::id.eq(id))
        .select((
            sessions::user_id,
            sessions::opened_at,
            sessions::revoked_at,
            users::enabled,
            users::is_admin,
            users::is_user,
        ))
        .get_result(conn)
        .await
        .optional()?)
}
