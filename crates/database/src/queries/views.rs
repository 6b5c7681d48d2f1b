//! Posts as a viewer sees them, and the flat list of their comments.

use agora_domain::page::Keyset;
use agora_domain::posts::PostView;
use diesel::dsl::{auto_type, case_when, exists, not};
use diesel::sql_types::Bool;
use diesel::{BoolExpressionMethods, ExpressionMethods, IntoSql, QueryDsl, SelectableHelper};

use super::{Conn, RunQueryDsl, built, likers, post_in, with_likers};
use crate::account_filters::DbViewer;
use crate::error::Outcome;
use crate::feeds::{FeedQuery, ids, limit};
use crate::rows::{AuthorRow, PostRow};
use crate::schema::{bookmarks, follows, likes, posts, users};
use crate::sql_types::DbId;
use crate::values::Visible;

#[auto_type]
pub(crate) fn liked_by(viewer: DbId) -> _ {
    let like = likes::table.filter(likes::post_id.eq(posts::id).and(likes::user_id.eq(viewer)));
    case_when(posts::like_count.gt(0_i64), exists(like)).otherwise(false)
}

/// The condition that the viewer follows the author of a post. A scalar subquery for each post: with EXISTS, PostgreSQL would
/// read all accounts that the viewer follows.
#[auto_type]
pub(crate) fn author_followed_by(viewer: DbId) -> _ {
    let follow = follows::table.filter(follows::follower_id.eq(viewer).and(follows::followed_id.eq(posts::author_id)));
    let follower = follow.select(follows::follower_id);
    follower.single_value().is_not_null()
}

#[auto_type]
pub(crate) fn bookmarked_by(viewer: DbId) -> _ {
    exists(bookmarks::table.filter(bookmarks::user_id.eq(viewer).and(bookmarks::post_id.eq(posts::id))))
}

/// The columns of a [`crate::values::ViewRow`] as `viewer` sees it. `$follows` and `$bookmarked` tell whether the viewer follows
/// the author and has bookmarked the post, if the query knows.
macro_rules! view {
    ($author:ident, $viewer:expr) => {
        view!($author, $viewer, author_followed_by($viewer.id))
    };
    ($author:ident, $viewer:expr, $follows:expr) => {
        view!($author, $viewer, $follows, bookmarked_by($viewer.id))
    };
    ($author:ident, $viewer:expr, $follows:expr, $bookmarked:expr) => {
        (
            PostRow::as_select(),
            $author::as_select(),
            posts::like_count,
            posts::comment_count,
            liked_by($viewer.id),
            $follows,
            $bookmarked,
            likers($viewer),
        )
    };
}

/// Loads views of posts in the given direction.
macro_rules! load_in_order {
    ($views:expr, $toward:expr, $conn:expr) => {
        match $toward {
            $crate::rows::Toward::Older => {
                built($views.order((posts::created_at.desc(), posts::id.desc()))).load($conn).await?
            }
            $crate::rows::Toward::Newer => {
                built($views.order((posts::created_at.asc(), posts::id.asc()))).load($conn).await?
            }
        }
    };
}

/// The columns of the flat list of a post's comments: whether the comment is shown to the viewer, the comment, and its author.
macro_rules! flat {
    ($post:expr, $viewer:expr) => {
        comments::table.inner_join(users::table).filter(comments::post_id.eq($post)).select((
            not(is_user_blocked_or_deleted($viewer))
                .and(comment_shown_to($viewer))
                .and(has_no_hidden($post).or(thread_shown_to($viewer))),
            FlatCommentRow::as_select(),
            SummaryRow::as_select(),
        ))
    };
}

pub(crate) use flat;
#[allow(unused_imports, reason = "SQLite alone uses it elsewhere")]
pub(crate) use load_in_order;
pub(crate) use view;

#[auto_type]
fn is_one_of(visible: Visible) -> _ {
    let one: i16 = visible[0];
    let two: i16 = visible[1];
    let three: i16 = visible[2];
    posts::visibility.eq(one).or(posts::visibility.eq(two)).or(posts::visibility.eq(three))
}

/// The condition that the viewer may view a post of any author, regardless of blocks.
#[auto_type]
pub(crate) fn visible_to(viewer: DbViewer, followed: Visible, others: Visible) -> _ {
    let id: DbId = viewer.id;
    let to_anybody: is_one_of = is_one_of(others);
    let to_followers: is_one_of = is_one_of(followed);
    let follows: author_followed_by = author_followed_by(id);
    posts::author_id.eq(id).or(to_anybody).or(to_followers.and(follows))
}

/// Returns the posts at these positions that exist and have one of the visibilities, and whose author the viewer follows.
pub(crate) async fn read_at(
    conn: &mut Conn<'_>,
    FeedQuery { viewer, visible, toward, limit: most }: FeedQuery,
    keys: Vec<Keyset>,
) -> Outcome<Vec<PostView>> {
    let views = posts::table
        .inner_join(users::table)
        .filter(post_in(ids(keys)))
        .filter(posts::deleted_at.is_null())
        .filter(is_one_of(visible))
        .filter(author_followed_by(viewer.id))
        .filter(not(users::is_deleted))
        .limit(limit(most))
        .select(view!(AuthorRow, viewer, true.into_sql::<Bool>()));
    let rows = load_in_order!(views, toward, conn);
    with_likers(conn, rows, viewer, AuthorRow::author).await
}
