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

/// The number of expired tickets that are deleted with each use of a ticket.
const EXPIRED_TICKETS_BATCH: i64 = 4;

/// Whether an account is enabled, an administrator and a user.
type AccountFlags = (bool, bool, bool);

/// The columns of a session that decide whether its requests are accepted.
#[derive(Debug, Clone, Copy, Queryable, Selectable)]
#[diesel(table_name = sessions)]
struct SessionRow {
    id: DbId,
    user_id: DbId,
    opened_at: DbInstant,
    revoked_at: Option<DbInstant>,
    last_seen_at: Option<DbInstant>,
}

fn state((session, (enabled, is_admin, is_user)): (SessionRow, AccountFlags)) -> SessionState {
    SessionState {
        session: Session { id: session.id.0.into(), user: session.user_id.0.into(), opened_at: session.opened_at.0 },
        last_seen_at: session.last_seen_at.unwrap_or(session.opened_at).0,
        revoked: session.revoked_at.is_some(),
        enabled,
        roles: roles(is_admin, is_user),
    }
}

/// Returns a session, with the state and roles of its account.
pub(crate) async fn find(conn: &mut Conn<'_>, id: DbId) -> Outcome<Option<SessionState>> {
    let flags = (users::enabled, users::is_admin, users::is_user);
    let session = sessions::table.inner_join(users::table).filter(sessions::id.eq(id));
    let found = session.select((SessionRow::as_select(), flags)).get_result(conn).await.optional()?;
    Ok(found.map(state))
}

/// Returns the sessions with these ids, each with the state and roles of its account.
pub(crate) async fn find_all(conn: &mut Conn<'_>, ids: Vec<DbId>) -> Outcome<Vec<SessionState>> {
    let flags = (users::enabled, users::is_admin, users::is_user);
    let these = sessions::table.inner_join(users::table).filter(id_in(sessions::id, ids));
    let found: Vec<_> = these.select((SessionRow::as_select(), flags)).load(conn).await?;
    Ok(found.into_iter().map(state).collect())
}

/// Records that a ticket is used, and deletes some tickets that expired before an instant. Returns `false` if it was used
/// already.
pub(crate) async fn use_ticket(
    conn: &mut Conn<'_>,
    id: DbId,
    expires_at: DbInstant,
    expired_before: DbInstant,
) -> Outcome<bool> {
    let expired = used_tickets::table.filter(used_tickets::expires_at.lt(expired_before));
    let expired = expired.order(used_tickets::expires_at).limit(EXPIRED_TICKETS_BATCH).select(used_tickets::id);
    let expired: Vec<DbId> = expired.load(conn).await?;
    if !expired.is_empty() {
        diesel::delete(used_tickets::table.filter(id_in(used_tickets::id, expired))).execute(conn).await?;
    }
    let used = diesel::insert_into(used_tickets::table)
        .values((used_tickets::id.eq(id), used_tickets::expires_at.eq(expires_at)))
        .on_conflict_do_nothing();
    Ok(used.execute(conn).await? > 0)
}

/// Stores a session if the account is enabled and its password is still the verified one. Returns whether it did.
pub(crate) async fn open(conn: &mut Conn<'_>, session: SessionRecord, verified: String) -> Outcome<bool> {
    // The account must not change before the session is stored.
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

/// Returns a slice of the sessions of an account that were opened after an instant and are not revoked.
///
/// The instant is applied to the position of the slice, or to the rows after they are read. As a second bound in the statement
/// besides the position, PostgreSQL, which plans for unknown values, took it for a narrow range of time, and read the sessions of
/// all accounts.
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

/// Stores that sessions were last used at an hour, except those that were used later.
pub(crate) async fn store_last_seen(conn: &mut Conn<'_>, ids: Vec<DbId>, hour: DbInstant) -> Outcome<()> {
    let is_earlier = sessions::last_seen_at.is_null().or(sessions::last_seen_at.lt(hour));
    let seen = sessions::table.filter(id_in(sessions::id, ids)).filter(is_earlier);
    diesel::update(seen).set(sessions::last_seen_at.eq(Some(hour))).execute(conn).await?;
    Ok(())
}

/// Revokes a session of an account. Returns whether there was such a session that was not revoked.
pub(crate) async fn revoke_of(conn: &mut Conn<'_>, user: DbId, id: DbId, at: DbInstant) -> Outcome<bool> {
    let live = sessions::id.eq(id).and(sessions::user_id.eq(user)).and(sessions::revoked_at.is_null());
    let ended =
        diesel::update(sessions::table.filter(live)).set(sessions::revoked_at.eq(Some(at))).execute(conn).await?;
    Ok(ended > 0)
}

/// Revokes all sessions of an account, and stores the audit entry if there were any.
pub(crate) async fn revoke_all(conn: &mut Conn<'_>, user: DbId, entry: AuditRecord) -> Outcome<()> {
    lock_account(conn, user).await?;
    if revoke_sessions(conn, user, None, entry.created_at).await? > 0 {
        audit::record(conn, entry).await?;
    }
    Ok(())
}

/// Deletes a batch of the sessions opened before an instant. Returns the number of deleted sessions.
pub(crate) async fn delete_opened_before(conn: &mut Conn<'_>, at: DbInstant, limit: i64) -> Outcome<usize> {
    let old = sessions::table.filter(sessions::opened_at.lt(at)).order(sessions::opened_at).limit(limit);
    let ids: Vec<DbId> = old.select(sessions::id).load(conn).await?;
    Ok(diesel::delete(sessions::table.filter(id_in(sessions::id, ids))).execute(conn).await?)
}
