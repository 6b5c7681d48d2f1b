//! Packing of texts into buckets, and removal of deleted ones from buckets.

use agora_domain::search::Kind;
use diesel::dsl::{exists, max, not, sql};
use diesel::sql_types::{BigInt, Text};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper, define_sql_function,
};

use super::{Conn, RunQueryDsl, is_packed, lock_oldest_unpacked, number_in, try_lock_buckets, word_in};
use crate::error::Outcome;
use crate::feeds::limit;
use crate::schema::{search_buckets, search_deletions, search_postings, search_tail, search_texts};
use crate::search_index::{BUCKET, PackedBucket, Packing, PostingRow, kind_code, remove_documents};
use crate::sql_types::DbInstant;

/// The maximum number of postings that one statement inserts or deletes.
const POSTINGS_BATCH: usize = 1_000;

/// Returns the number that the next bucket of a kind will get.
pub(super) async fn next_number(conn: &mut Conn<'_>, kind: Kind) -> Outcome<i64> {
    let of_kind = search_buckets::table.filter(search_buckets::kind.eq(kind_code(kind)));
    let last: Option<i64> = of_kind.select(max(search_buckets::bucket)).get_result(conn).await?;
    Ok(last.map_or(0, |last| last + 1))
}

define_sql_function! {
    /// Returns the number of bytes of a text.
    fn octet_length(text: Text) -> Integer
}

/// Returns the sizes in bytes of a kind's texts in the tail, the oldest first, for at most twice the texts of a bucket.
async fn tail_sizes(conn: &mut Conn<'_>, kind: Kind, packing: Packing) -> Outcome<Vec<i64>> {
    let tail = search_tail::table
        .filter(search_tail::kind.eq(kind_code(kind)))
        .order((search_tail::created_at, search_tail::id))
        .limit(2 * packing.documents)
        .select(octet_length(search_tail::words));
    let sizes: Vec<i32> = tail.load(conn).await?;
    Ok(sizes.into_iter().map(i64::from).collect())
}

/// Returns the number of texts of a kind to pack next: 0 unless the tail has twice the texts or bytes of a bucket.
pub(crate) async fn count_to_pack(conn: &mut Conn<'_>, kind: Kind, packing: Packing) -> Outcome<i64> {
    let sizes = tail_sizes(conn, kind, packing).await?;
    if limit(sizes.len()) < 2 * packing.documents && sizes.iter().sum::<i64>() < 2 * packing.bytes {
        return Ok(0);
    }
    let mut bytes = 0;
    let fitting = sizes.into_iter().take_while(|size| {
        bytes += size;
        bytes <= packing.bytes
    });
    Ok(limit(fitting.count()).clamp(1, packing.documents))
}

/// Moves at most `count` of the oldest texts in the tail of a kind into a new bucket, unless another transaction is packing.
pub(crate) async fn pack(conn: &mut Conn<'_>, kind: Kind, count: i64) -> Outcome<()> {
    if !try_lock_buckets(conn).await? {
        return Ok(());
    }
    let number = next_number(conn, kind).await?;
    let oldest = lock_oldest_unpacked(conn, kind_code(kind), count).await?;
    let packed = PackedBucket::of(kind, number, oldest);
    let Some(PackedBucket { row, postings, ids }) = packed else { return Ok(()) };
    let (kind, newest_at, first) = (row.kind, row.newest_at, row.bucket * BUCKET);
    let moved = || {
        let tail = search_tail::table.filter(search_tail::kind.eq(kind)).filter(search_tail::created_at.le(newest_at));
        tail.filter(is_packed(&row, &ids))
    };
    // diesel has window functions, but cannot add to their results.
    let number = sql::<BigInt>(&format!("{first} - 1 + row_number() OVER (ORDER BY created_at, id)"));
    let documents = (search_tail::kind, number, search_tail::created_at, search_tail::id, search_tail::words);
    let columns = {
        use search_texts::{created_at, document, id, kind, words};
        (kind, document, created_at, id, words)
    };
    let moving = diesel::insert_into(search_texts::table).values(moved().select(documents)).into_columns(columns);
    moving.execute(conn).await?;
    diesel::delete(moved()).execute(conn).await?;
    diesel::insert_into(search_buckets::table).values(&row).execute(conn).await?;
    insert_postings(conn, &postings).await?;
    // The previous bucket is no longer the last, and is deleted if empty.
    delete_empty(conn, kind, row.bucket - 1).await
}

