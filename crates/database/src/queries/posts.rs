use agora_domain::Error;
use agora_domain::clock::Timestamp;
use agora_domain::error::Resource;
use agora_domain::media::ImageKey;
use agora_domain::posts::PostEdit;
use diesel::dsl::{auto_type, exists};
use diesel::{BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};

pub(crate) use super::toggle_like;
use super::{Conn, RunQueryDsl, insert_post, likers, views_by_author, views_of_all, with_likers};
use crate::error::{Failure, Outcome};
use crate::rows::{AccessRow, AuthorRow, LikerRow, PostRow, Slice, UserRow};
use crate::schema::{comments, follows, likes, posts, users};
use crate::sql_types::{DbId, DbInstant};
use crate::values::{LikeRow, PostViewRow, Visible};

const NO_POST: Failure = Failure::Rule(Error::NotFound(Resource::Post));

#[auto_type]
pub(crate) fn liked_by(viewer: DbId) -> _ {
    exists(likes::table.filter(likes::post_id.eq(posts::id).and(likes::user_id.eq(viewer))))
}

#[auto_type]
pub(crate) fn author_followed_by(viewer: DbId) -> _ {
    exists(follows::table.filter(follows::follower_id.eq(viewer).and(follows::followed_id.eq(posts::author_id))))
}

/// The columns of a [`ViewRow`] as `viewer` sees it.
macro_rules! view {
    ($author:ident, $viewer:expr) => {
        (
            PostRow::as_select(),
            $author::as_select(),
            posts::like_count,
            posts::comment_count,
            liked_by($viewer),
            author_followed_by($viewer),
            likers(),
        )
    };
}

/// Loads views of posts in the order in which they are come upon.
macro_rules! load_in_order {
    ($views:expr, $toward:expr, $conn:expr) => {
        match $toward {
            $crate::rows::Toward::Older => {
                $views.order((posts::created_at.desc(), posts::id.desc())).load($conn).await?
            }
            $crate::rows::Toward::Newer => $views.order((posts::created_at.asc(), posts::id.asc())).load($conn).await?,
        }
    };
}

pub(crate) use {load_in_order, view};

pub(crate) async fn find(conn: &mut Conn<'_>, id: DbId, viewer: DbId) -> Outcome<Option<PostViewRow<AuthorRow>>> {
    let found = posts::table
        .inner_join(users::table)
        .filter(posts::id.eq(id))
        .filter(posts::deleted_at.is_null())
        .select(view!(AuthorRow, viewer))
        .get_result(conn)
        .await
        .optional()?;
    Ok(with_likers(conn, found.into_iter().collect()).await?.pop())
}

/// Returns what decides about access to a post.
pub(crate) async fn find_access(conn: &mut Conn<'_>, id: DbId, viewer: DbId) -> Outcome<Option<AccessRow>> {
    Ok(posts::table
        .find(id)
        .filter(posts::deleted_at.is_null())
        .select((posts::id, posts::author_id, posts::visibility, author_followed_by(viewer)))
        .get_result(conn)
        .await
        .optional()?)
}

pub(crate) async fn list_all(conn: &mut Conn<'_>, viewer: DbId, slice: Slice) -> Outcome<Vec<PostViewRow<UserRow>>> {
    let rows = views_of_all(conn, viewer, slice).await?;
    with_likers(conn, rows).await
}

/// Returns the posts of an author that have one of the visibilities.
pub(crate) async fn list_by_author(
    conn: &mut Conn<'_>,
    author: DbId,
    visible: Visible,
    viewer: DbId,
    slice: Slice,
) -> Outcome<Vec<PostViewRow<AuthorRow>>> {
    let rows = views_by_author(conn, author, visible, viewer, slice).await?;
    with_likers(conn, rows).await
}

/// When the like was made and its id, then who made it.
pub(crate) async fn list_likers(
    conn: &mut Conn<'_>,
    post: DbId,
    slice: Slice,
) -> Outcome<Vec<(DbInstant, DbId, LikerRow)>> {
    let of_post = likes::table.inner_join(users::table).filter(likes::post_id.eq(post)).select((
        likes::created_at,
        likes::id,
        LikerRow::as_select(),
    ));
    Ok(super::load!(of_post, likes, slice, conn)?)
}

async fn update(conn: &mut Conn<'_>, row: PostRow) -> Outcome<()> {
    diesel::update(posts::table.find(row.id))
        .set((
            posts::content.eq(row.content),
            posts::image.eq(row.image),
            posts::visibility.eq(row.visibility),
            posts::updated_at.eq(row.updated_at),
        ))
        .execute(conn)
        .await?;
    Ok(())
}

/// How many likes and comments are deleted with their post at once, and how many of others' are erased at a time: a
/// write that takes longer has others wait.
pub(crate) const ERASED_AT_ONCE: i64 = 500;

/// What stands in the place of the text of a post that is marked as deleted: a post is not empty.
const NO_TEXT: &str = "-";

/// Deletes a post, or marks it as deleted when there is much to erase with it; the post as it was.
pub(crate) async fn delete(conn: &mut Conn<'_>, id: DbId, at: DbInstant) -> Outcome<PostRow> {
    let row = match delete_at_once(conn, id).await? {
        Some(row) => row,
        None => mark_deleted(conn, id, at).await?,
    };
    super::images::replace(conn, row.image.as_deref(), None, at).await?;
    Ok(row)
}

