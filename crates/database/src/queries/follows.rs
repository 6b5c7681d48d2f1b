use agora_domain::error::Resource;
use agora_domain::follows::{MAX_FOLLOWED, TOO_MANY_FOLLOWED};
use agora_domain::notices::{Notice, NotificationKind};
use agora_domain::relation::Standing;
use diesel::dsl::{exists, not};
use diesel::{BoolExpressionMethods, ExpressionMethods, JoinOnDsl, OptionalExtension, QueryDsl, SelectableHelper};

use super::accounts::NO_USER;
use super::{Conn, RunQueryDsl, built};
use crate::account_filters::{DbViewer, is_account_deleted, is_blocked, is_user_blocked_or_deleted};
use crate::error::{Failure, Outcome};
use crate::feeds::limit;
use crate::notices::Gathered;
use crate::prepared::prepared;
use crate::rows::{Slice, SummaryRow};
use crate::schema::{FollowRecord, follows, users};
use crate::sql_types::{DbId, DbInstant};
use crate::values::Related;

/// Follows if not following yet, else unfollows. A node of the previous release may toggle the relation between the two attempts;
/// then it starts again.
pub(crate) async fn toggle(conn: &mut Conn<'_>, follow: FollowRecord, notice: Option<Notice>) -> Outcome<bool> {
    count_change(conn, follow.follower_id).await?;
    loop {
        if insert(conn, &follow).await? {
            super::gather(conn, follow.id, notice).await?;
            return Ok(true);
        }
        if let Some(deleted) = delete(conn, follow.follower_id, follow.followed_id).await? {
            withdraw(conn, deleted).await?;
            return Ok(false);
        }
        ensure_not_blocked(conn, follow.follower_id, follow.followed_id).await?;
    }
}

/// Returns the standing of a viewer towards another user, or `None` if there is no such user.
pub(crate) async fn find_standing(conn: &mut Conn<'_>, viewer: DbId, other: DbId) -> Outcome<Option<Standing>> {
    let relation = follows::table.filter(follows::follower_id.eq(viewer).and(follows::followed_id.eq(users::id)));
    let is_blocked = is_blocked(DbViewer::ordinary(viewer.0.into()), users::id);
    let found = users::table.find(other).filter(not(users::is_deleted)).select((exists(relation), is_blocked));
    let found = found.get_result(conn).await.optional()?;
    Ok(found.map(|(follows, is_blocked)| Standing::of(follows, is_blocked)))
}

pub(crate) async fn set(conn: &mut Conn<'_>, follow: FollowRecord, notice: Option<Notice>) -> Outcome<()> {
    super::lock_user(conn, follow.follower_id).await?;
    if insert(conn, &follow).await? {
        count_change(conn, follow.follower_id).await?;
        return super::gather(conn, follow.id, notice).await;
    }
    ensure_not_blocked(conn, follow.follower_id, follow.followed_id).await
}

pub(crate) async fn unset(conn: &mut Conn<'_>, follower: DbId, followed: DbId) -> Outcome<()> {
    let there = users::table.find(followed).filter(not(users::is_deleted));
    let is_there: bool = diesel::select(exists(there)).get_result(conn).await?;
    if !is_there {
        return Err(NO_USER);
    }
    super::lock_user(conn, follower).await?;
    if let Some(deleted) = delete(conn, follower, followed).await? {
        count_change(conn, follower).await?;
        return withdraw(conn, deleted).await;
    }
    ensure_not_blocked(conn, follower, followed).await
}

/// Checks the domain's rule that users with a block between them do not exist for each other.
async fn ensure_not_blocked(conn: &mut Conn<'_>, one: DbId, other: DbId) -> Outcome<()> {
    match find_standing(conn, one, other).await? {
        None | Some(Standing::Blocked) => Err(NO_USER),
        Some(Standing::Stranger | Standing::Follower) => Ok(()),
    }
}

