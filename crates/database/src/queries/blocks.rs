//! Blocks and mutes.

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

/// The number of ended mutes that one transaction deletes.
const ENDED_MUTES_BATCH: i64 = 100;

/// Locks two accounts, in the order of their ids, against follows and other changes.
async fn lock_pair(conn: &mut Conn<'_>, one: DbId, other: DbId) -> Outcome<()> {
    for id in [one.min(other), one.max(other)] {
        lock_account(conn, id).await?;
    }
    Ok(())
}

/// Locks two accounts as [`lock_pair`] does, and waits for the transactions in which either acts, so that their notifications are
/// there to be removed. Those of these transactions that lock an account do so before they act, so none of them waits for this
/// one.
async fn lock_whole_pair(conn: &mut Conn<'_>, one: DbId, other: DbId) -> Outcome<()> {
    lock_pair(conn, one, other).await?;
    for id in [one.min(other), one.max(other)] {
        super::lock_whole_user(conn, id).await?;
    }
    Ok(())
}

/// Returns the row of `user` for a block between two users. It has the id and time of the block if `user` is the blocker.
fn block_row(user: DbId, other: DbId, block: Option<(DbId, DbInstant)>) -> BlockRecord {
    let (id, created_at) = block.unzip();
    BlockRecord { user_id: user, other_id: other, id, created_at }
}

pub(crate) async fn block(
    conn: &mut Conn<'_>,
    blocker: DbId,
    blocked: DbId,
    (id, at): (DbId, DbInstant),
) -> Outcome<()> {
    lock_whole_pair(conn, blocker, blocked).await?;
    let pair = blocks::table.find((blocker, blocked));
    match pair.select(blocks::id).get_result::<Option<DbId>>(conn).await.optional()? {
        Some(Some(_)) => return Ok(()),
        Some(None) => {
            let block = (blocks::id.eq(Some(id)), blocks::created_at.eq(Some(at)));
            diesel::update(pair).set(block).execute(conn).await?;
        }
        None => {
            // One row at a time: a statement with several rows would be prepared again for each execution.
            for row in [block_row(blocker, blocked, Some((id, at))), block_row(blocked, blocker, None)] {
                diesel::insert_into(blocks::table).values(row).execute(conn).await?;
            }
            let both = [(blocker, blocked), (blocked, blocker)];
            let mut withdrawn = Vec::new();
            for (one, other) in both {
                if let Some(deleted) = follows::delete(conn, one, other).await? {
                    follows::count_change(conn, one).await?;
                    withdrawn.push(deleted);
                }
            }
            for deleted in withdrawn {
                follows::withdraw(conn, deleted).await?;
            }
            // After the counts of the follows have changed: others who unfollow the same people also count before they remove
            // notifications.
            for (one, other) in both {
                notices::remove_acts_of_actor(conn, one, other, false).await?;
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
    lock_pair(conn, blocker, blocked).await?;
    let (pair, back) = (blocks::table.find((blocker, blocked)), blocks::table.find((blocked, blocker)));
    let blocks = pair.filter(blocks::id.is_not_null());
    if diesel::select(exists(back.filter(blocks::id.is_not_null()))).get_result(conn).await? {
        let none = (blocks::id.eq(None::<DbId>), blocks::created_at.eq(None::<DbInstant>));
        return Ok(diesel::update(blocks).set(none).execute(conn).await? > 0);
    }
    let existed = diesel::delete(blocks).execute(conn).await? > 0;
    if existed {
        diesel::delete(back).execute(conn).await?;
    }
    Ok(existed)
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
    lock_whole_pair(conn, muter, muted).await?;
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
    notices::remove_acts_of_actor(conn, muter, muted, true).await
}

pub(crate) async fn unmute(conn: &mut Conn<'_>, muter: DbId, muted: DbId) -> Outcome<bool> {
    super::lock_user(conn, muter).await?;
    let mutes = mutes::table.find((muter, muted)).filter(not(is_account_deleted(mutes::muted_id)));
    let existed = diesel::delete(mutes).execute(conn).await? > 0;
    if existed {
        follows::count_change(conn, muter).await?;
    }
    Ok(existed)
}

/// The end of a mute, its creation time and id, then the muted person.
pub(crate) type MutedPerson = (Option<DbInstant>, DbInstant, DbId, PersonRow);

pub(crate) async fn list_muted(conn: &mut Conn<'_>, viewer: DbViewer, slice: Slice) -> Outcome<Vec<MutedPerson>> {
    let muted = mutes::table
        .inner_join(users::table.on(users::id.eq(mutes::muted_id)))
        .filter(mutes::muter_id.eq(viewer.id))
        .filter(users::enabled.or(viewer.sees_all.into_sql::<Bool>()))
        .filter(not(is_user_blocked_or_deleted(viewer)))
        .select((mutes::ends_at, mutes::created_at, mutes::id, person!(viewer.id)));
    Ok(super::load!(muted, mutes, slice, conn)?)
}

/// Deletes some of the mutes that have ended. Returns the number of deleted mutes.
pub(crate) async fn end_mutes(conn: &mut Conn<'_>, now: DbInstant) -> Outcome<usize> {
    let ended = mutes::table.filter(mutes::ends_at.le(now)).order(mutes::ends_at).limit(ENDED_MUTES_BATCH);
    let ended: Vec<(DbId, DbId)> = ended.select((mutes::id, mutes::muter_id)).load(conn).await?;
    let (ended, muters): (Vec<_>, BTreeSet<_>) = ended.into_iter().unzip();
    // All accounts are locked before the first is changed: the foreign key check of a follow waits for a change of the followed
    // account, but not for a lock.
    for muter in &muters {
        super::lock_user(conn, *muter).await?;
    }
    for muter in muters {
        follows::count_change(conn, muter).await?;
    }
    // A mute whose end was changed meanwhile stays.
    let ended = mutes::table.filter(id_in(mutes::id, ended)).filter(mutes::ends_at.le(now));
    Ok(diesel::delete(ended).execute(conn).await?)
}
