use agora_domain::page::Keyset;
use diesel::dsl::auto_type;
use diesel::{BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};

use super::super::post_in;
pub(crate) use super::queries::posts::find;
use super::queries::posts::{author_followed_by, liked_by, view, with_likers};
use super::{Conn, RunQueryDsl, queries};
use crate::error::Outcome;
use crate::feeds::{FeedQuery, ids, limit};
use crate::rows::{AccessRow, AuthorRow, LikerRow, PostRow, Slice, Toward, keyset};
use crate::schema::{likes, posts, users};
use crate::sql_types::{DbId, DbInstant};
use crate::values::{LikeRow, PostViewRow, ViewRow, Visible, distinct};

/// Loads views of posts in the order in which they are come upon.
macro_rules! load_in_order {
    ($views:expr, $toward:expr, $conn:expr) => {
        match $toward {
            Toward::Older => $views.order((posts::created_at.desc(), posts::id.desc())).load($conn).await?,
            Toward::Newer => $views.order((posts::created_at.asc(), posts::id.asc())).load($conn).await?,
        }
    };
}

#[auto_type]
fn is_one_of(one: i16, two: i16, three: i16) -> _ {
    posts::visibility.eq(one).or(posts::visibility.eq(two)).or(posts::visibility.eq(three))
}

pub(crate) async fn find_access(conn: &mut Conn, id: DbId, viewer: DbId) -> Outcome<Option<AccessRow>> {
    Ok(posts::table
        .find(id)
        .filter(posts::deleted_at.is_null())
        .select((posts::id, posts::author_id, posts::visibility, author_followed_by(viewer)))
        .get_result(conn)
        .await
        .optional()?)
}

/// Turns the like on if it is off, off if it is on.
pub(crate) async fn toggle_like(conn: &mut Conn, like: LikeRow) -> Outcome<bool> {
    queries::posts::toggle_like(conn, like, None).await
}

pub(crate) async fn list_by_author(
    conn: &mut Conn,
    author: DbId,
    visible: Visible,
    viewer: DbId,
    slice: Slice,
) -> Outcome<Vec<PostViewRow<AuthorRow>>> {
    let mut keys = Vec::new();
    for visibility in distinct(visible) {
        let of_author = posts::table
            .filter(posts::author_id.eq(author))
            .filter(posts::visibility.eq(visibility))
            .filter(posts::deleted_at.is_null())
            .select((posts::created_at, posts::id));
        let found: Vec<(DbInstant, DbId)> = queries::load!(of_author, posts, slice, conn)?;
        keys.extend(found.into_iter().map(|(at, id)| keyset(at, id)));
    }
    let views = posts::table
        .inner_join(users::table)
        .filter(post_in(ids(slice.first_of(keys))))
        .select(view!(AuthorRow, viewer));
    let rows: Vec<ViewRow<AuthorRow>> = load_in_order!(views, slice.toward, conn);
    with_likers(conn, rows).await
}

/// Returns the posts at positions that are there, have one of the visibilities, and whose author the viewer follows.
pub(crate) async fn list_at(
    conn: &mut Conn,
    FeedQuery { viewer, visible: [one, two, three], toward, limit: most }: FeedQuery,
    keys: Vec<Keyset>,
) -> Outcome<Vec<PostViewRow<AuthorRow>>> {
    let views = posts::table
        .inner_join(users::table)
        .filter(post_in(ids(keys)))
        .filter(posts::deleted_at.is_null())
        .filter(is_one_of(one, two, three))
        .filter(author_followed_by(viewer))
        .limit(limit(most))
        .select(view!(AuthorRow, viewer));
    let rows: Vec<ViewRow<AuthorRow>> = load_in_order!(views, toward, conn);
    with_likers(conn, rows).await
}

/// When the like was made and its id, then who made it.
pub(crate) async fn list_likers(
    conn: &mut Conn,
    post: DbId,
    slice: Slice,
) -> Outcome<Vec<(DbInstant, DbId, LikerRow)>> {
    let of_post = likes::table.inner_join(users::table).filter(likes::post_id.eq(post)).select((
        likes::created_at,
        likes::id,
        LikerRow::as_select(),
    ));
    Ok(queries::load!(of_post, likes, slice, conn)?)
}
