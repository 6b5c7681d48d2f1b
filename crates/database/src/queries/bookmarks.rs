//! Posts that users keep for themselves.

use agora_domain::error::Resource;
use diesel::sql_types::Bool;
use diesel::{BoolExpressionMethods, ExpressionMethods, IntoSql, QueryDsl, SelectableHelper};

use super::likes::{NO_POST, is_there};
use super::views::{author_followed_by, liked_by, view, visible_to};
use super::{Conn, RunQueryDsl, built, likers, with_likers};
use crate::error::{Failure, Outcome};
use crate::rows::{AuthorRow, PostRow, Slice};
use crate::schema::{BookmarkRecord, bookmarks, posts, users};
use crate::sql_types::{DbId, DbInstant};
use crate::values::{ViewRow, ViewedPost, VisiblePosts};

pub(crate) async fn set(conn: &mut Conn<'_>, bookmark: BookmarkRecord) -> Outcome<()> {
    if !is_there(conn, bookmark.post_id).await? {
        return Err(NO_POST);
    }
    diesel::insert_into(bookmarks::table)
        .values(bookmark)
        .on_conflict((bookmarks::user_id, bookmarks::post_id))
        .do_nothing()
        .execute(conn)
        .await
        .map_err(Failure::missing(Resource::Post))?;
    Ok(())
}

pub(crate) async fn unset(conn: &mut Conn<'_>, post: DbId, user: DbId) -> Outcome<()> {
    if !is_there(conn, post).await? {
        return Err(NO_POST);
    }
    diesel::delete(bookmarks::table.find((user, post))).execute(conn).await?;
    Ok(())
}

/// When the bookmark was made and its id, then the post as its viewer sees it.
pub(crate) async fn list(conn: &mut Conn<'_>, visible: VisiblePosts, slice: Slice) -> Outcome<Vec<ViewedPost>> {
    let VisiblePosts { viewer, followed, others } = visible;
    let view = view!(AuthorRow, viewer, author_followed_by(viewer), true.into_sql::<Bool>());
    let of_viewer = bookmarks::table
        .inner_join(posts::table.inner_join(users::table))
        .filter(bookmarks::user_id.eq(viewer))
        .filter(posts::deleted_at.is_null())
        .filter(visible_to(viewer, followed, others))
        .select((bookmarks::created_at, bookmarks::id, view));
    let found: Vec<(DbInstant, DbId, ViewRow<_, _>)> = super::load!(of_viewer, bookmarks, slice, conn)?;
    let (keys, rows): (Vec<_>, Vec<_>) = found.into_iter().map(|(at, id, row)| ((at, id), row)).unzip();
    let views = with_likers(conn, rows, AuthorRow::author).await?;
    Ok(keys.into_iter().zip(views).map(|((at, id), view)| (at, id, view)).collect())
}
