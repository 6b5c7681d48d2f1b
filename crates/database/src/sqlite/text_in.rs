//! The index of the products' texts, asked for a text.

use diesel::BoxableExpression;
use diesel::dsl::sql;
use diesel::sql_types::{Bool, Text};
use diesel::sqlite::Sqlite;

use crate::schema::products;
use crate::values::TextFilter;

/// What is asked of a product.
type Condition = Box<dyn BoxableExpression<products::table, Sqlite, SqlType = Bool>>;

/// Returns whether a product may have a text in it: the index of FTS5 has all of the text's sequences of characters for it.
pub(crate) fn may_have_text(text: &TextFilter) -> Condition {
    const FOUND: &str = "products.id IN (SELECT product_id FROM product_documents WHERE number IN (SELECT ";
    let found = sql::<Bool>(FOUND);
    match text.ngrams.as_slice() {
        // Shorter than those of the index, of which some begin with it.
        [short] if short.chars().count() < 3 => {
            let last = format!("{short}{0}{0}", char::MAX);
            let from = found.sql("doc FROM product_ngrams WHERE term >= ").bind::<Text, _>(short.clone());
            Box::new(from.sql(" AND term <= ").bind::<Text, _>(last).sql("))"))
        }
        ngrams => {
            let quoted: Vec<_> = ngrams.iter().map(|ngram| format!("\"{}\"", ngram.replace('"', "\"\""))).collect();
            let matching = found.sql("rowid FROM product_search WHERE product_search MATCH ");
            Box::new(matching.bind::<Text, _>(quoted.join(" AND ")).sql("))"))
        }
    }
}
