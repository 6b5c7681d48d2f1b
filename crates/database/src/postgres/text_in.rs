//! A search for a text in the index of the products' texts.

use diesel::QueryResult;
use diesel::expression::ValidGrouping;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{Bool, Text};

use crate::expression::expression;
use crate::schema::products;
use crate::values::TextFilter;

/// The condition that the index matches a `tsquery` for `products.id`. The index returns all products that match, whatever the
/// order of the list, since it has no order.
#[derive(Debug, Clone, QueryId, ValidGrouping)]
pub(crate) struct TextIn(String);

/// Returns the condition that a product may contain a text: it has all of the text's n-grams.
pub(crate) fn may_have_text(text: &TextFilter) -> TextIn {
    let quoted = |ngram: &String| format!("'{}'", ngram.replace('\\', "\\\\").replace('\'', "''"));
    match text.ngrams.as_slice() {
        // A prefix of n-grams in the index, which have three characters.
        [short] if short.chars().count() < 3 => TextIn(format!("{}:*", quoted(short))),
        ngrams => TextIn(ngrams.iter().map(quoted).collect::<Vec<_>>().join(" & ")),
    }
}

expression! { TextIn: Bool, of products::id }

impl QueryFragment<Pg> for TextIn {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        QueryFragment::<Pg>::walk_ast(&products::id, out.reborrow())?;
        out.push_sql(" IN (SELECT p.id FROM products p WHERE agora_trigrams(p.search_key) @@ CAST(");
        out.push_bind_param::<Text, _>(&self.0)?;
        // Without the offset, the planner may walk the list in its order instead, and check every product on the way.
        out.push_sql(" AS tsquery) OFFSET 0)");
        Ok(())
    }
}
