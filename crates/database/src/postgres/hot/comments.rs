use agora_domain::Error;
use agora_domain::error::Resource;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::{BothWays, Columns};
use crate::error::{Failure, Outcome};
use crate::postgres::Postgres;
use crate::postgres::pipeline::PreparedSql;
use crate::rows::{After, CommentRow, Slice, SummaryRow};
use crate::sql_types::DbId;

macro_rules! list {
    ($than:literal, $order:literal) => {
        concat!(
            "SELECT c.id, c.post_id, c.author_id, c.content, c.created_at, c.updated_at, u.username, u.email \
            FROM (SELECT * FROM comments WHERE post_id = $1 AND created_at ",
            concat!($than, "= $2 AND (created_at ", $than, " $2 OR id ", $than, " $3) "),
            concat!("ORDER BY created_at", $order, ", id", $order, " LIMIT $4) c "),
            concat!("JOIN users u ON u.id = c.author_id ORDER BY c.created_at", $order, ", c.id", $order)
        )
    };
}

pub(super) static LIST: BothWays = both_ways!(list, &[Type::UUID, Type::TIMESTAMPTZ, Type::UUID, Type::INT8]);

pub(crate) async fn list(database: &Postgres, post: DbId, slice: Slice) -> Outcome<Vec<(CommentRow, SummaryRow)>> {
    let Slice { toward, after: After(at, id), limit } = slice;
    let rows = database.lists.query(LIST.toward(toward), &[&post, &at, &id, &limit]).await?;
    rows.iter().map(comment).collect()
}

fn comment(row: &Row) -> Outcome<(CommentRow, SummaryRow)> {
    let mut columns = Columns::of(row);
    let comment = CommentRow {
        id: columns.take()?,
        post_id: columns.take()?,
        author_id: columns.take()?,
        content: columns.take()?,
        created_at: columns.take()?,
        updated_at: columns.take()?,
    };
    let author = SummaryRow { id: comment.author_id, username: columns.take()?, email: columns.take()? };
    Ok((comment, author))
}

static INSERT: PreparedSql = PreparedSql {
    sql: "WITH post AS (UPDATE posts SET comment_count = comment_count + 1 WHERE id = $1 AND deleted_at IS NULL RETURNING id) \
        INSERT INTO comments (id, post_id, author_id, content, created_at, updated_at) \
        SELECT $2, id, $3, $4, $5, $6 FROM post RETURNING id",
    types: &[Type::UUID, Type::UUID, Type::UUID, Type::TEXT, Type::TIMESTAMPTZ, Type::TIMESTAMPTZ],
};

pub(crate) async fn insert(database: &Postgres, row: CommentRow) -> Outcome<()> {
    let CommentRow { id, post_id, author_id, content, created_at, updated_at } = &row;
    let values: [&(dyn ToSql + Sync); 6] = [post_id, id, author_id, content, created_at, updated_at];
    let made = database.exclusive.query(&INSERT, &values).await?;
    if made.is_empty() { Err(Failure::Rule(Error::NotFound(Resource::Post))) } else { Ok(()) }
}
