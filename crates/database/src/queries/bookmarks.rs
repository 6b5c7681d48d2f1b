//! Bookmarks of posts.

use std::collections::HashMap;

use agora_domain::error::Resource;
use diesel::dsl::not;
use diesel::sql_types::Bool;
use diesel::{BoolExpressionMethods, ExpressionMethods, IntoSql, QueryDsl, SelectableHelper};

use super::likes::{NO_POST, is_there};
use super::timelines::shown;
use super::views::{author_followed_by, liked_by, view, visible_to};
use super::{Conn, RunQueryDsl, built, likers, post_in, with_likers};
use crate::account_filters::{is_blocked_or_deleted, is_user_blocked_or_deleted, or_muted};
use crate::error::{Failure, Outcome};
use crate::rows::{After, AuthorRow, PostRow, Slice};
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

pub(crate) async fn unset(conn: &mut Conn<'_>, post: DbId, user: DbId) -> Outcome<bool> {
    if !is_there(conn, post).await? {
        return Err(NO_POST);
    }
    Ok(diesel::delete(bookmarks::table.find((user, post))).execute(conn).await? > 0)
}

/// The time and id of a bookmark, its post, and whether the post is visible.
type Entry = (DbInstant, DbId, DbId, bool);

/// Returns at most `most` of the bookmarks in a slice whose posts are visible, with the posts; and where the next part begins.
pub(crate) async fn list(
    conn: &mut Conn<'_>,
    VisiblePosts { viewer, followed, others }: VisiblePosts,
    slice: Slice,
    most: usize,
) -> Outcome<(Vec<ViewedPost>, Option<After>)> {
    let is_visible = posts::deleted_at.is_null().and(visible_to(viewer, followed, others));
    let is_visible = is_visible.and(not(or_muted(viewer, is_blocked_or_deleted(viewer, posts::author_id))));
    let of_viewer = bookmarks::table.inner_join(posts::table).filter(bookmarks::user_id.eq(viewer.id));
    let entries = of_viewer.select((bookmarks::created_at, bookmarks::id, bookmarks::post_id, is_visible));
    let entries: Vec<Entry> = super::load!(entries, bookmarks, slice, conn)?;
    let (entries, rest) = shown(entries, |entry| (After(entry.0, entry.1), entry.3), slice, most);
    let views = posts::table
        .inner_join(users::table)
        .filter(post_in(entries.iter().map(|entry| entry.2).collect()))
        .filter(posts::deleted_at.is_null())
        .filter(visible_to(viewer, followed, others).and(not(or_muted(viewer, is_user_blocked_or_deleted(viewer)))))
        .select(view!(AuthorRow, viewer, author_followed_by(viewer.id), true.into_sql::<Bool>()));
    let rows: Vec<ViewRow<_, _>> = built(views).load(conn).await?;
    let views = with_likers(conn, rows, viewer, AuthorRow::author).await?;
    let mut views: HashMap<_, _> = views.into_iter().map(|view| (view.post.id.uuid(), view)).collect();
    let viewed = |(at, id, post, _): Entry| views.remove(&post.0).map(|view| (at, id, view));
    Ok((entries.into_iter().filter_map(viewed).collect(), rest))
}
