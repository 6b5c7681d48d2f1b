//! The condition that a text contains the needles of a search.

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::expression::{ValidGrouping, is_aggregate};
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{Bool, HasSqlType, Text};
use diesel::sqlite::Sqlite;

use crate::expression::expression;

/// The condition that a column contains each of some texts, compared bytewise.
#[derive(Debug, Clone)]
pub(crate) struct Contains<C> {
    column: C,
    needles: Vec<String>,
}

impl<C> Contains<C> {
    /// Creates the condition. Empty texts, which every text contains, pad the needles to a power of two: a statement is prepared
    /// for each number of needles.
    pub(crate) fn new(column: C, needles: &[String]) -> Self {
        let mut needles = needles.to_vec();
        needles.resize(needles.len().next_power_of_two(), String::new());
        Self { column, needles }
    }
}

// The SQL depends on the number of needles.
impl<C> QueryId for Contains<C> {
    type QueryId = ();

    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<C> ValidGrouping<()> for Contains<C> {
    type IsAggregate = is_aggregate::No;
}

expression! { [C] Contains<C>: Bool, of C }

impl<C> Contains<C> {
    fn push<'b, DB>(&'b self, out: &mut AstPass<'_, 'b, DB>, position: &str) -> QueryResult<()>
    where
        C: QueryFragment<DB>,
        DB: Backend + HasSqlType<Text>,
        String: ToSql<Text, DB>,
    {
        out.push_sql("(");
        for (n, needle) in self.needles.iter().enumerate() {
            out.push_sql(if n == 0 { "" } else { " AND " });
            out.push_sql(position);
            out.push_sql("(");
            self.column.walk_ast(out.reborrow())?;
            out.push_sql(", ");
            out.push_bind_param::<Text, _>(needle)?;
            out.push_sql(") > 0");
        }
        out.push_sql(")");
        Ok(())
    }
}

impl<C: QueryFragment<Sqlite>> QueryFragment<Sqlite> for Contains<C> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        self.push(&mut out, "instr")
    }
}

impl<C: QueryFragment<Pg>> QueryFragment<Pg> for Contains<C> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        self.push(&mut out, "strpos")
    }
}
