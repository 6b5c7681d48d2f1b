//! Who blocks and who mutes whom.

use std::collections::BTreeSet;

use agora_domain::blocks::{MAX_BLOCKED, MAX_MUTED, TOO_MANY_BLOCKED, TOO_MANY_MUTED};
use diesel::dsl::{exists, not};
use diesel::sql_types::Bool;
use diesel::{
    BoolExpressionMethods, ExpressionMethods, IntoSql, JoinOnDsl, NullableExpressionMethods, OptionalExtension,
    QueryDsl, SelectableHelper,
};

use super::accounts::lock_account;
use super::people::person;
use super::{Conn, RunQueryDsl, built, follows, id_in, notices};
use crate::account_filters::{DbViewer, is_account_deleted, is_user_blocked_or_deleted};
use crate::error::{Failure, Outcome};
use crate::feeds::limit;
use crate::people::{PersonRow, RelatedPerson};
use crate::rows::Slice;
use crate::schema::{BlockRecord, MuteRecord, blocks, mutes, users};
use crate::sql_types::{DbId, DbInstant};

/// How many mutes that have ended are taken back at once.
const ENDED_AT_ONCE: i64 = 100;

/// Locks two accounts against follows and other changes, whoever locks them.
async fn lock(conn: &mut Conn<'_>, one: DbId, other: DbId) -> Outcome<()> {
    for id in [one.min(other), one.max(other)] {
        lock_account(conn, id).await?;
    }
    Ok(())
}

/// Does so and waits for the transactions in which either acts, so that what they tell is there to be taken out. Of those, the ones
/// that lock an account as well have done so before they act: none of them waits for this.
async fn lock_whole(conn: &mut Conn<'_>, one: DbId, other: DbId) -> Outcome<()> {
    lock(conn, one, other).await?;
    for id in [one.min(other), one.max(other)] {
        super::lock_whole_user(conn, id).await?;
    }
    Ok(())
}

/// The row that says that one user blocks another, or that another blocks the user.
fn of(user: DbId, other: DbId, block: Option<(DbId, DbInstant)>) -> BlockRecord {
    let (id, created_at) = block.unzip();
    BlockRecord { user_id: user, other_id: other, id, created_at }
}

pub(crate) async fn block(
    conn: &mut Conn<'_>,
    blocker: DbId,
    blocked: DbId,
    (id, at): (DbId, DbInstant),
) -> Outcome<()> {
    lock_whole(conn, blocker, blocked).await?;
    let pair = blocks::table.find((blocker, blocked));
    match pair.select(blocks::id).get_result::<Option<DbId>>(conn).await.optional()? {
        Some(Some(_)) => return Ok(()),
        Some(None) => {
            let block = (blocks::id.eq(Some(id)), blocks::created_at.eq(Some(at)));
            diesel::update(pair).set(block).execute(conn).await?;
        }
        None => {
            // One row at a time: a statement with several is prepared anew each time.
            for row in [of(blocker, blocked, Some((id, at))), of(blocked, blocker, None)] {
                diesel::insert_into(blocks::table).values(row).execute(conn).await?;
            }
            let both = [(blocker, blocked), (blocked, blocker)];
            for (one, other) in both {
                if follows::delete(conn, one, other).await? {
                    follows::count_change(conn, one).await?;
                }
            }
            // Once the follows are counted no longer: others who take back theirs of the same people count before they forget.
            for (one, other) in both {
                notices::forget(conn, one, other, false).await?;
            }
        }
    }
    let blocks = blocks::table.filter(blocks::user_id.eq(blocker).and(blocks::id.is_not_null()));
    let beyond = blocks.order((blocks::created_at, blocks::id));
    let beyond = beyond.select(blocks::other_id).limit(1).offset(limit(MAX_BLOCKED));
    match beyond.get_result::<DbId>(conn).await.optional()? {
        None => Ok(()),
        Some(_) => Err(Failure::Rule(TOO_MANY_BLOCKED)),
    }
}

pub(crate) async fn unblock(conn: &mut Conn<'_>, blocker: DbId, blocked: DbId) -> Outcome<bool> {
    lock(conn, blocker, blocked).await?;
    let (pair, back) = (blocks::table.find((blocker, blocked)), blocks::table.find((blocked, blocker)));
    let blocks = pair.filter(blocks::id.is_not_null());
    if diesel::select(exists(back.filter(blocks::id.is_not_null()))).get_result(conn).await? {
        let none = (blocks::id.eq(None::<DbId>), blocks::created_at.eq(None::<DbInstant>));
        return Ok(diesel::update(blocks).set(none).execute(conn).await? > 0);
    }
    let there_was = diesel::delete(blocks).execute(conn).await? > 0;
    if there_was {
        diesel::delete(back).execute(conn).await?;
    }
    Ok(there_was)
}

