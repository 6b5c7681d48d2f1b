//! Full-text search.

use agora_domain::posts::{PostView, Visibility};
use agora_domain::search::{Kind, Needles};
use diesel::dsl::not;
use diesel::sql_types::{Bool, Nullable};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, IntoSql, NullableExpressionMethods, QueryDsl, SelectableHelper,
};
use uuid::Uuid;

use super::packing::next_number;
use super::views::{author_followed_by, bookmarked_by, liked_by, view};
use super::{Conn, RunQueryDsl, built, likers, number_in, post_in, postings_between, with_likers, word_in};
use crate::account_filters::{DbViewer, is_user_blocked_or_deleted, or_muted};
use crate::error::Outcome;
use crate::feeds::limit;
use crate::rows::{After, AuthorRow, PostRow, Slice, Toward, visibility_code};
use crate::schema::{posts, search_buckets, search_postings, search_tail, search_texts, users};
use crate::search_index::{
    Among, BucketPlace, BucketRow, Buckets, CheckedDocument, Chunk, Contains, Posting, beyond, kind_code,
    retain_matching,
};
use crate::sql_types::{DbId, DbInstant};

/// The maximum number of words of a query whose postings are read. The check of each document considers all words.
const MAX_WORDS: usize = 8;

/// The maximum number of postings that are read for words with a prefix. If there are more, the prefix hardly excludes any
/// documents.
const MAX_PREFIX_POSTINGS: i64 = 20_000;

/// The condition that a viewer finds a post, for queries that join `posts` and `users`.
macro_rules! is_found {
    ($viewer:expr) => {{
        let is = |visibility| posts::visibility.eq(visibility_code(visibility));
        let shown = is(Visibility::Public).or(is(Visibility::Followers).and(author_followed_by($viewer.id)));
        let of_others = users::searchable.and(users::enabled).and($viewer.sees_all.into_sql::<Bool>().or(shown));
        let of_others = of_others.and(not(or_muted($viewer, is_user_blocked_or_deleted($viewer))));
        posts::deleted_at.is_null().and(posts::author_id.eq($viewer.id).or(of_others))
    }};
}

/// Provides the texts of a kind in a table, and the condition that the viewer finds one, which is NULL if its document no longer
/// exists. The condition is a scalar subquery for each text: PostgreSQL would otherwise read all accounts, and all texts before
/// it returns the first.
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
                let is_shown = is_shown.and(not(is_user_blocked_or_deleted(viewer)));
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

/// Returns a slice of the matches in the tail.
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

/// Returns the candidates of some buckets from the position of the slice on.
pub(crate) async fn candidates(
    conn: &mut Conn<'_>,
    kind: Kind,
    Needles { mut keys, prefix, .. }: Needles,
    slice: Slice,
    buckets: Buckets,
) -> Outcome<Chunk> {
    // Long words are rarer.
    keys.sort_unstable_by_key(|key| std::cmp::Reverse(key.len()));
    keys.truncate(MAX_WORDS);
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
            // Read before the rows: a bucket made in between is searched twice rather than missed.
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
    // Also if no candidates are left, so that the time does not reveal it; except in the catalog, which everybody may see.
    if let Some(prefix) = prefix.filter(|_| kind != Kind::Product || !left.is_empty()) {
        let words = [prefix.clone(), end_of(&prefix)];
        let rows = postings_between(conn, kind_code(kind), left, words, MAX_PREFIX_POSTINGS).await?;
        if limit(rows.len()) < MAX_PREFIX_POSTINGS {
            retain_matching(&mut candidates, rows);
        }
    }
    let last = candidates.last().map(|bucket| bucket.place).filter(|_| is_more);
    Ok(Chunk { candidates, last, absent, next })
}

/// Returns the buckets that have a word with the prefix, if these are few, else the buckets of the first rare one of the words;
/// `None` if none is rare.
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

/// Returns a text that sorts after every word with a prefix: no word has the appended character.
fn end_of(prefix: &str) -> String {
    format!("{prefix}{}", char::MAX)
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
    /// Loads the buckets in one direction, which the comparison methods define. The buckets are ordered by their first document
    /// in reading direction, and have at least one beyond the position of the slice.
    macro_rules! next_buckets {
        (($at:ident, $id:ident), ($last_at:ident, $last_id:ident), $within:ident, $beyond:ident, $order:ident, $begin:ident) => {{
            let After(instant, id) = slice.after;
            let BucketPlace { at, id: first, bucket } = after.unwrap_or($begin);
            let has_some = search_buckets::$last_at
                .$within(instant)
                .and(search_buckets::$last_at.$beyond(instant).or(search_buckets::$last_id.$beyond(id)));
            let is_next = search_buckets::$id
                .$beyond(first)
                .or(search_buckets::$id.eq(first).and(search_buckets::bucket.$beyond(bucket)));
            let next = search_buckets::table
                .filter(search_buckets::kind.eq(kind_code(kind)))
                .filter(search_buckets::$at.$within(at).and(search_buckets::$at.$beyond(at).or(is_next)))
                .filter(has_some)
                .order((search_buckets::$at.$order(), search_buckets::$id.$order(), search_buckets::bucket.$order()))
                .limit(most)
                .select(BucketRow::as_select());
            built(next).load(conn).await?
        }};
    }
    Ok(match slice.toward {
        Toward::Older => next_buckets!((newest_at, newest_id), (oldest_at, oldest_id), le, lt, desc, newest),
        Toward::Newer => next_buckets!((oldest_at, oldest_id), (newest_at, newest_id), ge, gt, asc, oldest),
    })
}

/// Checks documents by their numbers. Some of them may no longer exist.
pub(crate) async fn look(
    conn: &mut Conn<'_>,
    among: Among,
    contains: Contains<search_texts::words>,
    numbers: Vec<i64>,
) -> Outcome<Vec<CheckedDocument>> {
    Ok(texts!(search_texts, among, |texts, is_found| {
        let (at, id, document) = (search_texts::created_at, search_texts::id, search_texts::document);
        let among = texts.filter(number_in(document, numbers));
        built(among.select((at, id, document, contains.nullable().and(is_found)))).load(conn).await?
    }))
}

/// Returns the posts with these ids that the viewer may find.
pub(crate) async fn posts(conn: &mut Conn<'_>, ids: Vec<DbId>, viewer: DbViewer) -> Outcome<Vec<PostView>> {
    let found = posts::table.inner_join(users::table).filter(post_in(ids)).filter(is_found!(viewer));
    let rows = built(found.select(view!(AuthorRow, viewer))).load(conn).await?;
    with_likers(conn, rows, viewer, AuthorRow::author).await
}
