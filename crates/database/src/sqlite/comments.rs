//! The flat list of a post's comments.

use diesel::dsl::not;
use diesel::{BoolExpressionMethods, ExpressionMethods, QueryDsl, QueryResult, SelectableHelper};

use super::dialect::{Conn, RunQueryDsl, built};
use super::queries::hidden::{comment_shown_to, has_no_hidden, thread_shown_to};
use super::queries::load;
use super::queries::views::flat;
use crate::account_filters::{DbViewer, is_user_blocked_or_deleted};
use crate::error::Outcome;
use crate::rows::{FlatCommentRow, Slice, SummaryRow, Toward};
use crate::schema::{comments, users};
use crate::sql_types::DbId;

/// Returns the comments on a post, of all threads, each with its author and whether the viewer may see it. Top-level comments
/// and replies, which have an index each, are merged.
pub(crate) async fn list_comments(
    conn: &mut Conn<'_>,
    post: DbId,
    viewer: DbViewer,
    slice: Slice,
) -> Outcome<Vec<(bool, FlatCommentRow, SummaryRow)>> {
    let on_post = flat!(post, viewer);
    let top_level = on_post.filter(comments::parent_id.is_null());
    let top_level: QueryResult<Vec<_>> = load!(top_level, comments, slice, conn);
    let replies = on_post.filter(comments::parent_id.is_not_null());
    let replies: QueryResult<Vec<(bool, FlatCommentRow, SummaryRow)>> = load!(replies, comments, slice, conn);
    let (mut rows, replies) = (top_level?, replies?);
    if !replies.is_empty() {
        rows.extend(replies);
        rows.sort_unstable_by_key(|(_, row, _)| (row.created_at, row.id));
        if slice.toward == Toward::Older {
            rows.reverse();
        }
        rows.truncate(usize::try_from(slice.limit).unwrap_or(usize::MAX));
    }
    Ok(rows)
}
