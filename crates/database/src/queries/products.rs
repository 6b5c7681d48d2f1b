use std::slice;

use agora_domain::Error;
use agora_domain::error::Resource;
use agora_domain::products::{Product, ProductEdit};
use agora_domain::search::Kind;
use diesel::upsert::excluded;
use diesel::{BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};

use super::{Conn, RunQueryDsl, audit, built, id_in, word_in};
use crate::error::{Failure, Outcome};
use crate::feeds::limit;
use crate::product_rows::ProductRows;
use crate::rows::{Slice, Toward};
use crate::schema::{
    AuditRecord, ImageRow, ProductRow, VariantRow, catalog_version, product_images, product_variants, products,
};
use crate::search_index::Contains;
use crate::sql_types::{DbId, DbInstant};
use crate::values::TextFilter;

const NO_PRODUCT: Failure = Failure::Rule(Error::NotFound(Resource::Product));

/// The maximum number of rows that one statement inserts: the databases allow at least 32,766 parameters.
const INSERT_BATCH: usize = 1_000;

/// Inserts a product with its variants and images.
pub(crate) async fn create(conn: &mut Conn<'_>, rows: ProductRows, entry: AuditRecord) -> Outcome<()> {
    insert(conn, rows).await?;
    audit::record(conn, entry).await
}

/// Inserts products with their variants and images.
pub(crate) async fn insert(conn: &mut Conn<'_>, rows: ProductRows) -> Outcome<()> {
    for rows in rows.products.chunks(INSERT_BATCH) {
        let rows: Vec<_> = rows.iter().map(|row| (row, products::indexed.eq(true))).collect();
        diesel::insert_into(products::table).values(rows).execute(conn).await?;
    }
    super::indexing::insert_all(conn, rows.texts).await?;
    insert_parts(conn, &rows.variants, &rows.images).await
}

async fn insert_parts(conn: &mut Conn<'_>, variants: &[VariantRow], images: &[ImageRow]) -> Outcome<()> {
    for rows in variants.chunks(INSERT_BATCH) {
        diesel::insert_into(product_variants::table).values(rows).execute(conn).await?;
    }
    for rows in images.chunks(INSERT_BATCH) {
        diesel::insert_into(product_images::table).values(rows).execute(conn).await?;
    }
    Ok(())
}

pub(crate) async fn find(conn: &mut Conn<'_>, id: DbId) -> Outcome<ProductRows> {
    let found = products::table.find(id).select(ProductRow::as_select()).get_result(conn).await.optional()?;
    with_parts(conn, found.into_iter().collect()).await
}

/// Returns the products with these ids that exist.
pub(crate) async fn find_all(conn: &mut Conn<'_>, ids: Vec<DbId>) -> Outcome<ProductRows> {
    let found = products::table.filter(id_in(products::id, ids)).select(ProductRow::as_select());
    let found = built(found).load(conn).await?;
    with_parts(conn, found).await
}

/// Returns the products whose SKU has one of these keys.
pub(crate) async fn find_by_sku(conn: &mut Conn<'_>, keys: Vec<String>) -> Outcome<ProductRows> {
    let named = products::table.filter(word_in(products::sku_key, keys));
    let found = named.select(ProductRow::as_select()).load(conn).await?;
    with_parts(conn, found).await
}

/// Returns the version of the catalog, which every change of it changes.
pub(crate) async fn version(conn: &mut Conn<'_>) -> Outcome<DbId> {
    Ok(catalog_version::table.select(catalog_version::version).get_result(conn).await?)
}

/// The number of products that are scanned for a text before the text index is used. If enough of them have it, that is faster.
const SCANNED_PRODUCTS: i64 = 500;

/// The key of the category that a list is restricted to, if any.
type Category = Option<String>;

/// A selection from the products of a category. A macro, since its type depends on the selection.
macro_rules! of_category {
    ($category:expr, $selection:expr) => {{
        let all = products::table.select($selection).into_boxed();
        match &$category {
            Some(key) => all.filter(products::category_key.eq(key.clone())),
            None => all,
        }
    }};
}

pub(crate) async fn list(conn: &mut Conn<'_>, category: Category, slice: Slice) -> Outcome<ProductRows> {
    let all = products::table.select(ProductRow::as_select());
    let found = match category {
        None => super::load!(all, products, slice, conn)?,
        Some(key) => super::load!(all.filter(products::category_key.eq(key)), products, slice, conn)?,
    };
    with_parts(conn, found).await
}

/// Returns a slice of the products that contain a text.
pub(crate) async fn search(
    conn: &mut Conn<'_>,
    category: Category,
    text: TextFilter,
    slice: Slice,
) -> Outcome<ProductRows> {
    let found = find_text(conn, &category, &text, slice).await?;
    with_parts(conn, found).await
}

