use diesel::{BoolExpressionMethods, ExpressionMethods, QueryDsl, SelectableHelper};

use super::{Conn, RunQueryDsl, queries};
use crate::error::Outcome;
use crate::rows::{CommentRow, Slice, SummaryRow};
use crate::schema::{comments, users};
use crate::sql_types::DbId;

pub(crate) async fn insert(conn: &mut Conn, row: CommentRow) -> Outcome<()> {
    queries::comments::insert(conn, row, None).await
}

pub(crate) async fn list(conn: &mut Conn, post: DbId, slice: Slice) -> Outcome<Vec<(CommentRow, SummaryRow)>> {
    let on_post = comments::table
        .inner_join(users::table)
        .filter(comments::post_id.eq(post))
        .select((CommentRow::as_select(), SummaryRow::as_select()));
    Ok(queries::load!(on_post, comments, slice, conn)?)
}
