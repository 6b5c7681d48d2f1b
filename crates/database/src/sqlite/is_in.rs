//! A list of values as one parameter.

use std::fmt::Write;

use diesel::expression::ValidGrouping;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{Bool, Text};
use diesel::sqlite::Sqlite;
use diesel::{Expression, QueryResult};

use crate::expression::expression;
use crate::schema::posts;
use crate::sql_types::{DbId, Id};

/// The condition that a column is one of a list. With a parameter for each value, there would be another statement for each
/// length, prepared again at each execution.
#[derive(Debug, Clone, QueryId, ValidGrouping)]
pub(crate) struct IsIn<C> {
    column: C,
    /// The SQL for a value of the column, made from `value`, the element of the array.
    value: &'static str,
    /// The values, as an array in JSON.
    list: String,
}

/// Returns whether `posts.id` is one of these.
pub(crate) fn post_in(ids: Vec<DbId>) -> IsIn<posts::id> {
    id_in(posts::id, ids)
}

/// Returns whether a column is one of these.
pub(crate) fn id_in<C: Expression<SqlType = Id>>(column: C, ids: Vec<DbId>) -> IsIn<C> {
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
    IsIn { column, value: "unhex(value)", list }
}

/// Returns whether a column is one of these.
pub(crate) fn number_in<C: Expression>(column: C, numbers: Vec<i64>) -> IsIn<C> {
    IsIn { column, value: "value", list: serde_json::Value::from(numbers).to_string() }
}

/// Returns whether a column is one of these.
pub(crate) fn word_in<C: Expression<SqlType = Text>>(column: C, words: Vec<String>) -> IsIn<C> {
    IsIn { column, value: "value", list: serde_json::Value::from(words).to_string() }
}

expression! { [C] IsIn<C>: Bool, of C }

impl<C: QueryFragment<Sqlite>> QueryFragment<Sqlite> for IsIn<C> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        self.column.walk_ast(out.reborrow())?;
        out.push_sql(" IN (SELECT ");
        out.push_sql(self.value);
        out.push_sql(" FROM json_each(");
        out.push_bind_param::<Text, _>(&self.list)?;
        out.push_sql("))");
        Ok(())
    }
}