async fn find_text(
    conn: &mut Conn<'_>,
    category: &Category,
    text: &TextFilter,
    slice: Slice,
) -> Outcome<Vec<ProductRow>> {
    let has_text = || Contains::new(products::search_key, slice::from_ref(&text.text));
    let next = Slice { limit: SCANNED_PRODUCTS, ..slice };
    let next: Vec<(DbInstant, DbId)> =
        super::load!(of_category!(category, (products::created_at, products::id)), products, next, conn)?;
    let among = of_category!(category, ProductRow::as_select()).filter(has_text());
    let Some((at, id)) = next.last().copied().filter(|_| limit(next.len()) == SCANNED_PRODUCTS) else {
        return Ok(super::load!(among, products, slice, conn)?);
    };
    let among_next = match slice.toward {
        Toward::Older => {
            let is_after = products::created_at.gt(at).or(products::id.ge(id));
            among.filter(products::created_at.ge(at).and(is_after))
        }
        Toward::Newer => {
            let is_before = products::created_at.lt(at).or(products::id.le(id));
            among.filter(products::created_at.le(at).and(is_before))
        }
    };
    let found: Vec<ProductRow> = super::load!(among_next, products, slice, conn)?;
    if limit(found.len()) == slice.limit {
        return Ok(found);
    }
    let indexed = of_category!(category, ProductRow::as_select()).filter(super::may_have_text(text)).filter(has_text());
    Ok(super::load!(indexed, products, slice, conn)?)
}

async fn with_parts(conn: &mut Conn<'_>, products: Vec<ProductRow>) -> Outcome<ProductRows> {
    if products.is_empty() {
        return Ok(ProductRows::default());
    }
    let ids: Vec<DbId> = products.iter().map(|row| row.id).collect();
    let variants = product_variants::table
        .filter(id_in(product_variants::product_id, ids.clone()))
        .order((product_variants::product_id, product_variants::position))
        .select(VariantRow::as_select())
        .load(conn)
        .await?;
    let images = product_images::table
        .filter(id_in(product_images::product_id, ids))
        .order((product_images::product_id, product_images::position))
        .select(ImageRow::as_select())
        .load(conn)
        .await?;
    Ok(ProductRows { products, variants, images, texts: Vec::new() })
}

/// Returns a slice of all products: the creation time, id, name and price of each.
pub(crate) async fn list_short(conn: &mut Conn<'_>, slice: Slice) -> Outcome<Vec<(DbInstant, DbId, String, i64)>> {
    let short = products::table.select((products::created_at, products::id, products::name, products::price));
    Ok(super::load!(short, products, slice, conn)?)
}

/// Sets columns to the values that the conflicting insert has.
macro_rules! excluded_columns {
    ($($column:ident),+) => {
        ($(products::$column.eq(excluded(products::$column))),+)
    };
}

/// Replaces the products with the same ids, with their variants and images. The search text of a product stays where it is if its
/// words do not change.
pub(crate) async fn update(conn: &mut Conn<'_>, rows: ProductRows) -> Outcome<()> {
    let ids: Vec<DbId> = rows.products.iter().map(|row| row.id).collect();
    if ids.is_empty() {
        return Ok(());
    }
    diesel::delete(product_variants::table.filter(id_in(product_variants::product_id, ids.clone())))
        .execute(conn)
        .await?;
    diesel::delete(product_images::table.filter(id_in(product_images::product_id, ids.clone()))).execute(conn).await?;
    for rows in rows.products.chunks(INSERT_BATCH) {
        let stored = diesel::insert_into(products::table).values(rows).on_conflict(products::id);
        stored
            .do_update()
            .set(excluded_columns!(
                sku,
                sku_key,
                name,
                description,
                price,
                category,
                category_key,
                stock,
                search_key,
                created_at,
                updated_at
            ))
            .execute(conn)
            .await?;
    }
    super::indexing::renew(conn, Kind::Product, rows.texts).await?;
    insert_parts(conn, &rows.variants, &rows.images).await
}

pub(crate) async fn delete(conn: &mut Conn<'_>, id: DbId, entry: AuditRecord) -> Outcome<()> {
    let deleted = diesel::delete(products::table.find(id)).execute(conn).await?;
    if deleted == 0 { Err(NO_PRODUCT) } else { audit::record(conn, entry).await }
}

/// Applies the domain's rule of editing to the stored product. Returns the edited product.
pub(crate) async fn edit(conn: &mut Conn<'_>, id: DbId, edit: ProductEdit, entry: AuditRecord) -> Outcome<Product> {
    super::lock_product(conn, id).await?;
    let stored = find(conn, id).await?.products()?.pop().ok_or(NO_PRODUCT)?;
    let edited = stored.clone().apply(&edit, entry.created_at.0)?;
    if edited != stored {
        update(conn, ProductRows::of(&edited)).await?;
        audit::record(conn, entry).await?;
    }
    Ok(edited)
}
