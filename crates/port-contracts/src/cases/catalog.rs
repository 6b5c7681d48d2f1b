//! The whole catalog, in one transaction.

use std::time::Duration;

use agora_domain::Error;
use agora_domain::error::Conflict;
use agora_domain::page::Keyset;
use agora_domain::products::{
    CatalogChange, CatalogSnapshot, Color, ImageUrl, Price, Product, ProductEdit, Size, Sku, Stock, Variant,
};

use crate::Repositories;
use crate::run::assert_fails;
use crate::world::{World, shuffled};

fn variants(stock: &[i64]) -> Vec<Variant> {
    let variant = |pieces: &i64| Variant {
        color: Color::parse("red").unwrap(),
        size: Size::parse("").unwrap(),
        stock: Stock::parse(*pieces).unwrap(),
    };
    stock.iter().map(variant).collect()
}

fn images(count: usize) -> Vec<ImageUrl> {
    (0..count).map(|n| ImageUrl::parse(&format!("https://host.example/{n}.png")).unwrap()).collect()
}

async fn all(catalog: &mut dyn CatalogSnapshot, at_once: usize) -> Vec<Product> {
    let mut all: Vec<Product> = Vec::new();
    loop {
        let last = all.last().map(|product| Keyset { at: product.created_at, id: product.id.uuid() });
        let next = catalog.after(last, at_once).await.unwrap();
        assert!(next.len() <= at_once);
        if next.is_empty() {
            return all;
        }
        all.extend(next);
    }
}

async fn stored(db: &Repositories) -> Vec<Product> {
    all(&mut *db.catalog.snapshot().await.unwrap(), 100).await
}

async fn store(db: &Repositories, changes: Vec<CatalogChange>) -> agora_domain::Result<()> {
    let mut catalog = db.catalog.change().await.unwrap();
    catalog.store(changes).await?;
    catalog.commit(None).await
}

pub async fn a_snapshot_reads_one_moment_of_the_catalog_oldest_first(db: Repositories) {
    let w = World::new(&db);
    assert_eq!(stored(&db).await, []);
    let mut expected = Vec::new();
    for n in 0..7 {
        expected.push(w.new_product(&format!("P{n}")));
    }
    // Two of the same instant are ordered by id.
    expected[4].created_at = expected[3].created_at;
    (expected[5].variants, expected[5].images) = (variants(&[3, 0]), images(2));
    for product in shuffled(&expected) {
        db.products.create(product, &w.entry(), None).await.unwrap();
    }
    let mut snapshot = db.catalog.snapshot().await.unwrap();
    w.product("later").await;
    db.products.delete(expected[0].id, &w.entry()).await.unwrap();
    for at_once in [1, 2, 3, 100] {
        assert_eq!(all(&mut *snapshot, at_once).await, expected, "{at_once} at once");
    }
}

pub async fn products_are_found_by_their_skus_in_any_letter_case(db: Repositories) {
    let w = World::new(&db);
    let one = w
        .product_with("Straße", |product| {
            (product.variants, product.images) = (variants(&[1, 2]), images(1));
        })
        .await;
    let two = w.product("ab-1").await;
    w.product("other").await;
    let keys = ["STRASSE", "AB-1", "none"].map(|sku| Sku::parse(sku).unwrap().key()).to_vec();
    let mut found = db.catalog.snapshot().await.unwrap().find_by_sku(keys).await.unwrap();
    found.sort_by_key(|product| product.id.uuid());
    assert_eq!(found, [one, two]);
}

pub async fn changes_are_visible_to_others_after_the_commit(db: Repositories) {
    let w = World::new(&db);
    let before = w.product("changed").await;
    let (one, two) = (w.new_product("one"), Product { variants: variants(&[2, 1]), ..w.new_product("two") });
    let changed = Product { price: Price::from_hundredths(5).unwrap(), ..before.clone() };
    let mut catalog = db.catalog.change().await.unwrap();
    catalog.store(vec![CatalogChange::Create(one.clone()), CatalogChange::Update(changed.clone())]).await.unwrap();
    catalog.store(vec![CatalogChange::Create(two.clone())]).await.unwrap();
    assert_eq!(
        all(&mut *catalog, 2).await,
        [changed.clone(), one.clone(), two.clone()],
        "the transaction sees its own changes"
    );
    assert_eq!(stored(&db).await, [before], "others do not see uncommitted changes");
    catalog.commit(None).await.unwrap();
    assert_eq!(stored(&db).await, [changed, one, two]);
}

pub async fn a_dropped_transaction_changes_nothing(db: Repositories) {
    let w = World::new(&db);
    let before = w.product("kept").await;
    let mut catalog = db.catalog.change().await.unwrap();
    let changed = Product { stock: Stock::parse(9).unwrap(), ..before.clone() };
    let changes = vec![CatalogChange::Update(changed), CatalogChange::Create(w.new_product("new"))];
    catalog.store(changes).await.unwrap();
    drop(catalog);
    assert_eq!(stored(&db).await, [before]);
    // The catalog can be changed again.
    w.product("new").await;
}

pub async fn updating_a_product_replaces_its_variants_and_images(db: Repositories) {
    let w = World::new(&db);
    let before = w
        .product_with("Sku", |product| {
            (product.variants, product.images) = (variants(&[1, 1, 1]), images(3));
        })
        .await;
    let beside = w.product_with("beside", |product| product.images = images(1)).await;
    let after = Product {
        sku: Sku::parse("SKU").unwrap(),
        variants: variants(&[7]),
        images: images(1),
        stock: Stock::parse(7).unwrap(),
        updated_at: w.now(),
        ..before
    };
    store(&db, vec![CatalogChange::Update(after.clone())]).await.unwrap();
    assert_eq!(stored(&db).await, [after.clone(), beside]);
    assert_eq!(db.products.find(after.id).await.unwrap(), Some(after));
}

pub async fn a_taken_sku_fails_the_transaction(db: Repositories) {
    let w = World::new(&db);
    let taken = w.product("Taken").await;
    let changes = vec![CatalogChange::Create(w.new_product("free")), CatalogChange::Create(w.new_product("TAKEN"))];
    assert_fails!(store(&db, changes).await, Error::Conflict(Conflict::Sku));
    assert_eq!(stored(&db).await, [taken]);
}

pub async fn readers_do_not_wait_for_a_transaction_but_writers_do(db: Repositories) {
    let w = World::new(&db);
    let before = w.product("edited").await;
    let mut catalog = db.catalog.change().await.unwrap();
    catalog.store(vec![CatalogChange::Create(w.new_product("new"))]).await.unwrap();
    let edit = ProductEdit { stock: Some(Stock::parse(9).unwrap()), ..ProductEdit::default() };
    let (writers, id, at) = (db.clone(), before.id, w.now());
    let mut writer = tokio::spawn(async move { writers.products.edit(id, &edit, &w.entry_at(at)).await });
    assert_eq!(db.products.find(id).await.unwrap(), Some(before.clone()), "reads do not wait");
    let early = tokio::time::timeout(Duration::from_millis(50), &mut writer).await;
    assert!(early.is_err(), "the writer waits");
    let changed = Product { price: Price::from_hundredths(5).unwrap(), ..before };
    catalog.store(vec![CatalogChange::Update(changed.clone())]).await.unwrap();
    catalog.commit(None).await.unwrap();
    let edited = writer.await.unwrap().unwrap();
    assert_eq!((edited.price, edited.stock.get()), (changed.price, 9), "neither change is lost");
}
