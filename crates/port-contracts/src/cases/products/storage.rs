//! Creating, finding, changing and deleting products.

use agora_domain::Error;
use agora_domain::clock::Timestamp;
use agora_domain::error::{Conflict, Resource};
use agora_domain::id::ProductId;
use agora_domain::page::PageRequest;
use agora_domain::products::{
    Category, Color, Description, ImageUrl, Price, Product, ProductEdit, ProductName, ProductSummary, Size, Sku, Stock,
    Variant,
};
use agora_domain::version::Versions;

use crate::Repositories;
use crate::run::{assert_fails, concurrently};
use crate::world::{INSTANTS, ODD_TEXTS, World};

/// Pairs of spellings that count as the same SKU.
const SAME: [(&str, &str); 5] =
    [("AB-12x", "ab-12X"), ("ÉTÉ", "été"), ("ЧАЙ", "чай"), ("STRASSE", "straße"), ("ΣΑΣ", "σας")];

const PRICES: [i64; 6] = [0, 1, 10, 999, 9_007_199_254_741, 99_999_999_999_999];

fn sku(text: &str) -> Sku {
    Sku::parse(text).unwrap()
}

fn stock(pieces: i64) -> Stock {
    Stock::parse(pieces).unwrap()
}

fn price(hundredths: i64) -> Price {
    Price::from_hundredths(hundredths).unwrap()
}

fn variant(color: &str, size: &str, pieces: i64) -> Variant {
    Variant { color: Color::parse(color).unwrap(), size: Size::parse(size).unwrap(), stock: stock(pieces) }
}

fn images(urls: &[&str]) -> Vec<ImageUrl> {
    urls.iter().map(|url| ImageUrl::parse(url).unwrap()).collect()
}

async fn find(db: &Repositories, id: ProductId) -> Product {
    db.products.find(id).await.unwrap().unwrap()
}

pub async fn a_product_is_found_with_every_field_it_was_created_with(db: Repositories) {
    let w = World::new(&db);
    let full = w
        .product_with("full", |product| {
            product.description = Description::parse("Holds a litre.\n\nDishwasher-proof.").unwrap();
            // In no sorted order, and one of them twice.
            product.variants =
                vec![variant("red", "XL", 5), variant("", "", 0), variant("blue", "S", 7), variant("red", "XL", 5)];
            product.stock = stock(17);
            product.images =
                images(&["https://z.example/1.png", "http://a.example/?q=%20#x", "https://z.example/1.png"]);
            product.updated_at = product.created_at.plus_millis(7);
        })
        .await;
    let bare = w.product("bare").await;
    let most = w.product_with("most", |product| product.stock = stock(i32::MAX.into())).await;
    for product in [full, bare, most] {
        assert_eq!(find(&db, product.id).await, product);
    }
}

pub async fn prices_are_stored_exactly(db: Repositories) {
    let w = World::new(&db);
    for hundredths in PRICES {
        let product = w.product_with(&format!("P{hundredths}"), |product| product.price = price(hundredths)).await;
        assert_eq!(find(&db, product.id).await.price.hundredths(), hundredths);
        let short = db.products.list_short(PageRequest::FIRST).await.unwrap().items;
        let Product { id, name, price, .. } = product;
        assert_eq!(short.last(), Some(&ProductSummary { id, name, price }));
    }
}

pub async fn the_times_of_a_product_are_stored_to_the_millisecond(db: Repositories) {
    let w = World::new(&db);
    for instant in INSTANTS.map(Timestamp::from_unix_millis) {
        let later = instant.plus_millis(-1);
        let name = format!("T{}", instant.unix_millis());
        let product = w.product_with(&name, |new| (new.created_at, new.updated_at) = (instant, later)).await;
        assert_eq!(find(&db, product.id).await, product);
        let edit = ProductEdit { stock: Some(stock(9)), ..ProductEdit::default() };
        let edited = db.products.edit(product.id, &edit, &w.entry_at(instant)).await.unwrap();
        assert_eq!(edited, Product { stock: stock(9), updated_at: instant, ..product });
        assert_eq!(find(&db, edited.id).await, edited);
    }
}

pub async fn unusual_product_texts_are_stored_exactly(db: Repositories) {
    let w = World::new(&db);
    for text in ODD_TEXTS {
        let product = w
            .product_with(text, |product| {
                product.name = ProductName::parse(text).unwrap();
                product.description = Description::parse(&format!("{text}\r\n{text}")).unwrap();
                product.category = Category::parse(text).unwrap();
                product.variants = vec![variant(text, "", 1), variant("", text, 2)];
                product.stock = stock(3);
                product.images = images(&["https://host.example/'\"%_\\{}[]👍;--"]);
            })
            .await;
        assert_eq!(find(&db, product.id).await, product);
    }
}

