//! Texts by which things are found, and the buckets of them.

use std::collections::{HashMap, HashSet};

use agora_domain::accounts::{DisplayName, Username};
use agora_domain::posts::{PostText, PostView, Visibility};
use agora_domain::products::Product;
use agora_domain::search::{IndexedText, Kind, Needles, Unindexed, UnindexedContent};
use diesel::dsl::{exists, max, not, sql};
use diesel::sql_types::{BigInt, Bool, Nullable, Text};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, IntoSql, NullableExpressionMethods, OptionalExtension, QueryDsl,
    SelectableHelper, define_sql_function,
};
use uuid::Uuid;

use super::views::{author_followed_by, bookmarked_by, liked_by, view};
use super::{
    Conn, RunQueryDsl, built, id_in, is_packed, likers, lock_oldest, lock_packing, number_in, post_in,
    postings_between, with_likers, word_in,
};
use crate::apart::{DbViewer, apart_users, left_out};
use crate::error::Outcome;
use crate::feeds::limit;
use crate::product_rows::ProductRows;
use crate::rows::{After, AuthorRow, PostRow, Slice, Toward, visibility_code};
use crate::schema::{
    ProductRow, posts, products, search_buckets, search_deletions, search_postings, search_tail, search_texts, users,
};
use crate::search_index::{
    Among, BUCKET, BucketPlace, BucketRow, Buckets, Chunk, Contains, Looked, PackedBucket, Packing, Posting,
    PostingRow, TextRow, beyond, kind_code, narrow, without,
};
use crate::sql_types::{DbId, DbInstant};

/// How many words a search is narrowed down by at most: the rows have the last word.
const WORDS: usize = 8;

/// How many words that begin with something are asked for at most. Where there are more, they narrow down little.
const BEGINNINGS: i64 = 20_000;

/// How many rows a statement adds at most.
const AT_ONCE: usize = 1_000;

/// The rule of which posts a viewer finds, whose authors are there as well.
macro_rules! is_found {
    ($viewer:expr) => {{
        let is = |visibility| posts::visibility.eq(visibility_code(visibility));
        let shown = is(Visibility::Public).or(is(Visibility::Followers).and(author_followed_by($viewer.id)));
        let of_others = users::searchable.and(users::enabled).and($viewer.sees_all.into_sql::<Bool>().or(shown));
        let of_others = of_others.and(not(left_out($viewer, apart_users($viewer))));
        posts::deleted_at.is_null().and(posts::author_id.eq($viewer.id).or(of_others))
    }};
}

/// Texts of a kind in a table, and whether one is found: NULL where it is of what is gone. That is asked for each text by itself, where
/// PostgreSQL would read all accounts there are, and all texts before it has the first.
macro_rules! texts {
    ($table:ident, $among:expr, |$texts:ident, $is_found:ident| $do:expr) => {{
        let $texts = $table::table.filter($table::kind.eq(kind_code($among.kind())));
        match $among {
            Among::Posts { viewer } => {
                let post = posts::table.inner_join(users::table).filter(posts::id.eq($table::id));
                let $is_found = post.select(is_found!(viewer)).single_value();
                $do
            }
            Among::Accounts { viewer, except } => {
                let is_shown = viewer.sees_all.into_sql::<Bool>().or(users::discoverable);
                let is_shown = is_shown.and(not(apart_users(viewer)));
                let is_shown = users::id.ne(except).and(users::enabled.and(is_shown));
                let $is_found = users::table.filter(users::id.eq($table::id)).select(is_shown).single_value();
                $do
            }
            Among::Products => {
                let $is_found = true.into_sql::<Nullable<Bool>>();
                $do
            }
        }
    }};
}

/// Returns what is found of a part of the list among what is in no bucket.
pub(crate) async fn tail(
    conn: &mut Conn<'_>,
    among: Among,
    contains: Contains<search_tail::words>,
    slice: Slice,
) -> Outcome<Vec<(DbInstant, DbId)>> {
    Ok(texts!(search_tail, among, |texts, is_found| {
        let tail = texts.filter(contains).filter(is_found);
        super::load!(tail.select((search_tail::created_at, search_tail::id)), search_tail, slice, conn)?
    }))
}