async fn delete_at_once(conn: &mut Conn<'_>, id: DbId) -> Outcome<Option<PostRow>> {
    let has_few = (posts::like_count + posts::comment_count).le(ERASED_AT_ONCE);
    let small = posts::table.find(id).filter(posts::deleted_at.is_null()).filter(has_few);
    Ok(diesel::delete(small).returning(PostRow::as_returning()).get_result(conn).await.optional()?)
}

async fn mark_deleted(conn: &mut Conn<'_>, id: DbId, at: DbInstant) -> Outcome<PostRow> {
    let row = super::lock_post(conn, id).await?.ok_or(NO_POST)?;
    diesel::update(posts::table.find(id))
        .set((posts::deleted_at.eq(Some(at)), posts::content.eq(NO_TEXT), posts::image.eq(None::<String>)))
        .execute(conn)
        .await?;
    Ok(row)
}

/// Erases some of what is left of posts that are marked as deleted, a part of one of them; how many rows.
pub(crate) async fn erase(conn: &mut Conn<'_>) -> Outcome<usize> {
    let marked = posts::table.filter(posts::deleted_at.is_not_null()).order(posts::deleted_at).limit(1);
    let Some(post) = marked.select(posts::id).get_result::<DbId>(conn).await.optional()? else { return Ok(0) };
    let some = comments::table.filter(comments::post_id.eq(post)).limit(ERASED_AT_ONCE);
    let some: Vec<DbId> = some.select(comments::id).load(conn).await?;
    if !some.is_empty() {
        return Ok(diesel::delete(comments::table.filter(comments::id.eq_any(some))).execute(conn).await?);
    }
    let some = likes::table.filter(likes::post_id.eq(post)).limit(ERASED_AT_ONCE);
    let some: Vec<DbId> = some.select(likes::user_id).load(conn).await?;
    if !some.is_empty() {
        let these = likes::table.filter(likes::post_id.eq(post).and(likes::user_id.eq_any(some)));
        return Ok(diesel::delete(these).execute(conn).await?);
    }
    Ok(diesel::delete(posts::table.find(post)).execute(conn).await?)
}

pub(crate) async fn set_like(conn: &mut Conn<'_>, like: LikeRow) -> Outcome<()> {
    super::lock_counters(conn, like.post).await?;
    if insert_like(conn, like).await? || is_there(conn, like.post).await? { Ok(()) } else { Err(NO_POST) }
}

pub(crate) async fn unset_like(conn: &mut Conn<'_>, post: DbId, user: DbId) -> Outcome<()> {
    super::lock_counters(conn, post).await?;
    if !is_there(conn, post).await? {
        return Err(NO_POST);
    }
    delete_like(conn, post, user).await?;
    Ok(())
}

async fn is_there(conn: &mut Conn<'_>, post: DbId) -> Outcome<bool> {
    let post = posts::table.find(post).filter(posts::deleted_at.is_null());
    Ok(diesel::select(exists(post)).get_result(conn).await?)
}

pub(crate) async fn insert_like(conn: &mut Conn<'_>, like: LikeRow) -> Outcome<bool> {
    let inserted = diesel::insert_into(likes::table)
        .values((
            likes::post_id.eq(like.post),
            likes::user_id.eq(like.user),
            likes::id.eq(like.id),
            likes::created_at.eq(like.at),
        ))
        .on_conflict((likes::post_id, likes::user_id))
        .do_nothing()
        .execute(conn)
        .await
        .map_err(Failure::missing(Resource::Post))?;
    if inserted == 0 {
        return Ok(false);
    }
    let counted = diesel::update(posts::table.find(like.post).filter(posts::deleted_at.is_null()))
        .set(posts::like_count.eq(posts::like_count + 1))
        .execute(conn)
        .await?;
    if counted == 0 { Err(NO_POST) } else { Ok(true) }
}

pub(crate) async fn delete_like(conn: &mut Conn<'_>, post: DbId, user: DbId) -> Outcome<bool> {
    if diesel::delete(likes::table.find((post, user))).execute(conn).await? == 0 {
        return Ok(false);
    }
    let counted = diesel::update(posts::table.find(post).filter(posts::deleted_at.is_null()))
        .set(posts::like_count.eq(posts::like_count - 1))
        .execute(conn)
        .await?;
    if counted == 0 { Err(NO_POST) } else { Ok(true) }
}

/// Stores a post; the post as its author sees it.
pub(crate) async fn create(conn: &mut Conn<'_>, row: PostRow) -> Outcome<PostViewRow<AuthorRow>> {
    let author = insert_post(conn, row.clone()).await?;
    Ok(PostViewRow::new(row, author))
}

/// Applies the domain's rule of editing to the stored post; the post as its author sees it, and the image it lost.
pub(crate) async fn edit(
    conn: &mut Conn<'_>,
    id: DbId,
    edit: PostEdit,
    at: Timestamp,
) -> Outcome<(PostViewRow<AuthorRow>, Option<ImageKey>)> {
    let row = super::lock_post(conn, id).await?.ok_or(NO_POST)?;
    let (author, old) = (row.author_id, row.image.clone());
    let (edited, replaced) = row.post()?.apply(&edit, at)?;
    let row = PostRow::of(&edited);
    let new = row.image.clone();
    update(conn, row).await?;
    super::images::replace(conn, old.as_deref(), new.as_deref(), DbInstant(at)).await?;
    let seen = find(conn, id, author).await?.ok_or(NO_POST)?;
    Ok((seen, replaced))
}
