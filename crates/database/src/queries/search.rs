//! Texts by which things are found, and the buckets of them.

use agora_domain::accounts::{DisplayName, Username};
use agora_domain::posts::{PostText, PostView, Visibility};
use agora_domain::search::{IndexedText, Kind, Needles, Unindexed, UnindexedContent};
use diesel::dsl::{max, not};
use diesel::sql_types::Bool;
use diesel::{
    BoolExpressionMethods, ExpressionMethods, IntoSql, JoinOnDsl, OptionalExtension, QueryDsl, SelectableHelper,
};
use uuid::Uuid;

use super::views::{author_followed_by, bookmarked_by, liked_by, view};
use super::{
    Conn, RunQueryDsl, built, likers, lock_oldest, lock_packing, number_documents, number_in, post_in, with_likers,
    word_in,
};
use crate::error::Outcome;
use crate::feeds::limit;
use crate::product_rows::ProductRows;
use crate::rows::{After, AuthorRow, PostRow, Slice, Toward, visibility_code};
use crate::schema::{ProductRow, posts, products, search_buckets, search_postings, search_texts, users};
use crate::search_index::{
    Among, BUCKET, BucketPlace, BucketRow, Candidates, Contains, Looked, PackedBucket, TextRow, kind_code, narrow,
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
    ($viewer:expr, $sees_all:expr) => {{
        let is = |visibility| posts::visibility.eq(visibility_code(visibility));
        let shown = is(Visibility::Public).or(is(Visibility::Followers).and(author_followed_by($viewer)));
        let of_others = users::searchable.and($sees_all.into_sql::<Bool>().or(users::enabled.and(shown)));
        posts::deleted_at.is_null().and(posts::author_id.eq($viewer).or(of_others))
    }};
}

/// Texts of a kind, with what decides about whether they are found, given the condition of that.
macro_rules! texts {
    ($among:expr, |$texts:ident, $is_found:ident| $do:expr) => {{
        let of_kind = search_texts::table.filter(search_texts::kind.eq(kind_code($among.kind())));
        match $among {
            Among::Posts { viewer, sees_all } => {
                let $texts = of_kind
                    .inner_join(posts::table.on(posts::id.eq(search_texts::id)))
                    .inner_join(users::table.on(users::id.eq(posts::author_id)));
                let $is_found = is_found!(viewer, sees_all);
                $do
            }
            Among::Accounts { sees_all, except } => {
                let $texts = of_kind.inner_join(users::table.on(users::id.eq(search_texts::id)));
                let $is_found =
                    users::id.ne(except).and(sees_all.into_sql::<Bool>().or(users::enabled.and(users::discoverable)));
                $do
            }
            Among::Products => {
                let ($texts, $is_found) = (of_kind, true.into_sql::<Bool>());
                $do
            }
        }
    }};
}

/// Returns what is found of a part of the list among what is in no bucket.
pub(crate) async fn tail(
    conn: &mut Conn<'_>,
    among: Among,
    contains: Contains,
    slice: Slice,
) -> Outcome<Vec<(DbInstant, DbId)>> {
    Ok(texts!(among, |texts, is_found| {
        let tail = texts.filter(search_texts::document.is_null()).filter(contains).filter(is_found);
        super::load!(tail.select((search_texts::created_at, search_texts::id)), search_texts, slice, conn)?
    }))
}

/// Returns the next buckets from a position on, so many, and what they may have of what is looked for.
pub(crate) async fn candidates(
    conn: &mut Conn<'_>,
    kind: Kind,
    Needles { mut keys, prefix, .. }: Needles,
    slice: Slice,
    after: Option<BucketPlace>,
    most: i64,
) -> Outcome<Vec<Candidates>> {
    let rows = next_buckets(conn, kind, slice, after, most).await?;
    // Long words are rarer.
    keys.sort_unstable_by_key(|key| std::cmp::Reverse(key.len()));
    keys.truncate(WORDS);
    let words = keys.len();
    let postings = || search_postings::table.filter(search_postings::kind.eq(kind_code(kind)));
    let columns = (search_postings::bucket, search_postings::documents);
    let found: Vec<(i64, Vec<u8>)> = match rows.iter().map(|row| row.bucket).collect::<Vec<_>>() {
        numbers if numbers.is_empty() || keys.is_empty() => Vec::new(),
        numbers => {
            let of_words = postings()
                .filter(number_in(search_postings::bucket, numbers))
                .filter(word_in(search_postings::word, keys));
            of_words.select(columns).load(conn).await?
        }
    };
    let mut found = crate::search_index::candidates(rows, words, found, slice.toward);
    let left = found.iter().filter(|bucket| !bucket.documents.is_empty()).map(|bucket| bucket.place.bucket);
    let left: Vec<i64> = left.collect();
    if let Some(prefix) = prefix.filter(|_| !left.is_empty()) {
        // No word has that character.
        let end = format!("{prefix}{}", char::MAX);
        let beginnings = postings()
            .filter(number_in(search_postings::bucket, left))
            .filter(search_postings::word.ge(prefix).and(search_postings::word.lt(end)));
        let rows: Vec<(i64, Vec<u8>)> = beginnings.select(columns).limit(BEGINNINGS).load(conn).await?;
        if limit(rows.len()) < BEGINNINGS {
            narrow(&mut found, rows);
        }
    }
    Ok(found)
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
    contains: Contains,
    numbers: Vec<i64>,
) -> Outcome<Vec<Looked>> {
    Ok(texts!(among, |texts, is_found| {
        let (at, id, document) = (search_texts::created_at, search_texts::id, search_texts::document);
        let among = texts.filter(number_in(document, numbers)).filter(document.is_not_null());
        built(among.select((at, id, document, contains.and(is_found)))).load(conn).await?
    }))
}