/// Returns what some buckets have, from a position on, of what is looked for.
pub(crate) async fn candidates(
    conn: &mut Conn<'_>,
    kind: Kind,
    Needles { mut keys, prefix, .. }: Needles,
    slice: Slice,
    buckets: Buckets,
) -> Outcome<Chunk> {
    // Long words are rarer.
    keys.sort_unstable_by_key(|key| std::cmp::Reverse(key.len()));
    keys.truncate(WORDS);
    let of_kind = search_buckets::table.filter(search_buckets::kind.eq(kind_code(kind)));
    let (rows, is_more, next) = match buckets {
        Buckets::Numbered(numbers) => {
            let numbered = of_kind.filter(number_in(search_buckets::bucket, numbers));
            (beyond(built(numbered.select(BucketRow::as_select())).load(conn).await?, slice), false, None)
        }
        Buckets::Since(first) => {
            let since = of_kind.filter(search_buckets::bucket.ge(first)).select(BucketRow::as_select());
            (beyond(since.load(conn).await?, slice), false, None)
        }
        Buckets::Next(after, most) => {
            // Before the rows: what is made in between is looked at twice, and not missed.
            let next = if after.is_none() { Some(next_number(conn, kind).await?) } else { None };
            let rows = next_buckets(conn, kind, slice, after, most).await?;
            let is_more = limit(rows.len()) == most;
            (rows, is_more, next)
        }
    };
    let found: Vec<Posting> = match rows.iter().map(|row| row.bucket).collect::<Vec<_>>() {
        numbers if numbers.is_empty() || keys.is_empty() => Vec::new(),
        numbers => {
            let of_words = search_postings::table
                .filter(search_postings::kind.eq(kind_code(kind)))
                .filter(number_in(search_postings::bucket, numbers))
                .filter(word_in(search_postings::word, keys.clone()));
            let columns = (search_postings::bucket, search_postings::word, search_postings::documents);
            of_words.select(columns).load(conn).await?
        }
    };
    let (mut candidates, absent) = crate::search_index::candidates(rows, keys, found, slice.toward);
    let left = candidates.iter().filter(|bucket| !bucket.documents.is_empty()).map(|bucket| bucket.place.bucket);
    let left: Vec<i64> = left.collect();
    if let Some(prefix) = prefix.filter(|_| !left.is_empty()) {
        let words = [prefix.clone(), end_of(&prefix)];
        let rows = postings_between(conn, kind_code(kind), left, words, BEGINNINGS).await?;
        if limit(rows.len()) < BEGINNINGS {
            narrow(&mut candidates, rows);
        }
    }
    let last = candidates.last().map(|bucket| bucket.place).filter(|_| is_more);
    Ok(Chunk { candidates, last, absent, next })
}

/// Returns the number that the next bucket of a kind will have.
async fn next_number(conn: &mut Conn<'_>, kind: Kind) -> Outcome<i64> {
    let of_kind = search_buckets::table.filter(search_buckets::kind.eq(kind_code(kind)));
    let last: Option<i64> = of_kind.select(max(search_buckets::bucket)).get_result(conn).await?;
    Ok(last.map_or(0, |last| last + 1))
}

/// Returns the buckets that have the first rare one of some words, or a word with a prefix if there are few; `None` when
/// none of them is rare.
pub(crate) async fn rare_buckets(
    conn: &mut Conn<'_>,
    kind: Kind,
    keys: Vec<String>,
    prefix: Option<String>,
    rare: i64,
) -> Outcome<Option<Vec<i64>>> {
    let postings = || {
        let of_kind = search_postings::table.filter(search_postings::kind.eq(kind_code(kind)));
        of_kind.select(search_postings::bucket).limit(rare + 1)
    };
    let is_rare = |buckets: &Vec<i64>| limit(buckets.len()) <= rare;
    if let Some(prefix) = prefix {
        let within = search_postings::word.ge(&prefix).and(search_postings::word.lt(end_of(&prefix)));
        let buckets: Vec<i64> =
            postings().filter(within).order((search_postings::word, search_postings::bucket)).load(conn).await?;
        if is_rare(&buckets) {
            return Ok(Some(buckets));
        }
    }
    for key in keys {
        let buckets: Vec<i64> =
            postings().filter(search_postings::word.eq(key)).order(search_postings::bucket).load(conn).await?;
        if is_rare(&buckets) {
            return Ok(Some(buckets));
        }
    }
    Ok(None)
}

