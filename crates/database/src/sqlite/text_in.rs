//! The index of the products' texts, asked for a text.

use diesel::QueryResult;
use diesel::expression::{AppearsOnTable, Expression, SelectableExpression, ValidGrouping};
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{Bool, Text};
use diesel::sqlite::Sqlite;

use crate::schema::products;
use crate::values::TextFilter;

/// Whether the index of FTS5 has all sequences of characters of a text for `products.id`.
#[derive(Debug, Clone, QueryId, ValidGrouping)]
pub(crate) enum TextIn {
    /// An expression of FTS5.
    Matching(String),
    /// A sequence of fewer characters than those of the index, of which some begin with it, and what comes after the last
    /// one that does.
    Beginning(String, String),
}

/// Returns whether a product may have a text in it: it has all of the text's sequences of characters.
pub(crate) fn may_have_text(text: &TextFilter) -> TextIn {
    match text.ngrams.as_slice() {
        [short] if short.chars().count() < 3 => TextIn::Beginning(short.clone(), format!("{short}{0}{0}", char::MAX)),
        ngrams => {
            let quoted: Vec<_> = ngrams.iter().map(|ngram| format!("\"{}\"", ngram.replace('"', "\"\""))).collect();
            TextIn::Matching(quoted.join(" AND "))
        }
    }
}

impl Expression for TextIn {
    type SqlType = Bool;
}

impl<Source> AppearsOnTable<Source> for TextIn where products::id: AppearsOnTable<Source> {}

impl<Source> SelectableExpression<Source> for TextIn where products::id: SelectableExpression<Source> {}

impl QueryFragment<Sqlite> for TextIn {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.unsafe_to_cache_prepared();
        QueryFragment::<Sqlite>::walk_ast(&products::id, out.reborrow())?;
        out.push_sql(" IN (SELECT product_id FROM product_documents WHERE number IN (SELECT ");
        match self {
            Self::Matching(query) => {
                out.push_sql("rowid FROM product_search WHERE product_search MATCH ");
                out.push_bind_param::<Text, _>(query)?;
            }
            Self::Beginning(first, last) => {
                out.push_sql("doc FROM product_ngrams WHERE term >= ");
                out.push_bind_param::<Text, _>(first)?;
                out.push_sql(" AND term <= ");
                out.push_bind_param::<Text, _>(last)?;
            }
        }
        out.push_sql("))");
        Ok(())
    }
}
