//! The index of the products' texts, asked for a text.

use diesel::{
    QueryResult,
    expression::{AppearsOnTable, Expression, SelectableExpression, ValidGrouping},
    pg::Pg,
    query_builder::{AstPass, QueryFragment, QueryId},
    sql_types::{Array, Bool, Text},
};

use crate::{schema::products, values::TextFilter};

/// Whether the index has all sequences of characters of a text for `products.id`. It is asked for all products that it has
/// them for, in whatever order these are listed: it knows of no order.
#[derive(Debug, Clone, QueryId, ValidGrouping)]
pub(crate) struct TextIn(Vec<String>);

/// Whether a product may have a text in it: it has all of the text's sequences of characters.
pub(crate) fn may_have_text(text: &TextFilter) -> TextIn {
    TextIn(text.ngrams.clone())
}

impl Expression for TextIn {
    type SqlType = Bool;
}

impl<Source> AppearsOnTable<Source> for TextIn where products::id: AppearsOnTable<Source> {}

impl<Source> SelectableExpression<Source> for TextIn where products::id: SelectableExpression<Source> {}

impl QueryFragment<Pg> for TextIn {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        QueryFragment::<Pg>::walk_ast(&products::id, out.reborrow())?;
        out.push_sql(" IN (SELECT p.id FROM products p WHERE agora_ngrams(p.search_key) @> ");
        out.push_bind_param::<Array<Text>, _>(&self.0)?;
        // Without it, the planner may walk the list's order instead, and look at every product on the way.
        out.push_sql(" OFFSET 0)");
        Ok(())
    }
}