/// Returns what comes after every word with a prefix: no word has that character.
fn end_of(prefix: &str) -> String {
    format!("{prefix}{}", char::MAX)
}

/// Loads the next buckets, in a direction that the names of comparisons make up: in the order of the entries that are come
/// upon first, those that have some beyond a position.
macro_rules! next_buckets {
    ($kind:ident, $slice:ident, $after:ident, $most:ident, $conn:ident, ($at:ident, $id:ident), ($last_at:ident, $last_id:ident),
        $within:ident, $beyond:ident, $order:ident, $begin:expr) => {{
        let After(instant, id) = $slice.after;
        let BucketPlace { at, id: first, bucket } = $after.unwrap_or($begin);
        let has_some = search_buckets::$last_at
            .$within(instant)
            .and(search_buckets::$last_at.$beyond(instant).or(search_buckets::$last_id.$beyond(id)));
        let is_next = search_buckets::$id
            .$beyond(first)
            .or(search_buckets::$id.eq(first).and(search_buckets::bucket.$beyond(bucket)));
        let next = search_buckets::table
            .filter(search_buckets::kind.eq(kind_code($kind)))
            .filter(search_buckets::$at.$within(at).and(search_buckets::$at.$beyond(at).or(is_next)))
            .filter(has_some)
            .order((search_buckets::$at.$order(), search_buckets::$id.$order(), search_buckets::bucket.$order()))
            .limit($most)
            .select(BucketRow::as_select());
        built(next).load($conn).await?
    }};
}

async fn next_buckets(
    conn: &mut Conn<'_>,
    kind: Kind,
    slice: Slice,
    after: Option<BucketPlace>,
    most: i64,
) -> Outcome<Vec<BucketRow>> {
    let newest = BucketPlace { at: DbInstant::MAX, id: DbId(Uuid::max()), bucket: i64::MAX };
    let oldest = BucketPlace { at: DbInstant::MIN, id: DbId(Uuid::nil()), bucket: -1 };
    Ok(match slice.toward {
        Toward::Older => next_buckets!(
            kind,
            slice,
            after,
            most,
            conn,
            (newest_at, newest_id),
            (oldest_at, oldest_id),
            le,
            lt,
            desc,
            newest
        ),
        Toward::Newer => next_buckets!(
            kind,
            slice,
            after,
            most,
            conn,
            (oldest_at, oldest_id),
            (newest_at, newest_id),
            ge,
            gt,
            asc,
            oldest
        ),
    })
}

/// Looks at documents, of which some may be gone.
pub(crate) async fn look(
    conn: &mut Conn<'_>,
    among: Among,
    contains: Contains<search_texts::words>,
    numbers: Vec<i64>,
) -> Outcome<Vec<Looked>> {
    Ok(texts!(search_texts, among, |texts, is_found| {
        let (at, id, document) = (search_texts::created_at, search_texts::id, search_texts::document);
        let among = texts.filter(number_in(document, numbers));
        built(among.select((at, id, document, contains.nullable().and(is_found)))).load(conn).await?
    }))
}

/// Returns those of some posts that the viewer finds.
pub(crate) async fn posts(conn: &mut Conn<'_>, ids: Vec<DbId>, viewer: DbViewer) -> Outcome<Vec<PostView>> {
    let found = posts::table.inner_join(users::table).filter(post_in(ids)).filter(is_found!(viewer));
    let rows = built(found.select(view!(AuthorRow, viewer))).load(conn).await?;
    with_likers(conn, rows, viewer, AuthorRow::author).await
}

