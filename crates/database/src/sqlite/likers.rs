//! The newest likers of posts, read once the posts are known.

use std::collections::HashMap;

use agora_domain::posts::{Liker, PostView, SHOWN_LIKERS};
use diesel::dsl::{case_when, not};
use diesel::{ExpressionMethods, IntoSql, JoinOnDsl, NullableExpressionMethods, QueryDsl, SelectableHelper};

use super::dialect::{Conn, RunQueryDsl, post_in};
use crate::account_filters::{DbViewer, is_blocked_or_deleted, is_user_blocked_or_deleted};
use crate::error::Outcome;
use crate::rows::LikerRow;
use crate::schema::{likes, posts, users};
use crate::sql_types::{DbId, DbInstant, Instant, coalesce};
use crate::values::ViewRow;

/// The value of the likers column of a post: how many there are.
pub(crate) type Likers = i64;

/// Returns the likers column.
pub(crate) fn likers(_: DbViewer) -> posts::like_count {
    posts::like_count
}

/// Turns rows into views of posts, with their newest likers, but without users whom the viewer blocks or who block the viewer.
pub(crate) async fn with_likers<R, A>(
    conn: &mut Conn<'_>,
    rows: Vec<ViewRow<R, Likers>>,
    viewer: DbViewer,
    author: fn(R) -> Outcome<A>,
) -> Outcome<Vec<PostView<A>>> {
    let liked: Vec<DbId> = rows.iter().filter(|row| row.like_count > 0).map(|row| row.post.id).collect();
    let mut likers = match liked.as_slice() {
        [] => HashMap::new(),
        [post] => HashMap::from([(*post, likers_of_one(conn, *post, viewer).await?)]),
        _ => likers_of(conn, liked, viewer).await?,
    };
    let view = |row: ViewRow<R, Likers>| {
        let liked_by = likers.remove(&row.post.id).unwrap_or_default();
        row.view(liked_by, author)
    };
    rows.into_iter().map(view).collect()
}

/// Returns the newest likers of one post. The statement for several posts would take half as long again.
async fn likers_of_one(conn: &mut Conn<'_>, post: DbId, viewer: DbViewer) -> Outcome<Vec<Liker>> {
    let newest = likes::table
        .inner_join(users::table)
        .filter(likes::post_id.eq(post))
        .filter(not(is_user_blocked_or_deleted(viewer)))
        .order((likes::created_at.desc(), likes::id.desc()))
        .limit(SHOWN_LIKERS as i64);
    let found: Vec<LikerRow> = newest.select(LikerRow::as_select()).load(conn).await?;
    found.into_iter().map(LikerRow::liker).collect()
}

/// Returns the newest likers of each post. Of a post with many likes only the newest are read, by the index.
async fn likers_of(conn: &mut Conn<'_>, liked: Vec<DbId>, viewer: DbViewer) -> Outcome<HashMap<DbId, Vec<Liker>>> {
    let mut likers: HashMap<DbId, Vec<Liker>> = HashMap::with_capacity(liked.len());
    let newest = diesel::alias!(likes as newest);
    let oldest_shown = newest
        .filter(newest.field(likes::post_id).eq(posts::id))
        .filter(not(is_blocked_or_deleted(viewer, newest.field(likes::user_id))))
        .order((newest.field(likes::created_at).desc(), newest.field(likes::id).desc()))
        .select(newest.field(likes::created_at).nullable())
        .limit(1)
        .offset(SHOWN_LIKERS as i64 - 1)
        .single_value();
    // Few posts have so many likes that there is one.
    let oldest_shown = case_when(posts::like_count.lt(SHOWN_LIKERS as i64), DbInstant::MIN.into_sql::<Instant>())
        .otherwise(coalesce(oldest_shown, DbInstant::MIN));
    let found: Vec<(DbId, LikerRow)> = posts::table
        .inner_join(likes::table.on(likes::post_id.eq(posts::id)))
        .inner_join(users::table.on(users::id.eq(likes::user_id)))
        .filter(post_in(liked))
        .filter(not(is_user_blocked_or_deleted(viewer)))
        .filter(likes::created_at.ge(oldest_shown))
        .order((posts::id, likes::created_at.desc(), likes::id.desc()))
        .select((posts::id, LikerRow::as_select()))
        .load(conn)
        .await?;
    for (post, row) in found {
        let shown = likers.entry(post).or_default();
        // Likes of the same instant as the oldest shown one are read too.
        if shown.len() < SHOWN_LIKERS {
            shown.push(row.liker()?);
        }
    }
    Ok(likers)
}
