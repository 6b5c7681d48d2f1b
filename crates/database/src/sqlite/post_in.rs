//! A list of identifiers as one parameter.

use std::fmt::Write;

use diesel::QueryResult;
use diesel::expression::ValidGrouping;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{Bool, Text};
use diesel::sqlite::Sqlite;

use crate::expression::expression;
use crate::schema::posts;
use crate::sql_types::DbId;

/// Whether `posts.id` is one of a list. A list of parameters would make another statement for each length, and each
/// would be prepared anew at each execution.
#[derive(Debug, Clone, QueryId, ValidGrouping)]
pub(crate) struct PostIn(String);

/// Returns whether `posts.id` is one of these.
pub(crate) fn post_in(ids: Vec<DbId>) -> PostIn {
    let mut list = String::with_capacity(2 + ids.len() * 35);
    for id in ids {
        let separator = if list.is_empty() { '[' } else { ',' };
        // Writing to a string does not fail.
        let _ = write!(list, "{separator}\"{}\"", id.0.simple());
    }
    if list.is_empty() {
        list.push('[');
    }
    list.push(']');
    PostIn(list)
}

expression! { PostIn: Bool, of posts::id }

impl QueryFragment<Sqlite> for PostIn {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        QueryFragment::<Sqlite>::walk_ast(&posts::id, out.reborrow())?;
        out.push_sql(" IN (SELECT unhex(value) FROM json_each(");
        out.push_bind_param::<Text, _>(&self.0)?;
        out.push_sql("))");
        Ok(())
    }
}
