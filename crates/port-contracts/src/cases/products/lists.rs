//! The lists of products and their filters.

use agora_domain::clock::Timestamp;
use agora_domain::id::ProductId;
use agora_domain::page::PageRequest;
use agora_domain::products::{
    CatalogChange, Category, Color, Description, ImageUrl, Product, ProductEdit, ProductFilter, ProductName,
    ProductSummary, Size, Sku, Stock, Variant,
};

use crate::Repositories;
use crate::run::{pages, walk};
use crate::world::{INSTANTS, World, at, product_filter, shuffled};

fn name(text: &str) -> ProductName {
    ProductName::parse(text).unwrap()
}

fn category(text: &str) -> Category {
    Category::parse(text).unwrap()
}

fn described(text: &str) -> Description {
    Description::parse(text).unwrap()
}

fn stock(pieces: i64) -> Stock {
    Stock::parse(pieces).unwrap()
}

/// Returns a variant of a color, with a stock of one.
fn variant(color: &str) -> Variant {
    Variant { color: Color::parse(color).unwrap(), size: Size::parse("S").unwrap(), stock: stock(1) }
}

/// Returns the SKUs of the products that a filter passes.
async fn skus(db: &Repositories, category: Option<&str>, text: Option<&str>) -> Vec<String> {
    let filter = product_filter(category, text);
    let products = pages(100, async |page| db.products.list(&filter, page).await).await;
    products.into_iter().map(|product| product.sku.as_str().to_owned()).collect()
}

pub async fn an_empty_catalog_is_one_empty_page(db: Repositories) {
    let page = db.products.list(&ProductFilter::default(), PageRequest::FIRST).await.unwrap();
    assert_eq!((page.items, page.prev, page.next), (vec![], None, None));
    let page = db.products.list_short(PageRequest::FIRST).await.unwrap();
    assert_eq!((page.items, page.prev, page.next), (vec![], None, None));
}

pub async fn every_change_of_a_product_changes_the_version_of_the_catalog(db: Repositories) {
    let w = World::new(&db);
    let mut seen = vec![db.products.version().await.unwrap()];
    let product = w.product("one").await;
    seen.push(db.products.version().await.unwrap());
    let edit = ProductEdit { name: Some(name("Another name")), ..ProductEdit::default() };
    db.products.edit(product.id, &edit, &w.entry_at(at(1))).await.unwrap();
    seen.push(db.products.version().await.unwrap());
    // A change of only the variants.
    let edit = ProductEdit { variants: Some(vec![variant("red")]), ..ProductEdit::default() };
    db.products.edit(product.id, &edit, &w.entry_at(at(2))).await.unwrap();
    seen.push(db.products.version().await.unwrap());
    let mut change = db.catalog.change().await.unwrap();
    change.store(vec![CatalogChange::Update(product.clone())]).await.unwrap();
    assert_eq!(seen.last(), Some(&db.products.version().await.unwrap()), "not before it is committed");
    change.commit(None).await.unwrap();
    seen.push(db.products.version().await.unwrap());
    db.products.delete(product.id, &w.entry()).await.unwrap();
    seen.push(db.products.version().await.unwrap());
    for (n, version) in seen.iter().enumerate() {
        assert!(!seen[..n].contains(version), "state {n} has the name of an earlier one");
    }
    assert_eq!(seen.last(), Some(&db.products.version().await.unwrap()), "nothing was changed");
}

pub async fn products_are_listed_oldest_first_with_every_field(db: Repositories) {
    let w = World::new(&db);
    let mut products = Vec::new();
    let image = |n| ImageUrl::parse(&format!("https://images.example/{n}")).unwrap();
    for (n, instant) in (0..).zip(shuffled(INSTANTS.map(Timestamp::from_unix_millis))) {
        let product = w
            .product_with(&format!("sku {n}"), |product| {
                (product.created_at, product.name) = (instant, name(&format!("Product {n}")));
                // Different numbers of each, so that those of two products cannot be confused.
                product.variants = (0..n % 4).map(|n| variant(&format!("color {n}"))).collect();
                product.stock = stock(n % 4);
                product.images = (0..n % 3).map(image).collect();
            })
            .await;
        products.push(product);
    }
    products.sort_by_key(|product| product.created_at);
    let short: Vec<_> = products
        .iter()
        .map(|Product { id, name, price, .. }| ProductSummary { id: *id, name: name.clone(), price: *price })
        .collect();
    for size in [1, 3, INSTANTS.len(), 100] {
        let listed = pages(size, async |page| db.products.list(&ProductFilter::default(), page).await).await;
        assert_eq!(listed, products, "size {size}");
        assert_eq!(pages(size, async |page| db.products.list_short(page).await).await, short, "size {size}");
    }
}