/// Stores the text of a thing that has none.
pub(crate) async fn insert(conn: &mut Conn<'_>, text: TextRow) -> Outcome<()> {
    // One row: a statement with several is prepared anew each time.
    diesel::insert_into(search_tail::table).values(text).execute(conn).await?;
    Ok(())
}

/// Stores the texts of things that have none.
pub(crate) async fn insert_all(conn: &mut Conn<'_>, texts: Vec<TextRow>) -> Outcome<()> {
    for texts in texts.chunks(AT_ONCE) {
        diesel::insert_into(search_tail::table).values(texts).execute(conn).await?;
    }
    Ok(())
}

/// Stores the texts of those of some things that have none, as when the text by which one was found was changed.
pub(crate) async fn renew(conn: &mut Conn<'_>, kind: Kind, mut texts: Vec<TextRow>) -> Outcome<()> {
    let claimed = claim(conn, kind, texts.iter().map(|text| text.id).collect()).await?;
    let claimed: HashSet<Uuid> = claimed.into_iter().map(|thing| thing.id).collect();
    texts.retain(|text| claimed.contains(&text.id.0));
    match <[TextRow; 1]>::try_from(texts) {
        Ok([text]) => insert(conn, text).await,
        Err(texts) => insert_all(conn, texts).await,
    }
}

/// Returns how many things have no text.
pub(crate) async fn count_unindexed(conn: &mut Conn<'_>) -> Outcome<i64> {
    let posts = posts::table.filter(not(posts::indexed)).filter(posts::deleted_at.is_null()).count();
    let posts: i64 = posts.get_result(conn).await?;
    let users: i64 = users::table.filter(not(users::indexed)).count().get_result(conn).await?;
    let products: i64 = products::table.filter(not(products::indexed)).count().get_result(conn).await?;
    Ok(posts + users + products)
}

/// A thing as it is read of its table.
type PostColumns = (DbId, DbInstant, String, DbId);
type AccountColumns = (DbId, DbInstant, String, Option<String>);

fn unindexed_post((id, at, text, author): PostColumns) -> Unindexed {
    let content = UnindexedContent::Post(PostText::restore(text), author.0.into());
    Unindexed { id: id.0, created_at: at.0, content }
}

fn unindexed_account((id, at, username, name): AccountColumns) -> Unindexed {
    let content = UnindexedContent::Account(Username::restore(username), name.map(DisplayName::restore));
    Unindexed { id: id.0, created_at: at.0, content }
}

fn unindexed_products(products: Vec<ProductRow>) -> Outcome<Vec<Unindexed>> {
    let found = ProductRows { products, ..ProductRows::default() }.products()?;
    let thing = |product: Product| Unindexed {
        id: product.id.uuid(),
        created_at: product.created_at,
        content: UnindexedContent::Product(Box::new(product)),
    };
    Ok(found.into_iter().map(thing).collect())
}

/// Returns the newest things of a kind that have no text.
pub(crate) async fn list_unindexed(conn: &mut Conn<'_>, kind: Kind, most: i64) -> Outcome<Vec<Unindexed>> {
    macro_rules! newest {
        ($table:ident, $rows:expr, $columns:expr) => {{
            let unindexed = $rows.filter(not($table::indexed)).order(($table::created_at.desc(), $table::id.desc()));
            unindexed.limit(most).select($columns).load(conn).await?
        }};
    }
    Ok(match kind {
        Kind::Post => {
            let columns = (posts::id, posts::created_at, posts::content, posts::author_id);
            let rows: Vec<PostColumns> = newest!(posts, posts::table.filter(posts::deleted_at.is_null()), columns);
            rows.into_iter().map(unindexed_post).collect()
        }
        Kind::Account => {
            let columns = (users::id, users::created_at, users::username, users::display_name);
            let rows: Vec<AccountColumns> = newest!(users, users::table, columns);
            rows.into_iter().map(unindexed_account).collect()
        }
        Kind::Product => unindexed_products(newest!(products, products::table, ProductRow::as_select()))?,
    })
}

