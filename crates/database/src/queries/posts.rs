use std::collections::HashMap;

use agora_domain::Error;
use agora_domain::clock::Timestamp;
use agora_domain::error::Resource;
use agora_domain::idempotency::Once;
use agora_domain::media::ImageKey;
use agora_domain::posts::{Liker, PostEdit, PostView, SHOWN_LIKERS};
use diesel::dsl::{auto_type, exists};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, JoinOnDsl, NullableExpressionMethods, OptionalExtension, QueryDsl,
    SelectableHelper,
};

use super::{Conn, RunQueryDsl};
use crate::error::{Failure, Outcome};
use crate::rows::{AuthorRow, LikerRow, PostRow, Slice, UserRow};
use crate::schema::{comments, follows, likes, posts, users};
use crate::sql_types::{DbId, DbInstant, Instant};
use crate::values::{LikeRow, PostViewRow, ViewRow};

diesel::define_sql_function! {
    /// Returns the first argument that is not null.
    fn coalesce(first: diesel::sql_types::Nullable<Instant>, otherwise: Instant) -> Instant;
}

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
        )
    };
}

#[allow(unused_imports, reason = "for SQLite alone, where the hot reads are typed queries too")]
pub(crate) use view;

async fn insert(conn: &mut Conn, row: PostRow) -> Outcome<()> {
    diesel::insert_into(posts::table).values(row).execute(conn).await?;
    Ok(())
}

pub(crate) async fn find(conn: &mut Conn, id: DbId, viewer: DbId) -> Outcome<Option<PostViewRow<AuthorRow>>> {
    let found: Option<ViewRow<AuthorRow>> = posts::table
        .inner_join(users::table)
        .filter(posts::id.eq(id))
        .filter(posts::deleted_at.is_null())
        .select(view!(AuthorRow, viewer))
        .get_result(conn)
        .await
        .optional()?;
    let Some(row) = found else { return Ok(None) };
    let liked_by = if row.like_count > 0 { newest_likers(conn, row.post.id).await? } else { Vec::new() };
    Ok(Some(PostViewRow { row, liked_by }))
}

async fn newest_likers(conn: &mut Conn, post: DbId) -> Outcome<Vec<Liker>> {
    let rows: Vec<LikerRow> = likes::table
        .inner_join(users::table)
        .filter(likes::post_id.eq(post))
        .order((likes::created_at.desc(), likes::id.desc()))
        .limit(SHOWN_LIKERS as i64)
        .select(LikerRow::as_select())
        .load(conn)
        .await?;
    rows.into_iter().map(LikerRow::liker).collect()
}

pub(crate) async fn list_all(conn: &mut Conn, viewer: DbId, slice: Slice) -> Outcome<Vec<PostViewRow<UserRow>>> {
    let views =
        posts::table.inner_join(users::table).filter(posts::deleted_at.is_null()).select(view!(UserRow, viewer));
    let rows: Vec<ViewRow<UserRow>> = super::load!(views, posts, slice, conn)?;
    with_likers(conn, rows).await
}

pub(crate) async fn with_likers<A>(conn: &mut Conn, rows: Vec<ViewRow<A>>) -> Outcome<Vec<PostViewRow<A>>> {
    let liked: Vec<DbId> = rows.iter().filter(|row| row.like_count > 0).map(|row| row.post.id).collect();
    let mut likers = if liked.is_empty() { HashMap::new() } else { likers_of(conn, liked).await? };
    let seen = |row: ViewRow<A>| PostViewRow { liked_by: likers.remove(&row.post.id).unwrap_or_default(), row };
    Ok(rows.into_iter().map(seen).collect())
}

/// Returns the newest likers of each post: of a post with many likes only the newest are read, from the index.
async fn likers_of(conn: &mut Conn, liked: Vec<DbId>) -> Outcome<HashMap<DbId, Vec<Liker>>> {
    let mut likers: HashMap<DbId, Vec<Liker>> = HashMap::with_capacity(liked.len());
    let newest = diesel::alias!(likes as newest);
    let oldest_shown = newest
        .filter(newest.field(likes::post_id).eq(posts::id))
        .order((newest.field(likes::created_at).desc(), newest.field(likes::id).desc()))
        .select(newest.field(likes::created_at).nullable())
        .limit(1)
        .offset(SHOWN_LIKERS as i64 - 1)
        .single_value();
    let found: Vec<(DbId, LikerRow)> = posts::table
        .inner_join(likes::table.on(likes::post_id.eq(posts::id)))
        .inner_join(users::table.on(users::id.eq(likes::user_id)))
        .filter(super::post_in(liked))
        .filter(likes::created_at.ge(coalesce(oldest_shown, DbInstant::MIN)))
        .order((posts::id, likes::created_at.desc(), likes::id.desc()))
        .select((posts::id, LikerRow::as_select()))
        .load(conn)
        .await?;
    for (post, row) in found {
        let shown = likers.entry(post).or_default();
        // Likes of the same instant as the oldest shown one come along.
        if shown.len() < SHOWN_LIKERS {
            shown.push(row.liker()?);
        }
    }
    Ok(likers)
}

