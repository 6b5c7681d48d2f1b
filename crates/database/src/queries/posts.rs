use agora_domain::{
    Error,
    clock::Timestamp,
    error::Resource,
    media::ImageKey,
    posts::{PostEdit, SHOWN_LIKERS},
};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, JoinOnDsl, NullableExpressionMethods, OptionalExtension, QueryDsl,
    SelectableHelper,
    dsl::{auto_type, exists},
};

use super::{Conn, RunQueryDsl};
use crate::values::{LikeRow, Likers, ViewRow, Visible};
use crate::{
    error::{Failure, Outcome},
    rows::{AccessRow, AuthorRow, LikerRow, PostRow, Slice, UserRow},
    schema::{follows, likes, posts, users},
    sql_types::{DbId, DbInstant, Instant},
};

diesel::define_sql_function! {
    /// The first argument that is not null.
    fn coalesce(first: diesel::sql_types::Nullable<Instant>, otherwise: Instant) -> Instant;
}

#[auto_type]
fn liked_by(viewer: DbId) -> _ {
    exists(likes::table.filter(likes::post_id.eq(posts::id).and(likes::user_id.eq(viewer))))
}

#[auto_type]
fn author_followed_by(viewer: DbId) -> _ {
    exists(follows::table.filter(follows::follower_id.eq(viewer).and(follows::followed_id.eq(posts::author_id))))
}

