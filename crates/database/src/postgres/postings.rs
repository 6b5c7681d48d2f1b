//! The postings of words with a prefix, in SQL that diesel cannot express.

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{Array, BigInt, Binary, SmallInt, Text};

use super::dialect::{Conn, RunQueryDsl};
use super::statement::statement;
use crate::error::Outcome;

// Bucket by bucket: otherwise the server would go through these words in all buckets.
statement! { PostingsBetween { kind: i16, buckets: Vec<i64>, from: String, until: String, most: i64 } -> (BigInt, Binary):
    "SELECT b, p.documents FROM unnest(" buckets as Array<BigInt>,
    ") b CROSS JOIN LATERAL (SELECT documents FROM search_postings WHERE kind = " kind as SmallInt,
    " AND bucket = b AND word >= " from as Text, " AND word < " until as Text, " OFFSET 0) p LIMIT " most as BigInt
}

/// Returns at most `most` postings in some buckets, each with its bucket, of the words `from <= word < until`.
pub(crate) async fn postings_between(
    conn: &mut Conn<'_>,
    kind: i16,
    buckets: Vec<i64>,
    [from, until]: [String; 2],
    most: i64,
) -> Outcome<Vec<(i64, Vec<u8>)>> {
    Ok(PostingsBetween { kind, buckets, from, until, most }.load(conn).await?)
}
