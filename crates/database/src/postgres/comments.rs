//! The flat list of a post's comments.

use diesel::dsl::not;
use diesel::{BoolExpressionMethods, ExpressionMethods, QueryDsl, SelectableHelper};

use super::dialect::{Conn, RunQueryDsl, built};
use super::queries::hidden::{comment_shown_to, has_no_hidden, thread_shown_to};
use super::queries::load;
use super::queries::views::flat;
use crate::account_filters::{DbViewer, is_user_blocked_or_deleted};
use crate::error::Outcome;
use crate::rows::{FlatCommentRow, Slice, SummaryRow};
use crate::schema::{comments, users};
use crate::sql_types::DbId;

/// Returns the comments on a post, of all threads, each with its author and whether the viewer may see it.
pub(crate) async fn list_comments(
    conn: &mut Conn<'_>,
    post: DbId,
    viewer: DbViewer,
    slice: Slice,
) -> Outcome<Vec<(bool, FlatCommentRow, SummaryRow)>> {
    let on_post = flat!(post, viewer);
    Ok(load!(on_post, comments, slice, conn)?)
}