#[auto_type]
fn is_one_of(one: i16, two: i16, three: i16) -> _ {
    posts::visibility.eq(one).or(posts::visibility.eq(two)).or(posts::visibility.eq(three))
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

async fn insert(conn: &mut Conn, row: PostRow) -> Outcome<()> {
    diesel::insert_into(posts::table).values(row).execute(conn).await?;
    Ok(())
}

pub(crate) async fn find(conn: &mut Conn, id: DbId, viewer: DbId) -> Outcome<Option<(ViewRow<AuthorRow>, Likers)>> {
    let found: Option<ViewRow<AuthorRow>> = posts::table
        .inner_join(users::table)
        .filter(posts::id.eq(id))
        .select(view!(AuthorRow, viewer))
        .get_result(conn)
        .await
        .optional()?;
    let Some(row) = found else { return Ok(None) };
    let likers = likers_of(conn, std::slice::from_ref(&row)).await?;
    Ok(Some((row, likers)))
}

pub(crate) async fn find_access(conn: &mut Conn, id: DbId, viewer: DbId) -> Outcome<Option<AccessRow>> {
    Ok(posts::table
        .find(id)
        .select((posts::id, posts::author_id, posts::visibility, author_followed_by(viewer)))
        .get_result(conn)
        .await
        .optional()?)
}

pub(crate) async fn list_all(conn: &mut Conn, viewer: DbId, slice: Slice) -> Outcome<(Vec<ViewRow<UserRow>>, Likers)> {
    let rows: Vec<ViewRow<UserRow>> = posts::table
        .inner_join(users::table)
        .filter(super::older!(posts, slice.after))
        .order((posts::created_at.desc(), posts::id.desc()))
        .limit(slice.limit)
        .select(view!(UserRow, viewer))
        .load(conn)
        .await?;
    let likers = likers_of(conn, &rows).await?;
    Ok((rows, likers))
}

pub(crate) async fn list_by_author(
    conn: &mut Conn,
    author: DbId,
    visible: Visible,
    viewer: DbId,
    slice: Slice,
) -> Outcome<(Vec<ViewRow<AuthorRow>>, Likers)> {
    let rows: Vec<ViewRow<AuthorRow>> = posts::table
        .inner_join(users::table)
        .filter(posts::author_id.eq(author))
        .filter(is_one_of(visible[0], visible[1], visible[2]))
        .filter(super::older!(posts, slice.after))
        .order((posts::created_at.desc(), posts::id.desc()))
        .limit(slice.limit)
        .select(view!(AuthorRow, viewer))
        .load(conn)
        .await?;
    let likers = likers_of(conn, &rows).await?;
    Ok((rows, likers))
}

pub(crate) async fn list_followed(
    conn: &mut Conn,
    viewer: DbId,
    visible: Visible,
    slice: Slice,
) -> Outcome<(Vec<ViewRow<AuthorRow>>, Likers)> {
    let followed = follows::table.filter(follows::follower_id.eq(viewer)).select(follows::followed_id);
    let rows: Vec<ViewRow<AuthorRow>> = posts::table
        .inner_join(users::table)
        .filter(posts::author_id.eq_any(followed))
        .filter(is_one_of(visible[0], visible[1], visible[2]))
        .filter(super::older!(posts, slice.after))
        .order((posts::created_at.desc(), posts::id.desc()))
        .limit(slice.limit)
        .select(view!(AuthorRow, viewer))
        .load(conn)
        .await?;
    let likers = likers_of(conn, &rows).await?;
    Ok((rows, likers))
}

/// The newest likers of each post: of a post with many likes only the newest are read, from the index.
async fn likers_of<A>(conn: &mut Conn, rows: &[ViewRow<A>]) -> Outcome<Likers> {
    let liked: Vec<DbId> = rows.iter().filter(|row| row.like_count > 0).map(|row| row.post.id).collect();
    let mut likers = Likers::with_capacity(liked.len());
    if liked.is_empty() {
        return Ok(likers);
    }
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
        .filter(posts::id.eq_any(liked))
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

pub(crate) async fn delete(conn: &mut Conn, id: DbId, at: DbInstant) -> Outcome<Option<PostRow>> {
    let deleted = diesel::delete(posts::table.find(id)).returning(PostRow::as_returning());
    let row: Option<PostRow> = deleted.get_result(conn).await.optional()?;
    let image = row.as_ref().and_then(|row| row.image.as_deref());
    super::images::replace(conn, image, None, at).await?;
    Ok(row)
}

/// Turns the like on if it is off, off if it is on.
pub(crate) async fn toggle_like(conn: &mut Conn, like: LikeRow) -> Outcome<bool> {
    super::lock_counters(conn, like.post).await?;
    if insert_like(conn, like).await? {
        return Ok(true);
    }
    delete_like(conn, like.post, like.user).await?;
    Ok(false)
}

pub(crate) async fn set_like(conn: &mut Conn, like: LikeRow) -> Outcome<()> {
    super::lock_counters(conn, like.post).await?;
    insert_like(conn, like).await.map(|_| ())
}

pub(crate) async fn unset_like(conn: &mut Conn, post: DbId, user: DbId) -> Outcome<bool> {
    super::lock_counters(conn, post).await?;
    let known: bool = diesel::select(exists(posts::table.find(post))).get_result(conn).await?;
    delete_like(conn, post, user).await?;
    Ok(known)
}

async fn insert_like(conn: &mut Conn, like: LikeRow) -> Outcome<bool> {
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
    diesel::update(posts::table.find(like.post)).set(posts::like_count.eq(posts::like_count + 1)).execute(conn).await?;
    Ok(true)
}

async fn delete_like(conn: &mut Conn, post: DbId, user: DbId) -> Outcome<bool> {
    if diesel::delete(likes::table.find((post, user))).execute(conn).await? == 0 {
        return Ok(false);
    }
    diesel::update(posts::table.find(post)).set(posts::like_count.eq(posts::like_count - 1)).execute(conn).await?;
    Ok(true)
}

/// When the like was made and its id, then who made it.
pub(crate) async fn list_likers(
    conn: &mut Conn,
    post: DbId,
    slice: Slice,
) -> Outcome<Vec<(DbInstant, DbId, LikerRow)>> {
    Ok(likes::table
        .inner_join(users::table)
        .filter(likes::post_id.eq(post))
        .filter(super::older!(likes, slice.after))
        .order((likes::created_at.desc(), likes::id.desc()))
        .limit(slice.limit)
        .select((likes::created_at, likes::id, LikerRow::as_select()))
        .load(conn)
        .await?)
}

/// Stores a post and reads it back as its author sees it.
pub(crate) async fn create(conn: &mut Conn, row: PostRow) -> Outcome<(ViewRow<AuthorRow>, Likers)> {
    let (id, author, image, at) = (row.id, row.author_id, row.image.clone(), row.created_at);
    insert(conn, row).await?;
    super::images::replace(conn, None, image.as_deref(), at).await?;
    let found = find(conn, id, author).await?;
    found.ok_or_else(|| Failure::Rule(Error::internal("a post just stored is not there")))
}

/// Applies the domain's rule of editing to the stored post; the post as its author sees it, and the image it lost.
pub(crate) async fn edit(
    conn: &mut Conn,
    id: DbId,
    edit: PostEdit,
    at: Timestamp,
) -> Outcome<Option<(ViewRow<AuthorRow>, Likers, Option<ImageKey>)>> {
    let Some(row) = super::lock_post(conn, id).await? else { return Ok(None) };
    let (author, old) = (row.author_id, row.image.clone());
    let (edited, replaced) = row.post()?.apply(&edit, at)?;
    let row = PostRow::of(&edited);
    let new = row.image.clone();
    update(conn, row).await?;
    super::images::replace(conn, old.as_deref(), new.as_deref(), DbInstant(at)).await?;
    Ok(find(conn, id, author).await?.map(|(view, likers)| (view, likers, replaced)))
}
