use agora_domain::Error;
use agora_domain::error::Resource;
use agora_domain::follows::{MAX_FOLLOWED, TOO_MANY_FOLLOWED};
use agora_domain::notices::{Notice, NotificationKind};
use diesel::dsl::exists;
use diesel::{BoolExpressionMethods, ExpressionMethods, JoinOnDsl, OptionalExtension, QueryDsl, SelectableHelper};

use super::{Conn, RunQueryDsl, built, notices};
use crate::error::{Failure, Outcome};
use crate::feeds::limit;
use crate::notices::Gathered;
use crate::prepared::prepared;
use crate::rows::{Slice, SummaryRow};
use crate::schema::{FollowRecord, follows, users};
use crate::sql_types::{DbId, DbInstant};
use crate::values::Related;

/// Turns the relation on if it is off, off if it is on. A concurrent toggle of the same relation may come between the
/// two attempts; then it starts again.
pub(crate) async fn toggle(conn: &mut Conn<'_>, follow: FollowRecord, notice: Option<Notice>) -> Outcome<bool> {
    loop {
        if insert(conn, &follow, notice).await? {
            return Ok(true);
        }
        if delete(conn, follow.follower_id, follow.followed_id).await? {
            return Ok(false);
        }
    }
}

/// Returns whether `follower` follows `followed`; nothing when there is no such user.
pub(crate) async fn is_following(conn: &mut Conn<'_>, follower: DbId, followed: DbId) -> Outcome<Option<bool>> {
    let relation = follows::table.filter(follows::follower_id.eq(follower).and(follows::followed_id.eq(users::id)));
    Ok(users::table.find(followed).select(exists(relation)).get_result(conn).await.optional()?)
}

pub(crate) async fn set(conn: &mut Conn<'_>, follow: FollowRecord, notice: Option<Notice>) -> Outcome<()> {
    insert(conn, &follow, notice).await.map(|_| ())
}

pub(crate) async fn unset(conn: &mut Conn<'_>, follower: DbId, followed: DbId) -> Outcome<()> {
    let is_there: bool = diesel::select(exists(users::table.find(followed))).get_result(conn).await?;
    if !is_there {
        return Err(Failure::Rule(Error::NotFound(Resource::User)));
    }
    delete(conn, follower, followed).await?;
    Ok(())
}

async fn insert(conn: &mut Conn<'_>, follow: &FollowRecord, notice: Option<Notice>) -> Outcome<bool> {
    let inserted = diesel::insert_into(follows::table)
        .values(follow)
        .on_conflict((follows::follower_id, follows::followed_id))
        .do_nothing()
        .execute(conn)
        .await
        .map_err(Failure::missing(Resource::User))?;
    if inserted > 0 {
        // Which also has others wait who turn on a relation of the same follower.
        count_change(conn, follow.follower_id).await?;
        ensure_within_limit(conn, follow.follower_id).await?;
        notices::gather(conn, follow.id, notice).await?;
    }
    Ok(inserted > 0)
}

/// Returns the domain's rule of how many accounts one account may follow, the last one included.
async fn ensure_within_limit(conn: &mut Conn<'_>, follower: DbId) -> Outcome<()> {
    let beyond = follows::table
        .filter(follows::follower_id.eq(follower))
        .order((follows::created_at.asc(), follows::id.asc()))
        .select(follows::id)
        .limit(1)
        .offset(limit(MAX_FOLLOWED));
    match beyond.get_result::<DbId>(conn).await.optional()? {
        None => Ok(()),
        Some(_) => Err(Failure::Rule(TOO_MANY_FOLLOWED)),
    }
}

async fn delete(conn: &mut Conn<'_>, follower: DbId, followed: DbId) -> Outcome<bool> {
    let deleted =
        diesel::delete(follows::table.find((follower, followed))).returning((follows::id, follows::created_at));
    let deleted: Option<(DbId, DbInstant)> = deleted.get_result(conn).await.optional()?;
    if let Some((follow, made)) = deleted {
        count_change(conn, follower).await?;
        notices::withdraw(conn, Gathered::new(NotificationKind::Follow, followed, made), follow, follower).await?;
    }
    Ok(deleted.is_some())
}

/// Returns what is remembered of the follower's feed is of an earlier state from now on.
async fn count_change(conn: &mut Conn<'_>, follower: DbId) -> Outcome<()> {
    let counted = users::follow_version.eq(users::follow_version + 1);
    prepared(diesel::update(users::table.find(follower)).set(counted)).execute(conn).await?;
    Ok(())
}

pub(crate) async fn list_followers(conn: &mut Conn<'_>, user: DbId, slice: Slice) -> Outcome<Vec<Related>> {
    let followers = follows::table
        .inner_join(users::table.on(users::id.eq(follows::follower_id)))
        .filter(follows::followed_id.eq(user))
        .select((follows::created_at, follows::id, SummaryRow::as_select()));
    Ok(super::load!(followers, follows, slice, conn)?)
}

pub(crate) async fn list_followed(conn: &mut Conn<'_>, user: DbId, slice: Slice) -> Outcome<Vec<Related>> {
    let followed = follows::table
        .inner_join(users::table.on(users::id.eq(follows::followed_id)))
        .filter(follows::follower_id.eq(user))
        .select((follows::created_at, follows::id, SummaryRow::as_select()));
    Ok(super::load!(followed, follows, slice, conn)?)
}
