//! Whether a text has what is looked for in it.

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::expression::{ValidGrouping, is_aggregate};
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{Bool, HasSqlType, Text};
use diesel::sqlite::Sqlite;

use crate::expression::expression;
use crate::schema::search_texts;

/// Whether `search_texts.words` contains each of some texts, by their bytes.
#[derive(Debug, Clone)]
pub(crate) struct Contains(Vec<String>);

impl Contains {
    /// Empty texts, which are everywhere, fill up to a power of two: a statement is prepared for each number of them.
    pub(crate) fn new(needles: &[String]) -> Self {
        let mut needles = needles.to_vec();
        needles.resize(needles.len().next_power_of_two(), String::new());
        Self(needles)
    }
}

// Its text is not always the same.
impl QueryId for Contains {
    type QueryId = ();

    const HAS_STATIC_QUERY_ID: bool = false;
}

impl ValidGrouping<()> for Contains {
    type IsAggregate = is_aggregate::No;
}

expression! { Contains: Bool, of search_texts::words }

impl Contains {
    fn push<'b, DB>(&'b self, out: &mut AstPass<'_, 'b, DB>, position: &str) -> QueryResult<()>
    where
        DB: Backend + HasSqlType<Text>,
        String: ToSql<Text, DB>,
    {
        out.push_sql("(");
        for (n, needle) in self.0.iter().enumerate() {
            let and = if n == 0 { "" } else { " AND " };
            out.push_sql(&format!("{and}{position}(search_texts.words, "));
            out.push_bind_param::<Text, _>(needle)?;
            out.push_sql(") > 0");
        }
        out.push_sql(")");
        Ok(())
    }
}

impl QueryFragment<Sqlite> for Contains {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        self.push(&mut out, "instr")
    }
}

impl QueryFragment<Pg> for Contains {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        self.push(&mut out, "strpos")
    }
}
