use diesel::dsl::exists;
use diesel::{BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl};

use super::{Conn, RunQueryDsl};
use crate::error::Outcome;
use crate::schema::{follows, users};
use crate::sql_types::DbId;

/// Returns whether `follower` follows `followed`; nothing when there is no such user.
pub(crate) async fn is_following(conn: &mut Conn, follower: DbId, followed: DbId) -> Outcome<Option<bool>> {
    let relation = follows::table.filter(follows::follower_id.eq(follower).and(follows::followed_id.eq(users::id)));
    Ok(users::table.find(followed).select(exists(relation)).get_result(conn).await.optional()?)
}
