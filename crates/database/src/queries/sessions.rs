use agora_domain::accounts::{Session, SessionState};
use diesel::dsl::exists;
use diesel::{BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};

use super::{Conn, RunQueryDsl};
use crate::error::Outcome;
use crate::rows::roles;
use crate::schema::{SessionRecord, sessions, users};
use crate::sql_types::{DbId, DbInstant};

/// Finds a session, with what its account may do.
pub(crate) async fn find(conn: &mut Conn<'_>, id: DbId) -> Outcome<Option<SessionState>> {
    let standing = (users::enabled, users::is_admin, users::is_user);
    let session = sessions::table.inner_join(users::table).filter(sessions::id.eq(id));
    let found = session.select((SessionRecord::as_select(), standing)).get_result(conn).await.optional()?;
    Ok(found.map(|(session, (enabled, is_admin, is_user)): (SessionRecord, _)| SessionState {
        session: Session { id: id.0.into(), user: session.user_id.0.into(), opened_at: session.opened_at.0 },
        revoked: session.revoked_at.is_some(),
        enabled,
        roles: roles(is_admin, is_user),
    }))
}

/// Stores a session of an account that is enabled and whose password is still the one verified; whether it was.
pub(crate) async fn open(conn: &mut Conn<'_>, session: SessionRecord, verified: String) -> Outcome<bool> {
    // Others must not change the account before the session is there.
    super::lock_user(conn, session.user_id).await?;
    let in_standing =
        users::table.find(session.user_id).filter(users::enabled.eq(true).and(users::password_hash.eq(verified)));
    if !diesel::select(exists(in_standing)).get_result::<bool>(conn).await? {
        return Ok(false);
    }
    diesel::insert_into(sessions::table).values(session).execute(conn).await?;
    Ok(true)
}

pub(crate) async fn revoke(conn: &mut Conn<'_>, id: DbId, at: DbInstant) -> Outcome<()> {
    diesel::update(sessions::table.filter(sessions::id.eq(id).and(sessions::revoked_at.is_null())))
        .set(sessions::revoked_at.eq(Some(at)))
        .execute(conn)
        .await?;
    Ok(())
}

/// Deletes some of the sessions opened before an instant; how many.
pub(crate) async fn delete_opened_before(conn: &mut Conn<'_>, at: DbInstant, limit: i64) -> Outcome<usize> {
    let old = sessions::table.filter(sessions::opened_at.lt(at)).order(sessions::opened_at).limit(limit);
    let ids: Vec<DbId> = old.select(sessions::id).load(conn).await?;
    Ok(diesel::delete(sessions::table.filter(sessions::id.eq_any(ids))).execute(conn).await?)
}
