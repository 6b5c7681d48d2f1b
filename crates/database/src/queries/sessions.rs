use agora_domain::accounts::{Session, SessionState};
use diesel::dsl::exists;
use diesel::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, Queryable, Selectable, SelectableHelper,
};

use uuid::Uuid;

use super::accounts::lock_account;
pub(crate) use super::accounts::revoke_sessions;
use super::{Conn, RunQueryDsl, audit, built, id_in};
use crate::error::Outcome;
use crate::rows::{After, Slice, Toward, roles};
use crate::schema::{AuditRecord, SessionRecord, sessions, used_tickets, users};
use crate::sql_types::{DbId, DbInstant};

/// How many tickets are forgotten with each that is used.
const FORGOTTEN_AT_ONCE: i64 = 4;

type Standing = (bool, bool, bool);

/// The columns of a session that decide about its requests.
#[derive(Debug, Clone, Copy, Queryable, Selectable)]
#[diesel(table_name = sessions)]
struct SessionRow {
    id: DbId,
    user_id: DbId,
    opened_at: DbInstant,
    revoked_at: Option<DbInstant>,
    last_seen_at: Option<DbInstant>,
}

fn state((session, (enabled, is_admin, is_user)): (SessionRow, Standing)) -> SessionState {
    SessionState {
        session: Session { id: session.id.0.into(), user: session.user_id.0.into(), opened_at: session.opened_at.0 },
        last_seen_at: session.last_seen_at.unwrap_or(session.opened_at).0,
        revoked: session.revoked_at.is_some(),
        enabled,
        roles: roles(is_admin, is_user),
    }
}

/// Finds a session, with what its account may do.
pub(crate) async fn find(conn: &mut Conn<'_>, id: DbId) -> Outcome<Option<SessionState>> {
    let standing = (users::enabled, users::is_admin, users::is_user);
    let session = sessions::table.inner_join(users::table).filter(sessions::id.eq(id));
    let found = session.select((SessionRow::as_select(), standing)).get_result(conn).await.optional()?;
    Ok(found.map(state))
}

/// Finds some sessions, each with what its account may do.
pub(crate) async fn find_all(conn: &mut Conn<'_>, ids: Vec<DbId>) -> Outcome<Vec<SessionState>> {
    let standing = (users::enabled, users::is_admin, users::is_user);
    let these = sessions::table.inner_join(users::table).filter(id_in(sessions::id, ids));
    let found: Vec<_> = these.select((SessionRow::as_select(), standing)).load(conn).await?;
    Ok(found.into_iter().map(state).collect())
}

/// Says that a ticket is used, and forgets some that expired before an instant; whether it was not used before.
pub(crate) async fn use_ticket(
    conn: &mut Conn<'_>,
    id: DbId,
    expires_at: DbInstant,
    expired_before: DbInstant,
) -> Outcome<bool> {
    let expired = used_tickets::table.filter(used_tickets::expires_at.lt(expired_before));
    let expired = expired.order(used_tickets::expires_at).limit(FORGOTTEN_AT_ONCE).select(used_tickets::id);
    let expired: Vec<DbId> = expired.load(conn).await?;
    if !expired.is_empty() {
        diesel::delete(used_tickets::table.filter(id_in(used_tickets::id, expired))).execute(conn).await?;
    }
    let used = diesel::insert_into(used_tickets::table)
        .values((used_tickets::id.eq(id), used_tickets::expires_at.eq(expires_at)))
        .on_conflict_do_nothing();
    Ok(used.execute(conn).await? > 0)
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

/// Returns a part of the sessions of an account that were opened after an instant and are not revoked.
///
/// The instant bounds the part by where it begins, or where it ends. As a second bound in the statement, beside that of the position, it
/// would look to PostgreSQL, which plans for whatever values, like a narrow span of time: it went through the sessions of all accounts.
pub(crate) async fn list(
    conn: &mut Conn<'_>,
    user: DbId,
    opened_after: DbInstant,
    mut slice: Slice,
) -> Outcome<Vec<SessionRecord>> {
    if slice.toward == Toward::Newer && slice.after.0 <= opened_after {
        slice.after = After(opened_after, DbId(Uuid::max()));
    }
    let live = sessions::table.filter(sessions::user_id.eq(user).and(sessions::revoked_at.is_null()));
    let live = live.select(SessionRecord::as_select());
    let mut found: Vec<SessionRecord> = crate::rows::load_by!(live, sessions::opened_at, sessions::id, slice, conn)?;
    found.retain(|session| session.opened_at > opened_after);
    Ok(found)
}

/// Says that sessions were used at an hour, but for those that were used later.
pub(crate) async fn set_seen(conn: &mut Conn<'_>, ids: Vec<DbId>, hour: DbInstant) -> Outcome<()> {
    let is_earlier = sessions::last_seen_at.is_null().or(sessions::last_seen_at.lt(hour));
    let seen = sessions::table.filter(id_in(sessions::id, ids)).filter(is_earlier);
    diesel::update(seen).set(sessions::last_seen_at.eq(Some(hour))).execute(conn).await?;
    Ok(())
}

/// Ends a session of an account; whether there was one.
pub(crate) async fn revoke_of(conn: &mut Conn<'_>, user: DbId, id: DbId, at: DbInstant) -> Outcome<bool> {
    let live = sessions::id.eq(id).and(sessions::user_id.eq(user)).and(sessions::revoked_at.is_null());
    let ended =
        diesel::update(sessions::table.filter(live)).set(sessions::revoked_at.eq(Some(at))).execute(conn).await?;
    Ok(ended > 0)
}

/// Ends all sessions of an account, and records that where there was one.
pub(crate) async fn revoke_all(conn: &mut Conn<'_>, user: DbId, entry: AuditRecord) -> Outcome<()> {
    lock_account(conn, user).await?;
    if revoke_sessions(conn, user, None, entry.created_at).await? > 0 {
        audit::record(conn, entry).await?;
    }
    Ok(())
}

/// Deletes some of the sessions opened before an instant; how many.
pub(crate) async fn delete_opened_before(conn: &mut Conn<'_>, at: DbInstant, limit: i64) -> Outcome<usize> {
    let old = sessions::table.filter(sessions::opened_at.lt(at)).order(sessions::opened_at).limit(limit);
    let ids: Vec<DbId> = old.select(sessions::id).load(conn).await?;
    Ok(diesel::delete(sessions::table.filter(id_in(sessions::id, ids))).execute(conn).await?)
}