/// Returns those of some posts that the viewer finds.
pub(crate) async fn posts(conn: &mut Conn<'_>, ids: Vec<DbId>, viewer: DbId, sees_all: bool) -> Outcome<Vec<PostView>> {
    let found = posts::table.inner_join(users::table).filter(post_in(ids)).filter(is_found!(viewer, sees_all));
    let rows = built(found.select(view!(AuthorRow, viewer))).load(conn).await?;
    with_likers(conn, rows, AuthorRow::author).await
}

/// Stores the texts of things that have none.
pub(crate) async fn insert(conn: &mut Conn<'_>, texts: Vec<TextRow>) -> Outcome<()> {
    for texts in texts.chunks(AT_ONCE) {
        diesel::insert_into(search_texts::table).values(texts).execute(conn).await?;
    }
    Ok(())
}

/// Has a row of `$table` on record as one that has a text; whether it was not before, as when the text by which it was found
/// was changed.
macro_rules! claim {
    ($conn:expr, $table:ident, $id:expr $(, $condition:expr)*) => {{
        let row = $table::table.filter($table::id.eq($id)).filter(not($table::indexed))$(.filter($condition))*;
        diesel::update(row).set($table::indexed.eq(true)).execute($conn).await? == 1
    }};
}

/// Stores the text of a post if it has none.
pub(crate) async fn renew_post(conn: &mut Conn<'_>, text: TextRow) -> Outcome<()> {
    if claim!(conn, posts, text.id) { insert(conn, vec![text]).await } else { Ok(()) }
}

/// Stores the text of an account if it has none.
pub(crate) async fn renew_account(conn: &mut Conn<'_>, text: TextRow) -> Outcome<()> {
    if claim!(conn, users, text.id) { insert(conn, vec![text]).await } else { Ok(()) }
}

/// Stores the text of a product if it has none.
pub(crate) async fn renew_product(conn: &mut Conn<'_>, text: TextRow) -> Outcome<()> {
    if claim!(conn, products, text.id) { insert(conn, vec![text]).await } else { Ok(()) }
}

/// Returns the newest things of a kind that have no text.
pub(crate) async fn list_unindexed(conn: &mut Conn<'_>, kind: Kind, most: i64) -> Outcome<Vec<Unindexed>> {
    macro_rules! newest {
        ($table:ident, $rows:expr) => {
            $rows.filter(not($table::indexed)).order(($table::created_at.desc(), $table::id.desc())).limit(most)
        };
    }
    let thing = |id: DbId, at: DbInstant, content| Unindexed { id: id.0, created_at: at.0, content };
    Ok(match kind {
        Kind::Post => {
            let columns = (posts::id, posts::created_at, posts::content, posts::author_id);
            let rows = newest!(posts, posts::table.filter(posts::deleted_at.is_null()));
            let rows: Vec<(DbId, DbInstant, String, DbId)> = rows.select(columns).load(conn).await?;
            let content = |text, author: DbId| UnindexedContent::Post(PostText::restore(text), author.0.into());
            rows.into_iter().map(|(id, at, text, author)| thing(id, at, content(text, author))).collect()
        }
        Kind::Account => {
            let columns = (users::id, users::created_at, users::username, users::display_name);
            let rows: Vec<(DbId, DbInstant, String, Option<String>)> =
                newest!(users, users::table).select(columns).load(conn).await?;
            let content = |username, name: Option<String>| {
                UnindexedContent::Account(Username::restore(username), name.map(DisplayName::restore))
            };
            rows.into_iter().map(|(id, at, username, name)| thing(id, at, content(username, name))).collect()
        }
        Kind::Product => {
            let products = newest!(products, products::table).select(ProductRow::as_select()).load(conn).await?;
            let found = ProductRows { products, ..ProductRows::default() }.products()?;
            let thing = |product: agora_domain::products::Product| {
                thing(
                    DbId(product.id.uuid()),
                    DbInstant(product.created_at),
                    UnindexedContent::Product(Box::new(product)),
                )
            };
            found.into_iter().map(thing).collect()
        }
    })
}

