//! The flat list of a post's comments.

use diesel::{BoolExpressionMethods, ExpressionMethods, QueryDsl, SelectableHelper};

use super::dialect::{Conn, RunQueryDsl, built};
use super::queries::load;
use super::queries::views::flat;
use crate::error::Outcome;
use crate::rows::{FlatCommentRow, Slice, SummaryRow};
use crate::schema::{comments, users};
use crate::sql_types::DbId;

/// Returns the comments on a post, whatever their thread, with their authors.
pub(crate) async fn list_comments(
    conn: &mut Conn<'_>,
    post: DbId,
    slice: Slice,
) -> Outcome<Vec<(FlatCommentRow, SummaryRow)>> {
    let on_post = flat!(post);
    Ok(load!(on_post, comments, slice, conn)?)
}
