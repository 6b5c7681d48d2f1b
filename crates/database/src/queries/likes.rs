use agora_domain::Error;
use agora_domain::error::Resource;
use agora_domain::events::Event;
use agora_domain::notices::{Notice, NotificationKind};
use diesel::dsl::{exists, not};
use diesel::{BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};

use super::{Conn, RunQueryDsl, built};
use crate::account_filters::{DbViewer, is_user_blocked_or_deleted};
use crate::error::{Failure, Outcome};
use crate::notices::Gathered;
use crate::prepared::prepared;
use crate::rows::{LikerRow, Slice};
use crate::schema::{LikeRecord, likes, posts, users};
use crate::sql_types::{DbId, DbInstant};

pub(super) const NO_POST: Failure = Failure::Rule(Error::NotFound(Resource::Post));

pub(crate) async fn set_like(conn: &mut Conn<'_>, like: LikeRecord, notice: Option<Notice>) -> Outcome<()> {
    let post = like.post_id;
    super::lock_counters(conn, post).await?;
    if insert(conn, like, notice).await? || is_there(conn, post).await? { Ok(()) } else { Err(NO_POST) }
}

pub(crate) async fn unset_like(conn: &mut Conn<'_>, post: DbId, user: DbId) -> Outcome<bool> {
    super::lock_counters(conn, post).await?;
    if !is_there(conn, post).await? {
        return Err(NO_POST);
    }
    delete(conn, post, user).await
}

/// Deletes a like. Fails as if the post did not exist if there is no like.
pub(crate) async fn retract_like(conn: &mut Conn<'_>, post: DbId, user: DbId) -> Outcome<()> {
    if unset_like(conn, post, user).await? { Ok(()) } else { Err(NO_POST) }
}

pub(super) async fn is_there(conn: &mut Conn<'_>, post: DbId) -> Outcome<bool> {
    let post = posts::table.find(post).filter(posts::deleted_at.is_null());
    Ok(diesel::select(exists(post)).get_result(conn).await?)
}

/// Adds to a post's count of likes.
async fn count(conn: &mut Conn<'_>, post: DbId, likes: i64) -> Outcome<()> {
    let there = posts::table.find(post).filter(posts::deleted_at.is_null());
    let counted = diesel::update(there).set(posts::like_count.eq(posts::like_count + likes));
    let counted = prepared(counted).execute(conn).await?;
    if counted == 0 { Err(NO_POST) } else { Ok(()) }
}

pub(crate) async fn insert(conn: &mut Conn<'_>, like: LikeRecord, notice: Option<Notice>) -> Outcome<bool> {
    let (post, id) = (like.post_id, like.id);
    let inserted = diesel::insert_into(likes::table)
        .values(like)
        .on_conflict((likes::post_id, likes::user_id))
        .do_nothing()
        .execute(conn)
        .await
        .map_err(Failure::missing(Resource::Post))?;
    if inserted > 0 {
        count(conn, post, 1).await?;
        super::record(conn, Event::Liked(post.0.into())).await?;
        super::gather(conn, id, notice).await?;
    }
    Ok(inserted > 0)
}

pub(crate) async fn delete(conn: &mut Conn<'_>, post: DbId, user: DbId) -> Outcome<bool> {
    let deleted = diesel::delete(likes::table.find((post, user))).returning((likes::id, likes::created_at));
    let deleted: Option<(DbId, DbInstant)> = deleted.get_result(conn).await.optional()?;
    if let Some((like, made)) = deleted {
        count(conn, post, -1).await?;
        super::record(conn, Event::Liked(post.0.into())).await?;
        super::withdraw(conn, Gathered::new(NotificationKind::Like, post, made), like, user).await?;
    }
    Ok(deleted.is_some())
}

/// Returns a slice of the likes of a post: the time and id of each, then the user.
pub(crate) async fn list_likers(
    conn: &mut Conn<'_>,
    post: DbId,
    viewer: DbViewer,
    slice: Slice,
) -> Outcome<Vec<(DbInstant, DbId, LikerRow)>> {
    let of_post = likes::table.inner_join(users::table).filter(likes::post_id.eq(post));
    let of_post = of_post.filter(not(is_user_blocked_or_deleted(viewer))).select((
        likes::created_at,
        likes::id,
        LikerRow::as_select(),
    ));
    Ok(super::load!(of_post, likes, slice, conn)?)
}