/// Stores the relation. Returns whether it is new; the caller then calls [`count_change`] and gathers it into its notification,
/// which is the last change of the transaction: many who follow the same account share that row.
async fn insert(conn: &mut Conn<'_>, follow: &FollowRecord) -> Outcome<bool> {
    let inserted = diesel::insert_into(follows::table)
        .values(follow)
        .on_conflict((follows::follower_id, follows::followed_id))
        .do_nothing()
        .execute(conn)
        .await
        .map_err(Failure::missing(Resource::User))?;
    if inserted > 0 {
        ensure_may_follow(conn, follow.follower_id, follow.followed_id).await?;
    }
    Ok(inserted > 0)
}

/// Checks the domain's rules of whom an account may follow and how many, after the new relation is stored. A block locks both
/// accounts: one that is not visible here waits for this transaction, and then finds the relation.
async fn ensure_may_follow(conn: &mut Conn<'_>, follower: DbId, followed: DbId) -> Outcome<()> {
    let beyond = follows::table
        .filter(follows::follower_id.eq(follower))
        .order((follows::created_at.asc(), follows::id.asc()))
        .select(follows::id)
        .limit(1)
        .offset(limit(MAX_FOLLOWED));
    let is_blocked = is_blocked(DbViewer::ordinary(follower.0.into()), users::id);
    let decides = users::table.find(followed).filter(not(users::is_deleted)).select((is_blocked, exists(beyond)));
    match decides.get_result(conn).await.optional()? {
        None | Some((true, _)) => Err(NO_USER),
        Some((false, true)) => Err(Failure::Rule(TOO_MANY_FOLLOWED)),
        Some((false, false)) => Ok(()),
    }
}

/// A follow relation that was deleted: its id, the follower, and the notification that counted it.
pub(super) struct Deleted(DbId, DbId, Gathered);

/// Deletes the relation and returns it, if it existed; the caller then calls [`count_change`] and [`withdraw`].
pub(super) async fn delete(conn: &mut Conn<'_>, follower: DbId, followed: DbId) -> Outcome<Option<Deleted>> {
    let there = follows::table.find((follower, followed)).filter(not(is_account_deleted(follows::followed_id)));
    let deleted = diesel::delete(there).returning((follows::id, follows::created_at));
    let deleted: Option<(DbId, DbInstant)> = deleted.get_result(conn).await.optional()?;
    Ok(deleted.map(|(id, made)| Deleted(id, follower, Gathered::new(NotificationKind::Follow, followed, made))))
}

/// Withdraws a deleted relation from its notification, as the last change of the transaction.
pub(super) async fn withdraw(conn: &mut Conn<'_>, Deleted(id, follower, gathered): Deleted) -> Outcome<()> {
    super::withdraw(conn, gathered, id, follower).await
}

/// Increments the version of the follower's follows and mutes, which invalidates the cached feed.
///
/// This locks the account, as every change of its follows and mutes does first. A block locks both accounts before it waits for
/// the transactions that have changed something of theirs.
pub(super) async fn count_change(conn: &mut Conn<'_>, follower: DbId) -> Outcome<()> {
    let counted = users::follow_version.eq(users::follow_version + 1);
    prepared(diesel::update(users::table.find(follower)).set(counted)).execute(conn).await?;
    Ok(())
}

pub(crate) async fn list_followers(
    conn: &mut Conn<'_>,
    user: DbId,
    viewer: DbViewer,
    slice: Slice,
) -> Outcome<Vec<Related>> {
    let followers = follows::table
        .inner_join(users::table.on(users::id.eq(follows::follower_id)))
        .filter(follows::followed_id.eq(user))
        .filter(not(is_user_blocked_or_deleted(viewer)))
        .select((follows::created_at, follows::id, SummaryRow::as_select()));
    Ok(super::load!(followers, follows, slice, conn)?)
}

pub(crate) async fn list_followed(
    conn: &mut Conn<'_>,
    user: DbId,
    viewer: DbViewer,
    slice: Slice,
) -> Outcome<Vec<Related>> {
    let followed = follows::table
        .inner_join(users::table.on(users::id.eq(follows::followed_id)))
        .filter(follows::follower_id.eq(user))
        .filter(not(is_user_blocked_or_deleted(viewer)))
        .select((follows::created_at, follows::id, SummaryRow::as_select()));
    Ok(super::load!(followed, follows, slice, conn)?)
}