/// The rows of a table that belong to a bucket, by their document numbers.
macro_rules! of_bucket {
    ($table:ident, $kind:expr, $bucket:expr) => {
        $table::table
            .filter($table::kind.eq($kind))
            .filter($table::document.ge($bucket * BUCKET))
            .filter($table::document.lt(($bucket + 1) * BUCKET))
    };
}

/// Returns the kind and number of a bucket whose postings contain a document that was deleted before an instant.
pub(crate) async fn find_deletion(conn: &mut Conn<'_>, before: DbInstant) -> Outcome<Option<(i16, i64)>> {
    let first = search_deletions::table
        .filter(search_deletions::deleted_at.lt(before))
        .order(search_deletions::deleted_at)
        .limit(1)
        .select((search_deletions::kind, search_deletions::document));
    let first: Option<(i16, i64)> = first.get_result(conn).await.optional()?;
    Ok(first.map(|(kind, document)| (kind, document / BUCKET)))
}

/// Removes the documents of a bucket that were deleted before an instant from its postings. Returns `false`, and changes nothing,
/// if another transaction is changing buckets.
pub(crate) async fn forget(conn: &mut Conn<'_>, (kind, bucket): (i16, i64), before: DbInstant) -> Outcome<bool> {
    if !try_lock_buckets(conn).await? {
        return Ok(false);
    }
    let deletions = of_bucket!(search_deletions, kind, bucket).filter(search_deletions::deleted_at.lt(before));
    let deleted: Vec<i64> = deletions.select(search_deletions::document).load(conn).await?;
    let of_bucket =
        || search_postings::table.filter(search_postings::kind.eq(kind)).filter(search_postings::bucket.eq(bucket));
    let postings: Vec<PostingRow> = of_bucket().select(PostingRow::as_select()).load(conn).await?;
    let (words, left) = remove_documents(postings, &deleted);
    for words in words.chunks(POSTINGS_BATCH) {
        diesel::delete(of_bucket().filter(word_in(search_postings::word, words.to_vec()))).execute(conn).await?;
    }
    insert_postings(conn, &left).await?;
    let removed = search_deletions::table.filter(search_deletions::kind.eq(kind));
    let removed = removed.filter(number_in(search_deletions::document, deleted));
    diesel::delete(removed).execute(conn).await?;
    delete_empty(conn, kind, bucket).await?;
    Ok(true)
}

/// Deletes a bucket if it is empty, except the last one, so that no bucket number is used twice.
async fn delete_empty(conn: &mut Conn<'_>, kind: i16, bucket: i64) -> Outcome<()> {
    let has_texts = exists(of_bucket!(search_texts, kind, bucket));
    let has_deletions = exists(of_bucket!(search_deletions, kind, bucket));
    let later = search_buckets::table.filter(search_buckets::kind.eq(kind)).filter(search_buckets::bucket.gt(bucket));
    let is_kept = diesel::select(has_texts.or(has_deletions).or(not(exists(later))));
    if !is_kept.get_result::<bool>(conn).await? {
        diesel::delete(search_buckets::table.find((kind, bucket))).execute(conn).await?;
    }
    Ok(())
}

async fn insert_postings(conn: &mut Conn<'_>, postings: &[PostingRow]) -> Outcome<()> {
    for postings in postings.chunks(POSTINGS_BATCH) {
        diesel::insert_into(search_postings::table).values(postings).execute(conn).await?;
    }
    Ok(())
}

/// Deletes all texts and buckets.
pub(crate) async fn clear(conn: &mut Conn<'_>) -> Outcome<()> {
    diesel::delete(search_postings::table).execute(conn).await?;
    diesel::delete(search_buckets::table).execute(conn).await?;
    diesel::delete(search_texts::table).execute(conn).await?;
    diesel::delete(search_tail::table).execute(conn).await?;
    // Last, since each deletion of a text was recorded there.
    diesel::delete(search_deletions::table).execute(conn).await?;
    Ok(())
}

/// Returns the number of buckets, and the sorted words of all buckets: a word occurs once for each bucket that has it.
#[cfg(test)]
pub(crate) async fn list_words(conn: &mut Conn<'_>) -> Outcome<(i64, Vec<String>)> {
    let buckets = search_buckets::table.count().get_result(conn).await?;
    let words = search_postings::table.order(search_postings::word).select(search_postings::word).load(conn).await?;
    Ok((buckets, words))
}