pub async fn an_unknown_product_is_not_found(db: Repositories) {
    let w = World::new(&db);
    w.product("known").await;
    let unknown: ProductId = w.id();
    let edit = ProductEdit { stock: Some(stock(9)), ..ProductEdit::default() };
    assert_eq!(db.products.find(unknown).await.unwrap(), None);
    assert_fails!(db.products.edit(unknown, &edit, &w.entry_at(w.now())).await, Error::NotFound(Resource::Product));
    assert_fails!(
        db.products.edit(unknown, &ProductEdit::default(), &w.entry_at(w.now())).await,
        Error::NotFound(Resource::Product)
    );
    assert_fails!(db.products.delete(unknown, &w.entry()).await, Error::NotFound(Resource::Product));
}

pub async fn skus_are_unique_in_any_letter_case(db: Repositories) {
    let w = World::new(&db);
    let mut product = w.product("other").await;
    for (one, other) in SAME {
        w.product(one).await;
        for taken in [one, other] {
            let late = w.new_product(taken);
            assert_fails!(db.products.create(&late, &w.entry(), None).await, Error::Conflict(Conflict::Sku));
            assert_eq!(db.products.find(late.id).await.unwrap(), None);
            // The other fields of the edit are not changed either.
            let edit = ProductEdit { sku: Some(sku(taken)), stock: Some(stock(99)), ..ProductEdit::default() };
            assert_fails!(
                db.products.edit(product.id, &edit, &w.entry_at(w.now())).await,
                Error::Conflict(Conflict::Sku)
            );
            assert_eq!(find(&db, product.id).await, product);
        }
    }
    product.sku = sku("free");
    product.updated_at = w.now();
    let edit = ProductEdit { sku: Some(product.sku.clone()), ..ProductEdit::default() };
    assert_eq!(db.products.edit(product.id, &edit, &w.entry_at(product.updated_at)).await.unwrap(), product);
    w.product("OTHER").await;
}

pub async fn a_product_may_change_the_letter_case_of_its_sku(db: Repositories) {
    let w = World::new(&db);
    for (one, other) in SAME {
        let mut product = w.product(one).await;
        for spelling in [other, one, one] {
            let now = w.now();
            let edit = ProductEdit { sku: Some(sku(spelling)), ..ProductEdit::default() };
            product = product.apply(&edit, now).unwrap();
            assert_eq!(db.products.edit(product.id, &edit, &w.entry_at(now)).await.unwrap(), product);
            assert_eq!(find(&db, product.id).await, product);
        }
    }
}

pub async fn concurrent_uses_of_one_sku_succeed_once(db: Repositories) {
    let w = World::new(&db);
    let mut edited = Vec::new();
    for n in 0..10 {
        edited.push(w.product(&format!("old {n}")).await.id);
    }
    let outcomes = concurrently((0..20).map(|n| {
        let (db, new, entry) = (db.clone(), w.new_product(if n % 4 < 2 { "Été" } else { "éTÉ" }), w.entry());
        let product = edited[n / 2];
        async move {
            if n % 2 == 0 {
                return db.products.create(&new, &entry, None).await;
            }
            let edit = ProductEdit { sku: Some(new.sku), ..ProductEdit::default() };
            db.products.edit(product, &edit, &entry).await.map(drop)
        }
    }))
    .await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    for refused in outcomes.into_iter().filter(Result::is_err) {
        assert_fails!(refused, Error::Conflict(Conflict::Sku));
    }
    let listed = db.products.list_short(PageRequest::FIRST).await.unwrap().items;
    let mut holders = 0;
    for product in listed {
        holders += usize::from(find(&db, product.id).await.sku.key() == sku("été").key());
    }
    assert_eq!(holders, 1);
}

pub async fn an_edit_changes_only_the_given_fields(db: Repositories) {
    let w = World::new(&db);
    let (mut expected, other) = (w.product("edited").await, w.product("other").await);
    let none = ProductEdit::default;
    let steps = [
        none(),
        ProductEdit { name: Some(ProductName::parse("Samovar").unwrap()), ..none() },
        ProductEdit { description: Some(Description::parse("Boils 100% of it").unwrap()), ..none() },
        ProductEdit { price: Some(price(99_999_999_999_999)), ..none() },
        ProductEdit { category: Some(Category::parse("Tea").unwrap()), ..none() },
        ProductEdit { stock: Some(stock(0)), ..none() },
        ProductEdit { images: Some(images(&["https://b.example", "https://a.example"])), ..none() },
        ProductEdit { variants: Some(vec![variant("red", "S", 2), variant("blue", "S", 1)]), ..none() },
        ProductEdit { variants: Some(vec![variant("blue", "S", 1), variant("red", "S", 2)]), ..none() },
        ProductEdit { variants: Some(vec![variant("red", "S", 4)]), stock: Some(stock(4)), ..none() },
        ProductEdit { stock: Some(stock(4)), ..none() },
        ProductEdit { variants: Some(vec![]), images: Some(vec![]), ..none() },
        ProductEdit { stock: Some(stock(8)), description: Some(Description::default()), ..none() },
        ProductEdit { sku: Some(sku("renamed")), price: Some(price(0)), ..none() },
    ];
    for edit in steps {
        let now = w.now();
        expected = expected.apply(&edit, now).unwrap();
        let edited = db.products.edit(expected.id, &edit, &w.entry_at(now)).await.unwrap();
        assert_eq!(edited, expected, "{edit:?}");
        assert_eq!(find(&db, expected.id).await, expected, "{edit:?}");
    }
    assert_eq!(find(&db, other.id).await, other);
}