pub async fn products_created_at_the_same_instant_are_listed_by_id(db: Repositories) {
    let w = World::new(&db);
    let ids: Vec<ProductId> = w.ids(7);
    for id in shuffled(ids.clone()) {
        w.product_with(&id.to_string(), |product| (product.id, product.created_at) = (id, at(0))).await;
    }
    for size in [1, 2, 7, 100] {
        let listed = pages(size, async |page| db.products.list(&ProductFilter::default(), page).await).await;
        assert_eq!(listed.iter().map(|product| product.id).collect::<Vec<_>>(), ids, "size {size}");
        let listed = pages(size, async |page| db.products.list_short(page).await).await;
        assert_eq!(listed.iter().map(|product| product.id).collect::<Vec<_>>(), ids, "size {size}");
    }
}

pub async fn a_category_filter_matches_in_any_letter_case(db: Repositories) {
    let w = World::new(&db);
    for (sku, text) in
        [("a", "Küche"), ("b", "KÜCHE"), ("c", "Küchen"), ("d", "Straße"), ("e", "K_che"), ("f", "Tea %")]
    {
        // The name of the category in another field does not match.
        w.product_with(sku, |product| (product.category, product.name) = (category(text), name("küche"))).await;
    }
    for (text, expected) in [
        ("küche", &["a", "b"][..]),
        ("KÜCHEN", &["c"]),
        ("STRASSE", &["d"]),
        ("k_che", &["e"]),
        ("TEA %", &["f"]),
        ("%", &[]),
        ("Küch", &[]),
        ("kuche", &[]),
    ] {
        assert_eq!(skus(&db, Some(text), None).await, expected, "{text}");
    }
}

pub async fn a_text_filter_matches_name_description_and_sku(db: Repositories) {
    let w = World::new(&db);
    w.product_with("plain", |product| product.name = name("Große TEEKANNE")).await;
    w.product_with("described", |product| product.description = described("Zur teekanne passend.\nСАМОВАР")).await;
    w.product("Teekanne-7").await;
    w.product_with("elsewhere", |product| product.category = category("Teekanne")).await;
    w.product_with("spread", |product| (product.name, product.description) = (name("Tee"), described("kanne"))).await;
    for (text, expected) in [
        ("teekanne", &["plain", "described", "Teekanne-7"][..]),
        ("EEKANN", &["plain", "described", "Teekanne-7"]),
        ("GROSSE TEE", &["plain"]),
        ("самовар", &["described"]),
        ("kanne-7", &["Teekanne-7"]),
        ("SPREAD", &["spread"]),
        ("teekannen", &[]),
        ("große  teekanne", &[]),
    ] {
        assert_eq!(skus(&db, None, Some(text)).await, expected, "{text}");
    }
}

