//! The postings of words with a prefix.

use diesel::{BoolExpressionMethods, ExpressionMethods, QueryDsl};

use super::dialect::{Conn, RunQueryDsl, number_in};
use crate::error::Outcome;
use crate::schema::search_postings;

/// Returns at most `most` postings in some buckets, each with its bucket, of the words `from <= word < until`.
pub(crate) async fn postings_between(
    conn: &mut Conn<'_>,
    kind: i16,
    buckets: Vec<i64>,
    [from, until]: [String; 2],
    most: i64,
) -> Outcome<Vec<(i64, Vec<u8>)>> {
    let between = search_postings::table
        .filter(search_postings::kind.eq(kind))
        .filter(number_in(search_postings::bucket, buckets))
        .filter(search_postings::word.ge(from).and(search_postings::word.lt(until)));
    let columns = (search_postings::bucket, search_postings::documents);
    Ok(between.select(columns).limit(most).load(conn).await?)
}
