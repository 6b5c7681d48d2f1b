//! The index of the products' texts, asked for a text.

use diesel::QueryResult;
use diesel::expression::ValidGrouping;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{Bool, Text};

use crate::expression::expression;
use crate::schema::products;
use crate::values::TextFilter;

/// Whether the index matches a `tsquery` for `products.id`. It is asked for all products that it matches, in whatever order
/// these are listed: it knows of no order.
#[derive(Debug, Clone, QueryId, ValidGrouping)]
pub(crate) struct TextIn(String);

/// Returns whether a product may have a text in it: it has all of the text's sequences of characters.
pub(crate) fn may_have_text(text: &TextFilter) -> TextIn {
    let quoted = |ngram: &String| format!("'{}'", ngram.replace('\\', "\\\\").replace('\'', "''"));
    match text.ngrams.as_slice() {
        // Some of the index begin with it.
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
        // Without an offset, the planner may walk the list's order instead, and look at every product on the way.
        out.push_sql(" AS tsquery) OFFSET 0)");
        Ok(())
    }
}