pub async fn a_text_filter_finds_every_match_in_a_large_catalog_at_once(db: Repositories) {
    let w = World::new(&db);
    let mut products: Vec<Product> = (0..1_300).map(|n| w.new_product(&format!("SKU-{n}"))).collect();
    for (n, product) in products.iter_mut().enumerate() {
        product.description = described(&format!("Common to all, {} of its kind", n * 7919));
        product.category = category(if n % 3 == 0 { "Cups" } else { "Plates" });
        match n {
            600 => product.name = name("say \"rare\" it's \\ 100%"),
            601 => product.name = name("ÿ\u{10ffff}"),
            1_000..1_100 => product.name = name("Ünïcødé Größe 茶"),
            1_290 => product.sku = Sku::parse("SKU-ends-in-qz").unwrap(),
            _ => {}
        }
    }
    let mut change = db.catalog.change().await.unwrap();
    for some in products.chunks(300) {
        change.store(some.iter().cloned().map(CatalogChange::Create).collect()).await.unwrap();
    }
    change.commit(None).await.unwrap();
    let expect = async |products: &[Product], of: Option<&str>, text: &str| {
        let filter = product_filter(of, Some(text));
        let (key, of) = (filter.text_key.clone().unwrap(), filter.category_key.clone());
        let passes = |product: &&Product| {
            product.search_key().contains(&key) && of.as_ref().is_none_or(|of| *of == product.category.key())
        };
        let expected: Vec<_> = products.iter().filter(passes).map(|product| product.sku.as_str().to_owned()).collect();
        let found = pages(100, async |page| db.products.list(&filter, page).await).await;
        let found: Vec<_> = found.into_iter().map(|product| product.sku.as_str().to_owned()).collect();
        assert_eq!(found, expected, "{text} of {of:?}");
        expected.len()
    };
    let texts =
        ["common", "zzzz", "zz", "z", "qz", "q", "1299", "größe 茶", "茶", "é", "\"rare\"", "\" it", "it's \\", "100%"];
    let more = [
        "%",
        "\\",
        "ÿ",
        "\u{10ffff}",
        "-ends-in-qz",
        "sku-7",
        "kind sku",
        "7919 of its kind",
        "'",
        "*",
        "ab* OR c",
        ")",
    ];
    for text in texts.into_iter().chain(more) {
        for of in [None, Some("cups"), Some("plates")] {
            expect(&products, of, text).await;
        }
    }
    assert_eq!(expect(&products, None, "common to all").await, 1_300);
    assert_eq!(expect(&products, None, "qz").await, 1, "at the end of the text");

    // Changed products are found by their new texts only.
    let edit = ProductEdit { name: Some(name("now with qx")), ..ProductEdit::default() };
    products[1_299] = db.products.edit(products[1_299].id, &edit, &w.entry_at(at(1))).await.unwrap();
    db.products.delete(products.remove(1_290).id, &w.entry()).await.unwrap();
    products.push(w.product_with("new", |product| product.name = name("qy is new")).await);
    for (text, count) in [("qx", 1), ("now with qx", 1), ("qz", 0), ("qy is new", 1), ("sku-1299", 1)] {
        assert_eq!(expect(&products, None, text).await, count, "{text}");
    }
}

