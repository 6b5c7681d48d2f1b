//! A search for a text in the index of the products' texts.

use diesel::BoxableExpression;
use diesel::dsl::sql;
use diesel::sql_types::{Bool, Text};
use diesel::sqlite::Sqlite;

use crate::schema::products;
use crate::values::TextFilter;

/// A condition on products.
type Condition = Box<dyn BoxableExpression<products::table, Sqlite, SqlType = Bool>>;

/// Returns the condition that a product may contain a text: the FTS5 index has all of the text's n-grams for it.
pub(crate) fn may_have_text(text: &TextFilter) -> Condition {
    const FOUND: &str = "products.id IN (SELECT product_id FROM product_documents WHERE number IN (SELECT ";
    let found = sql::<Bool>(FOUND);
    match text.ngrams.as_slice() {
        // A prefix of n-grams in the index, which have three characters.
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