pub async fn concurrent_edits_of_one_version_take_effect_once(db: Repositories) {
    let w = World::new(&db);
    let product = w.product("edited").await;
    let outcomes = concurrently((0..16).map(|n| {
        // At the same instant as the version that the edit requires.
        let (db, id, at) = (db.clone(), product.id, product.updated_at);
        let entry = w.entry_at(at);
        let versions = Versions::OneOf(vec![at]);
        let edit = ProductEdit { stock: Some(stock(100 + n)), versions, ..ProductEdit::default() };
        async move { db.products.edit(id, &edit, &entry).await }
    }))
    .await;
    let mut edited = Vec::new();
    for outcome in outcomes {
        match outcome {
            Ok(edit) => edited.push(edit),
            refused => assert_fails!(refused, Error::Stale),
        }
    }
    assert_eq!(edited, [find(&db, product.id).await]);
    assert!(edited[0].updated_at > product.updated_at);
}

pub async fn an_edit_that_violates_the_stock_rule_changes_nothing(db: Repositories) {
    let w = World::new(&db);
    let product = w
        .product_with("varied", |product| {
            (product.variants, product.stock) = (vec![variant("red", "S", 2), variant("blue", "S", 1)], stock(3));
        })
        .await;
    let renamed = ProductEdit { name: Some(ProductName::parse("Samovar").unwrap()), ..ProductEdit::default() };
    let most = variant("red", "S", i32::MAX.into());
    for edit in [
        ProductEdit { stock: Some(stock(4)), ..renamed.clone() },
        ProductEdit { stock: Some(stock(3)), variants: Some(vec![variant("red", "S", 2)]), ..renamed.clone() },
        ProductEdit { variants: Some(vec![most, variant("blue", "S", 1)]), ..renamed },
    ] {
        assert_fails!(db.products.edit(product.id, &edit, &w.entry_at(w.now())).await, Error::Invalid(_));
        assert_eq!(find(&db, product.id).await, product);
    }
}

pub async fn concurrent_edits_of_a_product_all_take_effect(db: Repositories) {
    let w = World::new(&db);
    let product = w.product("edited").await.id;
    let none = ProductEdit::default;
    let edits = [
        ProductEdit { sku: Some(sku("renamed")), ..none() },
        ProductEdit { name: Some(ProductName::parse("Samovar").unwrap()), ..none() },
        ProductEdit { description: Some(Description::parse("Boils").unwrap()), ..none() },
        ProductEdit { price: Some(price(1)), ..none() },
        ProductEdit { category: Some(Category::parse("Tea").unwrap()), ..none() },
        ProductEdit { variants: Some(vec![variant("red", "S", 2)]), ..none() },
        ProductEdit { images: Some(images(&["https://b.example"])), ..none() },
    ];
    let mut expected = find(&db, product).await;
    for edit in &edits {
        expected = expected.apply(edit, w.now()).unwrap();
    }
    concurrently(edits.map(|edit| {
        let (db, entry) = (db.clone(), w.entry());
        async move { db.products.edit(product, &edit, &entry).await.unwrap() }
    }))
    .await;
    let edited = find(&db, product).await;
    assert_eq!(edited, Product { updated_at: edited.updated_at, ..expected });
}

pub async fn a_deleted_product_is_gone_and_its_sku_is_available(db: Repositories) {
    let w = World::new(&db);
    let deleted = w
        .product_with("gone", |product| {
            (product.variants, product.images) = (vec![variant("red", "S", 3)], images(&["https://a.example"]));
        })
        .await;
    let kept = w.product("kept").await;
    db.products.delete(deleted.id, &w.entry()).await.unwrap();
    assert_eq!(db.products.find(deleted.id).await.unwrap(), None);
    assert_fails!(db.products.delete(deleted.id, &w.entry()).await, Error::NotFound(Resource::Product));
    // A product with the same id would inherit variants and images that were left behind.
    let again = w.product_with("GONE", |product| product.id = deleted.id).await;
    for product in [again, kept] {
        assert_eq!(find(&db, product.id).await, product);
    }
}