pub async fn a_text_filter_is_taken_literally(db: Repositories) {
    let w = World::new(&db);
    let texts =
        ["100% wool", "100 wool", "a_b", "axb", r"back\slash", r"back\\slash", r"\%", "it's", "say \"it\"", "[a-c]*?"];
    for (n, text) in texts.into_iter().enumerate() {
        let sku = format!("N{n}");
        match n % 2 {
            0 => w.product_with(&sku, |product| product.name = name(text)).await,
            _ => w.product_with(&sku, |product| product.description = described(text)).await,
        };
    }
    for (filter, expected) in [
        ("100%", &["N0"][..]),
        ("%", &["N0", "N6"]),
        ("_", &["N2"]),
        ("a_b", &["N2"]),
        (r"\", &["N4", "N5", "N6"]),
        (r"\\", &["N5"]),
        (r"\%", &["N6"]),
        (r"\_", &[]),
        ("'", &["N7"]),
        ("' OR '1'='1", &[]),
        ("\"", &["N8"]),
        ("*", &["N9"]),
        ("?", &["N9"]),
        ("[a", &["N9"]),
        ("[a-c]", &["N9"]),
        ("N_", &[]),
    ] {
        assert_eq!(skus(&db, None, Some(filter)).await, expected, "{filter}");
    }
}

pub async fn both_filters_combine_with_and(db: Repositories) {
    let w = World::new(&db);
    for (sku, kind, text) in
        [("a", "Tea", "Red pot"), ("b", "TEA", "Blue pot"), ("c", "Coffee", "Red pot"), ("d", "tea", "RED cup")]
    {
        w.product_with(sku, |product| (product.category, product.name) = (category(kind), name(text))).await;
    }
    for (kind, text, expected) in [
        (None, None, &["a", "b", "c", "d"][..]),
        (Some("tea"), Some("red"), &["a", "d"]),
        (Some("tea"), Some("pot"), &["a", "b"]),
        (Some("coffee"), Some("blue"), &[]),
        (Some("tea"), None, &["a", "b", "d"]),
        (None, Some("red"), &["a", "c", "d"]),
    ] {
        assert_eq!(skus(&db, kind, text).await, expected, "{kind:?} {text:?}");
    }
}

pub async fn filters_see_the_edited_product(db: Repositories) {
    let w = World::new(&db);
    let product = w
        .product_with("old sku", |product| {
            (product.name, product.description) = (name("old name"), described("old description"));
            product.category = category("Old");
        })
        .await;
    let edit = ProductEdit {
        name: Some(name("NEW name")),
        category: Some(category("NEW")),
        description: Some(described("NEW description")),
        sku: Some(Sku::parse("NEW sku").unwrap()),
        ..ProductEdit::default()
    };
    db.products.edit(product.id, &edit, &w.entry_at(w.now())).await.unwrap();
    for text in ["new name", "new description", "new sku"] {
        assert_eq!(skus(&db, Some("new"), Some(text)).await, ["NEW sku"], "{text}");
    }
    assert!(skus(&db, None, Some("old")).await.is_empty());
    assert!(skus(&db, Some("old"), None).await.is_empty());
    db.products.delete(product.id, &w.entry()).await.unwrap();
    assert!(skus(&db, Some("new"), Some("new")).await.is_empty());
}

pub async fn paging_through_a_filtered_list_survives_arrivals_and_deletions(db: Repositories) {
    let w = World::new(&db);
    let ids: Vec<ProductId> = w.ids(9);
    let store = async |sku: &str, kind: &str, text: &str, millis| {
        w.product_with(sku, |product| {
            (product.category, product.name, product.created_at) = (category(kind), name(text), at(millis));
        })
        .await
    };
    for (n, &id) in shuffled((0..).zip(&ids)) {
        w.product_with(&format!("wanted {n}"), |product| {
            (product.category, product.name) = (category("Tea"), name("Red pot"));
            (product.id, product.created_at) = (id, at(n / 3));
        })
        .await;
        store(&format!("other {n}"), "Coffee", "Red pot", n / 3).await;
        store(&format!("third {n}"), "Tea", "Blue pot", n / 3).await;
    }
    let filter = product_filter(Some("TEA"), Some("RED"));
    let mut round = 0;
    let disturb = async |read: &[Product]| {
        round += 1;
        store(&format!("early {round}"), "Tea", "Red cup", -1).await;
        if round <= 3 {
            store(&format!("late {round}"), "Tea", "Red cup", 1_000_000).await;
        }
        db.products.delete(read.last().unwrap().id, &w.entry()).await.unwrap();
    };
    let listed = walk(2, async |page| db.products.list(&filter, page).await, disturb).await;
    let listed: Vec<_> = listed.into_iter().map(|product| product.id).collect();
    assert_eq!(listed[..9], ids);
    assert_eq!(listed.len(), 12, "entries that were added after the page are listed as well");
}

pub async fn paging_through_the_short_list_survives_arrivals_and_deletions(db: Repositories) {
    let w = World::new(&db);
    let ids: Vec<ProductId> = w.ids(9);
    for (n, &id) in shuffled((0..).zip(&ids)) {
        w.product_with(&format!("old {n}"), |product| (product.id, product.created_at) = (id, at(n / 3))).await;
    }
    let mut round = 0;
    let disturb = async |read: &[ProductSummary]| {
        round += 1;
        w.product_with(&format!("early {round}"), |product| product.created_at = at(-1)).await;
        db.products.delete(read.last().unwrap().id, &w.entry()).await.unwrap();
    };
    let listed = walk(2, async |page| db.products.list_short(page).await, disturb).await;
    assert_eq!(listed.into_iter().map(|product| product.id).collect::<Vec<_>>(), ids);
}
