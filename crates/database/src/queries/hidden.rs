//! Conditions of lists that exclude hidden comments.

use diesel::dsl::{auto_type, not};
use diesel::sql_types::Bool;
use diesel::{BoolExpressionMethods, ExpressionMethods, IntoSql, NullableExpressionMethods, QueryDsl};

use crate::account_filters::DbViewer;
use crate::schema::comments;
use crate::sql_types::DbId;

diesel::alias!(comments as threads: Threads, comments as others: Others);

/// The author of the top comment of the thread that a comment is in, if that top comment is hidden; else NULL.
#[auto_type]
pub(crate) fn hidden_thread() -> _ {
    let thread = threads.filter(threads.field(comments::id).nullable().eq(comments::parent_id));
    let author = threads.field(comments::author_id);
    thread.filter(threads.field(comments::is_hidden)).select(author).single_value()
}

/// The condition that a comment itself is not hidden from a viewer.
#[auto_type]
pub(crate) fn comment_shown_to(viewer: DbViewer) -> _ {
    let (id, sees_all): (DbId, bool) = (viewer.id, viewer.sees_all);
    not(comments::is_hidden).or(comments::author_id.eq(id)).or(sees_all.into_sql::<Bool>())
}

/// The condition that the thread that a comment is in is not hidden from a viewer.
#[auto_type]
pub(crate) fn thread_shown_to(viewer: DbViewer) -> _ {
    let (id, sees_all): (DbId, bool) = (viewer.id, viewer.sees_all);
    let thread = threads.filter(threads.field(comments::id).nullable().eq(comments::parent_id));
    let of_other = thread.filter(threads.field(comments::is_hidden)).filter(threads.field(comments::author_id).ne(id));
    let is_hidden = of_other.select(threads.field(comments::id)).single_value().is_not_null();
    comments::parent_id.is_null().or(sees_all.into_sql::<Bool>()).or(not(is_hidden))
}

/// The condition that no comment on a post is hidden. It is checked once per statement, before the thread of each comment is
/// looked up.
#[auto_type]
pub(crate) fn has_no_hidden(post: DbId) -> _ {
    let of_post = others.filter(others.field(comments::post_id).eq(post)).filter(others.field(comments::is_hidden));
    of_post.select(others.field(comments::id)).limit(1_i64).single_value().is_null()
}