/// Has the rows of things of a kind that have no text on record as having one; what they are now.
async fn claim(conn: &mut Conn<'_>, kind: Kind, ids: Vec<DbId>) -> Outcome<Vec<Unindexed>> {
    macro_rules! claim {
        ($table:ident, $rows:expr, $columns:expr) => {{
            let unindexed = $rows.filter(id_in($table::id, ids)).filter(not($table::indexed));
            diesel::update(unindexed).set($table::indexed.eq(true)).returning($columns).load(conn).await?
        }};
    }
    Ok(match kind {
        Kind::Post => {
            let columns = (posts::id, posts::created_at, posts::content, posts::author_id);
            let rows: Vec<PostColumns> = claim!(posts, posts::table.filter(posts::deleted_at.is_null()), columns);
            rows.into_iter().map(unindexed_post).collect()
        }
        Kind::Account => {
            let columns = (users::id, users::created_at, users::username, users::display_name);
            let rows: Vec<AccountColumns> = claim!(users, users::table, columns);
            rows.into_iter().map(unindexed_account).collect()
        }
        Kind::Product => unindexed_products(claim!(products, products::table, ProductRow::as_returning()))?,
    })
}

/// Has the rows of things on record as having no text.
async fn release(conn: &mut Conn<'_>, kind: Kind, ids: Vec<DbId>) -> Outcome<()> {
    macro_rules! release {
        ($table:ident) => {
            diesel::update($table::table.filter(id_in($table::id, ids)))
                .set($table::indexed.eq(false))
                .execute(conn)
                .await?
        };
    }
    match kind {
        Kind::Post => release!(posts),
        Kind::Account => release!(users),
        Kind::Product => release!(products),
    };
    Ok(())
}

/// Stores the texts of things that have none and are still what they were; how many.
pub(crate) async fn index(conn: &mut Conn<'_>, found: Vec<(Unindexed, IndexedText)>) -> Outcome<usize> {
    let mut count = 0;
    for kind in Kind::ALL {
        let of_kind = found.iter().filter(|(thing, _)| thing.content.kind() == kind);
        let found: HashMap<Uuid, _> = of_kind.map(|(thing, text)| (thing.id, (&thing.content, text))).collect();
        if found.is_empty() {
            continue;
        }
        let claimed = claim(conn, kind, found.keys().copied().map(DbId).collect()).await?;
        let (mut texts, mut changed) = (Vec::new(), Vec::new());
        for Unindexed { id, created_at, content } in claimed {
            match found.get(&id) {
                Some((before, text)) if **before == content => {
                    texts.push(TextRow::new(kind, DbId(id), DbInstant(created_at), text));
                }
                _ => changed.push(DbId(id)),
            }
        }
        if !changed.is_empty() {
            release(conn, kind, changed).await?;
        }
        count += texts.len();
        insert_all(conn, texts).await?;
    }
    Ok(count)
}

define_sql_function! {
    /// How many bytes a text has.
    fn octet_length(text: Text) -> Integer
}

/// Returns how many bytes the texts of a kind have that are in no bucket, the oldest first, as many as may be packed twice.
async fn tail_sizes(conn: &mut Conn<'_>, kind: Kind, packing: Packing) -> Outcome<Vec<i64>> {
    let tail = search_tail::table
        .filter(search_tail::kind.eq(kind_code(kind)))
        .order((search_tail::created_at, search_tail::id))
        .limit(2 * packing.documents)
        .select(octet_length(search_tail::words));
    let sizes: Vec<i32> = tail.load(conn).await?;
    Ok(sizes.into_iter().map(i64::from).collect())
}

/// Returns how many texts of a kind are to be packed next: none unless twice as many are in no bucket.
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

