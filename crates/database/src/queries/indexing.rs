//! The indexed texts of things, stored in the transaction of the thing or later in the background.

use std::collections::{HashMap, HashSet};

use agora_domain::accounts::{DisplayName, Username};
use agora_domain::posts::PostText;
use agora_domain::products::Product;
use agora_domain::search::{IndexedText, Kind, Unindexed, UnindexedContent};
use diesel::dsl::not;
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper};
use uuid::Uuid;

use super::{Conn, RunQueryDsl, id_in};
use crate::error::Outcome;
use crate::product_rows::ProductRows;
use crate::schema::{ProductRow, posts, products, search_tail, users};
use crate::search_index::TextRow;
use crate::sql_types::{DbId, DbInstant};

/// The maximum number of texts that one statement inserts.
const INSERT_BATCH: usize = 1_000;

/// Stores the text of a thing that has none.
pub(crate) async fn insert(conn: &mut Conn<'_>, text: TextRow) -> Outcome<()> {
    // A single row: a statement with several rows would be prepared again for each execution.
    diesel::insert_into(search_tail::table).values(text).execute(conn).await?;
    Ok(())
}

/// Stores the texts of things that have none.
pub(crate) async fn insert_all(conn: &mut Conn<'_>, texts: Vec<TextRow>) -> Outcome<()> {
    for texts in texts.chunks(INSERT_BATCH) {
        diesel::insert_into(search_tail::table).values(texts).execute(conn).await?;
    }
    Ok(())
}

/// Stores the texts of the given things that have none, for instance because their text was changed.
pub(crate) async fn renew(conn: &mut Conn<'_>, kind: Kind, mut texts: Vec<TextRow>) -> Outcome<()> {
    let claimed = claim(conn, kind, texts.iter().map(|text| text.id).collect()).await?;
    let claimed: HashSet<Uuid> = claimed.into_iter().map(|thing| thing.id).collect();
    texts.retain(|text| claimed.contains(&text.id.0));
    match <[TextRow; 1]>::try_from(texts) {
        Ok([text]) => insert(conn, text).await,
        Err(texts) => insert_all(conn, texts).await,
    }
}

/// Returns the number of things without an indexed text.
pub(crate) async fn count_unindexed(conn: &mut Conn<'_>) -> Outcome<i64> {
    let posts = posts::table.filter(not(posts::indexed)).filter(posts::deleted_at.is_null()).count();
    let posts: i64 = posts.get_result(conn).await?;
    let users: i64 = users::table.filter(not(users::indexed)).count().get_result(conn).await?;
    let products: i64 = products::table.filter(not(products::indexed)).count().get_result(conn).await?;
    Ok(posts + users + products)
}

/// The columns from which the text of a post is made.
type PostColumns = (DbId, DbInstant, String, DbId);
/// The columns from which the text of an account is made.
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

/// Returns the newest things of a kind without an indexed text.
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

/// Marks the given things of a kind without an indexed text as indexed. Returns their current state.
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

/// Marks things as not indexed.
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

/// Stores the texts of things that have none and have not changed since they were read. Returns the number of stored texts.
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
