use agora_domain::error::Resource;
use diesel::{BoolExpressionMethods, ExpressionMethods, QueryDsl, SelectableHelper};

use super::{Conn, RunQueryDsl, queries};
use crate::{
    error::{Failure, Outcome},
    rows::{CommentRow, Slice, SummaryRow},
    schema::{comments, posts, users},
    sql_types::DbId,
};

pub(crate) async fn insert(conn: &mut Conn, row: CommentRow) -> Outcome<()> {
    let post = row.post_id;
    diesel::insert_into(comments::table).values(row).execute(conn).await.map_err(Failure::missing(Resource::Post))?;
    diesel::update(posts::table.find(post))
        .set(posts::comment_count.eq(posts::comment_count + 1))
        .execute(conn)
        .await?;
    Ok(())
}

pub(crate) async fn list(conn: &mut Conn, post: DbId, slice: Slice) -> Outcome<Vec<(CommentRow, SummaryRow)>> {
    let on_post = comments::table
        .inner_join(users::table)
        .filter(comments::post_id.eq(post))
        .select((CommentRow::as_select(), SummaryRow::as_select()));
    Ok(queries::load!(on_post, comments, slice, conn)?)
}