pub(crate) async fn list_blocked(conn: &mut Conn<'_>, viewer: DbViewer, slice: Slice) -> Outcome<Vec<RelatedPerson>> {
    let (at, id) = (blocks::created_at.assume_not_null(), blocks::id.assume_not_null());
    let blocked = blocks::table
        .inner_join(users::table.on(users::id.eq(blocks::other_id)))
        .filter(blocks::user_id.eq(viewer.id).and(blocks::id.is_not_null()))
        .filter(not(users::is_deleted))
        .filter(users::enabled.or(viewer.sees_all.into_sql::<Bool>()))
        .select((at, id, person!(viewer.id)));
    Ok(crate::rows::load_by!(blocked, at, id, slice, conn)?)
}

pub(crate) async fn mute(conn: &mut Conn<'_>, mute: MuteRecord) -> Outcome<()> {
    let (muter, muted, ends_at) = (mute.muter_id, mute.muted_id, mute.ends_at);
    lock_whole(conn, muter, muted).await?;
    let again = diesel::update(mutes::table.find((muter, muted))).set(mutes::ends_at.eq(ends_at));
    if again.execute(conn).await? > 0 {
        return Ok(());
    }
    diesel::insert_into(mutes::table).values(mute).execute(conn).await?;
    let beyond = mutes::table.filter(mutes::muter_id.eq(muter)).order((mutes::created_at, mutes::id));
    let beyond = beyond.select(mutes::id).limit(1).offset(limit(MAX_MUTED));
    if beyond.get_result::<DbId>(conn).await.optional()?.is_some() {
        return Err(Failure::Rule(TOO_MANY_MUTED));
    }
    follows::count_change(conn, muter).await?;
    notices::forget(conn, muter, muted, true).await
}

pub(crate) async fn unmute(conn: &mut Conn<'_>, muter: DbId, muted: DbId) -> Outcome<bool> {
    super::lock_user(conn, muter).await?;
    let mutes = mutes::table.find((muter, muted)).filter(not(is_account_deleted(mutes::muted_id)));
    let there_was = diesel::delete(mutes).execute(conn).await? > 0;
    if there_was {
        follows::count_change(conn, muter).await?;
    }
    Ok(there_was)
}

/// When a mute ends, when it was made and its id, then whom it is of.
pub(crate) type Muted = (Option<DbInstant>, DbInstant, DbId, PersonRow);

pub(crate) async fn list_muted(conn: &mut Conn<'_>, viewer: DbViewer, slice: Slice) -> Outcome<Vec<Muted>> {
    let muted = mutes::table
        .inner_join(users::table.on(users::id.eq(mutes::muted_id)))
        .filter(mutes::muter_id.eq(viewer.id))
        .filter(users::enabled.or(viewer.sees_all.into_sql::<Bool>()))
        .filter(not(is_user_blocked_or_deleted(viewer)))
        .select((mutes::ends_at, mutes::created_at, mutes::id, person!(viewer.id)));
    Ok(super::load!(muted, mutes, slice, conn)?)
}

/// Takes back some of the mutes that have ended; how many.
pub(crate) async fn end_mutes(conn: &mut Conn<'_>, now: DbInstant) -> Outcome<usize> {
    let ended = mutes::table.filter(mutes::ends_at.le(now)).order(mutes::ends_at).limit(ENDED_AT_ONCE);
    let ended: Vec<(DbId, DbId)> = ended.select((mutes::id, mutes::muter_id)).load(conn).await?;
    let (ended, muters): (Vec<_>, BTreeSet<_>) = ended.into_iter().unzip();
    // All of them before the first is changed: the foreign key of a follow may wait for a change of the followed, not for a lock.
    for muter in &muters {
        super::lock_user(conn, *muter).await?;
    }
    for muter in muters {
        follows::count_change(conn, muter).await?;
    }
    // One that has got another end meanwhile stays.
    let ended = mutes::table.filter(id_in(mutes::id, ended)).filter(mutes::ends_at.le(now));
    Ok(diesel::delete(ended).execute(conn).await?)
}