async fn update(conn: &mut Conn, row: PostRow) -> Outcome<()> {
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
pub(crate) async fn delete(conn: &mut Conn, id: DbId, at: DbInstant) -> Outcome<Option<PostRow>> {
    let row = match delete_at_once(conn, id).await? {
        Some(row) => Some(row),
        None => mark_deleted(conn, id, at).await?,
    };
    let image = row.as_ref().and_then(|row| row.image.as_deref());
    super::images::replace(conn, image, None, at).await?;
    Ok(row)
}

async fn delete_at_once(conn: &mut Conn, id: DbId) -> Outcome<Option<PostRow>> {
    let has_few = (posts::like_count + posts::comment_count).le(ERASED_AT_ONCE);
    let small = posts::table.find(id).filter(posts::deleted_at.is_null()).filter(has_few);
    Ok(diesel::delete(small).returning(PostRow::as_returning()).get_result(conn).await.optional()?)
}

async fn mark_deleted(conn: &mut Conn, id: DbId, at: DbInstant) -> Outcome<Option<PostRow>> {
    let Some(row) = super::lock_post(conn, id).await? else { return Ok(None) };
    diesel::update(posts::table.find(id))
        .set((posts::deleted_at.eq(Some(at)), posts::content.eq(NO_TEXT), posts::image.eq(None::<String>)))
        .execute(conn)
        .await?;
    Ok(Some(row))
}

/// Erases some of what is left of posts that are marked as deleted, a part of one of them; how many rows.
pub(crate) async fn erase(conn: &mut Conn) -> Outcome<usize> {
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

pub(crate) async fn set_like(conn: &mut Conn, like: LikeRow) -> Outcome<()> {
    super::lock_counters(conn, like.post).await?;
    if insert_like(conn, like).await? || is_there(conn, like.post).await? { Ok(()) } else { Err(no_post()) }
}

/// Returns whether there was such a post.
pub(crate) async fn unset_like(conn: &mut Conn, post: DbId, user: DbId) -> Outcome<bool> {
    super::lock_counters(conn, post).await?;
    let is_there = is_there(conn, post).await?;
    if is_there {
        delete_like(conn, post, user).await?;
    }
    Ok(is_there)
}

async fn is_there(conn: &mut Conn, post: DbId) -> Outcome<bool> {
    let post = posts::table.find(post).filter(posts::deleted_at.is_null());
    Ok(diesel::select(exists(post)).get_result(conn).await?)
}

fn no_post() -> Failure {
    Failure::Rule(Error::NotFound(Resource::Post))
}

pub(crate) async fn insert_like(conn: &mut Conn, like: LikeRow) -> Outcome<bool> {
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
    if counted == 0 { Err(no_post()) } else { Ok(true) }
}

pub(crate) async fn delete_like(conn: &mut Conn, post: DbId, user: DbId) -> Outcome<bool> {
    if diesel::delete(likes::table.find((post, user))).execute(conn).await? == 0 {
        return Ok(false);
    }
    let counted = diesel::update(posts::table.find(post).filter(posts::deleted_at.is_null()))
        .set(posts::like_count.eq(posts::like_count - 1))
        .execute(conn)
        .await?;
    if counted == 0 { Err(no_post()) } else { Ok(true) }
}

/// Stores a post and reads it back as its author sees it.
pub(crate) async fn create(conn: &mut Conn, row: PostRow, once: Option<Once<PostView>>) -> Outcome<PostView> {
    let (id, author, image, at) = (row.id, row.author_id, row.image.clone(), row.created_at);
    insert(conn, row).await?;
    super::images::replace(conn, None, image.as_deref(), at).await?;
    let found = find(conn, id, author).await?;
    let seen = found.ok_or_else(|| Failure::Rule(Error::internal("a post just stored is not there")))?;
    let view = seen.view(AuthorRow::author)?;
    super::idempotency::complete(conn, once, &view).await?;
    Ok(view)
}

/// Turns the like on if it is off, off if it is on.
pub(crate) async fn toggle_like(conn: &mut Conn, like: LikeRow, once: Option<Once<bool>>) -> Outcome<bool> {
    super::lock_counters(conn, like.post).await?;
    let likes = insert_like(conn, like).await?;
    if !likes {
        delete_like(conn, like.post, like.user).await?;
    }
    super::idempotency::complete(conn, once, &likes).await?;
    Ok(likes)
}

/// Applies the domain's rule of editing to the stored post; the post as its author sees it, and the image it lost.
pub(crate) async fn edit(
    conn: &mut Conn,
    id: DbId,
    edit: PostEdit,
    at: Timestamp,
) -> Outcome<Option<(PostViewRow<AuthorRow>, Option<ImageKey>)>> {
    let Some(row) = super::lock_post(conn, id).await? else { return Ok(None) };
    let (author, old) = (row.author_id, row.image.clone());
    let (edited, replaced) = row.post()?.apply(&edit, at)?;
    let row = PostRow::of(&edited);
    let new = row.image.clone();
    update(conn, row).await?;
    super::images::replace(conn, old.as_deref(), new.as_deref(), DbInstant(at)).await?;
    Ok(find(conn, id, author).await?.map(|seen| (seen, replaced)))
}