/// Makes a bucket of the oldest texts of a kind that are in none, so many at most, unless somebody else does so.
pub(crate) async fn pack(conn: &mut Conn<'_>, kind: Kind, count: i64) -> Outcome<()> {
    if !lock_packing(conn).await? {
        return Ok(());
    }
    let number = next_number(conn, kind).await?;
    let oldest = lock_oldest(conn, kind_code(kind), count).await?;
    let packed = PackedBucket::of(kind, number, oldest);
    let Some(PackedBucket { row, postings, ids }) = packed else { return Ok(()) };
    let (kind, newest_at, first) = (row.kind, row.newest_at, row.bucket * BUCKET);
    let moved = || {
        let tail = search_tail::table.filter(search_tail::kind.eq(kind)).filter(search_tail::created_at.le(newest_at));
        tail.filter(is_packed(&row, &ids))
    };
    // Diesel has window functions, but adds nothing to what they give.
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
    // The one before is the last no more.
    delete_empty(conn, kind, row.bucket - 1).await
}

/// Documents of a bucket, by their numbers.
macro_rules! of_bucket {
    ($table:ident, $kind:expr, $bucket:expr) => {
        $table::table
            .filter($table::kind.eq($kind))
            .filter($table::document.ge($bucket * BUCKET))
            .filter($table::document.lt(($bucket + 1) * BUCKET))
    };
}

/// Returns a bucket whose postings have a document that was deleted before an instant: its kind and number.
pub(crate) async fn find_deletion(conn: &mut Conn<'_>, before: DbInstant) -> Outcome<Option<(i16, i64)>> {
    let first = search_deletions::table
        .filter(search_deletions::deleted_at.lt(before))
        .order(search_deletions::deleted_at)
        .limit(1)
        .select((search_deletions::kind, search_deletions::document));
    let first: Option<(i16, i64)> = first.get_result(conn).await.optional()?;
    Ok(first.map(|(kind, document)| (kind, document / BUCKET)))
}

/// Takes the documents of a bucket that were deleted before an instant out of its postings, unless somebody else does so.
pub(crate) async fn forget(conn: &mut Conn<'_>, (kind, bucket): (i16, i64), before: DbInstant) -> Outcome<()> {
    if !lock_packing(conn).await? {
        return Ok(());
    }
    let deletions = of_bucket!(search_deletions, kind, bucket).filter(search_deletions::deleted_at.lt(before));
    let deleted: Vec<i64> = deletions.select(search_deletions::document).load(conn).await?;
    let of_bucket =
        || search_postings::table.filter(search_postings::kind.eq(kind)).filter(search_postings::bucket.eq(bucket));
    let postings: Vec<PostingRow> = of_bucket().select(PostingRow::as_select()).load(conn).await?;
    let (words, left) = without(postings, &deleted);
    for words in words.chunks(AT_ONCE) {
        diesel::delete(of_bucket().filter(word_in(search_postings::word, words.to_vec()))).execute(conn).await?;
    }
    insert_postings(conn, &left).await?;
    let are_out = search_deletions::table.filter(search_deletions::kind.eq(kind));
    let are_out = are_out.filter(number_in(search_deletions::document, deleted));
    diesel::delete(are_out).execute(conn).await?;
    delete_empty(conn, kind, bucket).await
}

/// Deletes a bucket of which nothing is left; not the last, so that no number is given twice.
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
    for postings in postings.chunks(AT_ONCE) {
        diesel::insert_into(search_postings::table).values(postings).execute(conn).await?;
    }
    Ok(())
}

/// Deletes every text, and every bucket.
pub(crate) async fn clear(conn: &mut Conn<'_>) -> Outcome<()> {
    diesel::delete(search_postings::table).execute(conn).await?;
    diesel::delete(search_buckets::table).execute(conn).await?;
    diesel::delete(search_texts::table).execute(conn).await?;
    diesel::delete(search_tail::table).execute(conn).await?;
    // Each of the texts was noted there.
    diesel::delete(search_deletions::table).execute(conn).await?;
    Ok(())
}

/// Returns how many buckets there are, and the words that they have, each as often as buckets have it.
#[cfg(test)]
pub(crate) async fn list_words(conn: &mut Conn<'_>) -> Outcome<(i64, Vec<String>)> {
    let buckets = search_buckets::table.count().get_result(conn).await?;
    let words = search_postings::table.order(search_postings::word).select(search_postings::word).load(conn).await?;
    Ok((buckets, words))
}