/// Stores the texts of things that have none and are still what they were; how many.
pub(crate) async fn index(conn: &mut Conn<'_>, found: Vec<(Unindexed, IndexedText)>) -> Outcome<usize> {
    let mut texts = Vec::new();
    for (Unindexed { id, created_at, content }, text) in found {
        let id = DbId(id);
        let (kind, is_claimed) = match content {
            UnindexedContent::Post(text, _) => {
                let is_same = posts::content.eq(text.as_str().to_owned());
                (Kind::Post, claim!(conn, posts, id, posts::deleted_at.is_null(), is_same))
            }
            UnindexedContent::Account(username, name) => {
                let is_same = users::username.eq(username.as_str().to_owned());
                let is_claimed = match name.map(|name| name.as_str().to_owned()) {
                    Some(name) => claim!(conn, users, id, is_same, users::display_name.eq(name)),
                    None => claim!(conn, users, id, is_same, users::display_name.is_null()),
                };
                (Kind::Account, is_claimed)
            }
            UnindexedContent::Product(product) => {
                let (name, sku) = (product.name.as_str().to_owned(), product.sku.as_str().to_owned());
                let description = product.description.as_str().to_owned();
                let category = product.category.as_str().to_owned();
                let is_same = products::name.eq(name).and(products::sku.eq(sku));
                let is_same = is_same.and(products::description.eq(description));
                (Kind::Product, claim!(conn, products, id, is_same.and(products::category.eq(category))))
            }
        };
        if is_claimed {
            let text = TextRow::new(kind, id, DbInstant(created_at), &text);
            let there = search_texts::table.find((text.kind, id));
            diesel::delete(there).execute(conn).await?;
            texts.push(text);
        }
    }
    let count = texts.len();
    insert(conn, texts).await?;
    Ok(count)
}

/// Returns whether there are twice as many texts of a kind in no bucket as a bucket has.
pub(crate) async fn has_long_tail(conn: &mut Conn<'_>, kind: Kind, documents: i64) -> Outcome<bool> {
    let tail = search_texts::table
        .filter(search_texts::kind.eq(kind_code(kind)))
        .filter(search_texts::document.is_null())
        .order((search_texts::created_at, search_texts::id));
    let last = tail.select(search_texts::id).offset(2 * documents - 1).limit(1);
    Ok(last.get_result::<DbId>(conn).await.optional()?.is_some())
}

/// Makes a bucket of the oldest texts of a kind that are in none, so many of them; whether it did.
pub(crate) async fn pack(conn: &mut Conn<'_>, kind: Kind, documents: i64) -> Outcome<bool> {
    if !(lock_packing(conn).await? && has_long_tail(conn, kind, documents).await?) {
        return Ok(false);
    }
    let of_kind = search_buckets::table.filter(search_buckets::kind.eq(kind_code(kind)));
    let last: Option<i64> = of_kind.select(max(search_buckets::bucket)).get_result(conn).await?;
    let oldest = lock_oldest(conn, kind_code(kind), documents).await?;
    let Some(packed) = PackedBucket::of(kind, last.map_or(0, |last| last + 1), oldest) else { return Ok(false) };
    let PackedBucket { row, postings, ids } = packed;
    number_documents(conn, row.kind, row.bucket * BUCKET, ids).await?;
    diesel::insert_into(search_buckets::table).values(row).execute(conn).await?;
    for postings in postings.chunks(AT_ONCE) {
        diesel::insert_into(search_postings::table).values(postings).execute(conn).await?;
    }
    Ok(true)
}

/// Deletes every text, and every bucket.
pub(crate) async fn clear(conn: &mut Conn<'_>) -> Outcome<()> {
    diesel::delete(search_postings::table).execute(conn).await?;
    diesel::delete(search_buckets::table).execute(conn).await?;
    diesel::delete(search_texts::table).execute(conn).await?;
    Ok(())
}
