mod import;

use std::sync::Arc;

use uuid::Uuid;

use super::*;
use crate::accounts::{Admin, Member, Roles};
use crate::audit::{Action, Actor, AuditEntry, Target};
use crate::clock::{MockClock, Timestamp};
use crate::error::{Conflict, Error, FieldErrors, FieldName, Resource, Result, Violation, ViolationKind};
use crate::fixtures::{self, caller, clock, ids};
use crate::id::{MockIdGenerator, ProductId, UserId};
use crate::idempotency::Attempt;
use crate::page::{Page, PageRequest};
use crate::version::Versions;

const ID: ProductId = ProductId::new(Uuid::from_u128(1));
const BEFORE: Timestamp = Timestamp::from_unix_millis(500);
const NOW: Timestamp = Timestamp::from_unix_millis(1_000);

const ADMIN: UserId = UserId::new(Uuid::from_u128(2));

fn admin() -> Admin {
    caller(ADMIN, Roles::ADMIN_AND_USER).admin().unwrap()
}

fn member() -> Member {
    fixtures::member(ADMIN, Roles::ADMIN_AND_USER)
}

/// Returns the audit entry of an action of the administrator.
fn entry_of(action: Action) -> AuditEntry {
    let (actor, details) = (Actor::Account(admin().id()), Some("SKU-1".to_owned()));
    AuditEntry { id: ID.uuid().into(), at: NOW, actor, action, target: Target::Product(ID), details }
}

/// Returns the use cases. An unexpected call of the repository fails the test.
fn products(expect: impl FnOnce(&mut MockProductRepository)) -> Products {
    let mut products = MockProductRepository::new();
    expect(&mut products);
    Products { products: Arc::new(products), clock: clock(NOW), ids: ids(ID.uuid()) }
}

fn sku(text: &str) -> Option<Sku> {
    Some(Sku::parse(text).unwrap())
}

fn name(text: &str) -> Option<ProductName> {
    Some(ProductName::parse(text).unwrap())
}

fn price(literal: &str) -> Option<Price> {
    Some(Price::parse(literal).unwrap())
}

fn category(text: &str) -> Option<Category> {
    Some(Category::parse(text).unwrap())
}

fn description(text: &str) -> Option<Description> {
    Some(Description::parse(text).unwrap())
}

fn stock(pieces: i64) -> Option<Stock> {
    Some(Stock::parse(pieces).unwrap())
}

/// Returns the fewest fields that make a product.
fn fields() -> ProductEdit {
    ProductEdit {
        sku: sku("SKU-1"),
        name: name("Mug"),
        price: price("19.90"),
        category: category("Kitchen"),
        stock: stock(5),
        ..ProductEdit::default()
    }
}

fn variant_fields(stock: i64) -> VariantFields {
    VariantFields { color: Some("red".to_owned()), size: Some("M".to_owned()), stock: Some(stock) }
}

/// Returns variants with these numbers of pieces.
fn variants(stock: &[i64]) -> Option<Vec<Variant>> {
    Some(Variant::parse_all(stock.iter().copied().map(variant_fields).collect()).unwrap())
}

fn new(fields: ProductEdit) -> Result<NewProduct, FieldErrors> {
    fields.into_new(FieldErrors::default())
}

fn product(fields: ProductEdit) -> Result<Product, FieldErrors> {
    new(fields).map(|new| new.into_product(ID, BEFORE))
}

fn listed(errors: &FieldErrors) -> Vec<(FieldName, String)> {
    let text = |violations: &[Violation]| violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    errors.iter().map(|(field, violations)| (field, text(violations))).collect()
}

#[test]
fn a_price_is_an_exact_decimal_with_at_most_two_decimals() {
    for (literal, expected) in [
        ("0", Some((0, "0.00"))),
        ("0.01", Some((1, "0.01"))),
        ("0.1", Some((10, "0.10"))),
        ("19", Some((1_900, "19.00"))),
        ("19.9", Some((1_990, "19.90"))),
        ("19.90", Some((1_990, "19.90"))),
        ("19.900", Some((1_990, "19.90"))),
        ("19.09", Some((1_909, "19.09"))),
        ("999999999999.99", Some((99_999_999_999_999, "999999999999.99"))),
        ("1000000000000", None),
        ("1000000000000.00", None),
        ("99999999999999999999", None),
        ("19.999", None),
        ("19.001", None),
        ("-1", None),
        ("+1", None),
        ("1e3", None),
        (".5", None),
        ("5.", None),
        (".", None),
        ("1.2.3", None),
        ("1,5", None),
        (" 1", None),
        ("٣", None),
        ("", None),
        ("NaN", None),
        ("Infinity", None),
    ] {
        let parsed = Price::parse(literal).ok().map(|price| (price.hundredths(), price.to_string()));
        assert_eq!(parsed, expected.map(|(hundredths, shown)| (hundredths, shown.to_owned())), "{literal:?}");
    }
}

#[test]
fn a_price_of_hundredths_is_0_to_under_10_to_the_12() {
    for (hundredths, valid) in [(-1, false), (0, true), (99_999_999_999_999, true), (100_000_000_000_000, false)] {
        assert_eq!(Price::from_hundredths(hundredths).is_ok(), valid, "{hundredths}");
    }
}

#[test]
fn stock_is_0_to_the_largest_number_of_32_bits() {
    for (pieces, valid) in
        [(i64::MIN, false), (-1, false), (0, true), (2_147_483_647, true), (2_147_483_648, false), (i64::MAX, false)]
    {
        let parsed = Stock::parse(pieces).map(|stock| i64::from(stock.get()));
        let expected = if valid {
            Ok(pieces)
        } else {
            Err(Violation::new(ViolationKind::OutOfRange, "Stock must be 0 to 2147483647"))
        };
        assert_eq!(parsed, expected, "{pieces}");
    }
}

#[test]
fn texts_are_limited_in_characters() {
    type Parse = fn(&str) -> Result<(), Violation>;
    let table: [(&str, usize, bool, Parse); 6] = [
        ("sku", 64, true, |text| Sku::parse(text).map(drop)),
        ("name", 200, true, |text| ProductName::parse(text).map(drop)),
        ("category", 100, true, |text| Category::parse(text).map(drop)),
        ("description", 5000, false, |text| Description::parse(text).map(drop)),
        ("color", 100, false, |text| Color::parse(text).map(drop)),
        ("size", 100, false, |text| Size::parse(text).map(drop)),
    ];
    for (name, max, required, parse) in table {
        assert!(parse(&"ä".repeat(max)).is_ok(), "{name}");
        assert!(parse(&"ä".repeat(max + 1)).is_err(), "{name}");
        assert_eq!(parse(" ").is_err(), required, "{name}");
        assert!(parse("a\0").is_err(), "{name}");
    }
}

#[test]
fn skus_and_categories_are_compared_in_any_letter_case() {
    assert_eq!(Sku::parse(" Äb-1 ").unwrap().key(), Sku::parse("äB-1").unwrap().key());
    assert_eq!(Category::parse("KÜCHE").unwrap().key(), Category::parse("küche").unwrap().key());
}

#[test]
fn an_image_is_an_absolute_web_address() {
    let longest = format!("https://example.com/{}", "x".repeat(2048 - 20));
    for good in [
        "https://example.com/mug.png",
        "http://example.com",
        "http://[::1]:8080/a?b#c",
        "https://exämple.com/ä",
        &longest,
    ] {
        assert_eq!(ImageUrl::parse(good).unwrap().as_str(), good);
    }
    assert_eq!(ImageUrl::parse(" https://example.com ").unwrap().as_str(), "https://example.com");
    for bad in [
        "",
        "mug.png",
        "/mug.png",
        "//example.com/mug.png",
        "ftp://example.com/mug.png",
        "javascript:alert(1)",
        "data:image/png;base64,AAAA",
        "https://",
        "https:///mug.png",
        "https://example.com/a b",
        "https://example.com/a\nb",
        "https://example.com/a\0b",
        &format!("{longest}x"),
    ] {
        assert!(ImageUrl::parse(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn the_required_fields_suffice_for_a_product() {
    let made = product(fields()).unwrap();
    assert_eq!(
        made,
        Product {
            id: ID,
            sku: Sku::parse("SKU-1").unwrap(),
            name: ProductName::parse("Mug").unwrap(),
            description: Description::default(),
            price: Price::from_hundredths(1_990).unwrap(),
            category: Category::parse("Kitchen").unwrap(),
            stock: Stock::parse(5).unwrap(),
            variants: Vec::new(),
            images: Vec::new(),
            created_at: BEFORE,
            updated_at: BEFORE,
        }
    );
}

const REQUIRED: [(FieldName, &str); 5] = [
    (FieldName::Sku, "SKU is required"),
    (FieldName::Name, "Name is required"),
    (FieldName::Price, "Price is required"),
    (FieldName::Category, "Category is required"),
    (FieldName::Stock, "Stock is required"),
];

#[test]
fn every_missing_field_is_reported_at_once() {
    let required = |(field, message): (FieldName, &str)| (field, message.to_owned());
    assert_eq!(listed(&product(ProductEdit::default()).unwrap_err()), REQUIRED.map(required));
    let no_variants = ProductEdit { variants: variants(&[]), stock: None, ..fields() };
    assert_eq!(listed(&product(no_variants).unwrap_err()), [required(REQUIRED[4])]);
}

#[test]
fn invalid_fields_are_reported_along_with_missing_ones() {
    let mut errors = FieldErrors::default();
    assert_eq!(errors.check(FieldName::Name, ProductName::parse(&"x".repeat(201))), None);
    let mut expected = REQUIRED.map(|(field, message)| (field, message.to_owned()));
    expected[1].1 = "Name must be at most 200 characters".to_owned();
    assert_eq!(listed(&ProductEdit::default().into_new(errors).unwrap_err()), expected);
}

#[test]
fn an_invalid_entry_is_named_by_its_number() {
    let urls = ["https://example.com", "mug.png"].map(str::to_owned);
    let invalid = ImageUrl::parse_all(urls.into()).unwrap_err().to_string();
    assert_eq!(invalid, "Image must be an absolute http or https URL (entry 2)");
    let invalid = Variant::parse_all(vec![VariantFields::default()]).unwrap_err().to_string();
    assert_eq!(invalid, "Stock is required (entry 1)");
}

#[test]
fn invalid_variants_do_not_make_the_stock_required() {
    let mut errors = FieldErrors::default();
    let parsed = Variant::parse_all([1, -1].map(variant_fields).into());
    let variants = errors.check(FieldName::Variants, parsed);
    let refused = ProductEdit { variants, stock: None, ..fields() }.into_new(errors.clone());
    assert_eq!(refused.unwrap_err(), errors);
}

/// The stock of each variant, the stock given for the product, and the resulting stock or violation.
type Sum = (&'static [i64], Option<i64>, Result<i32, &'static str>);

const SUMS: [Sum; 6] = [
    (&[2, 3], None, Ok(5)),
    (&[2, 3], Some(5), Ok(5)),
    (&[0], Some(0), Ok(0)),
    (&[2, 3], Some(6), Err("Stock must be the sum of the variants' stock, 5")),
    (&[2_147_483_647], None, Ok(i32::MAX)),
    (&[2_147_483_647, 1], None, Err("Stock must be 0 to 2147483647")),
];

#[test]
fn a_new_products_stock_is_the_sum_of_its_variants() {
    for (stocks, stock, expected) in SUMS {
        let given = stock.map(|pieces| Stock::parse(pieces).unwrap());
        let made = product(ProductEdit { variants: variants(stocks), stock: given, ..fields() });
        match expected {
            Ok(sum) => assert_eq!(made.unwrap().stock.get(), sum, "{stocks:?}, {stock:?}"),
            Err(message) => assert_eq!(listed(&made.unwrap_err()), [(FieldName::Stock, message.to_owned())]),
        }
    }
}

#[test]
fn an_edited_products_stock_is_the_sum_of_its_variants() {
    for (stocks, stock, expected) in SUMS {
        let given = stock.map(|pieces| Stock::parse(pieces).unwrap());
        let edit = ProductEdit { variants: variants(stocks), stock: given, ..ProductEdit::default() };
        let edited = product(fields()).unwrap().apply(&edit, NOW);
        match (edited, expected) {
            (Ok(edited), Ok(sum)) => assert_eq!(edited.stock.get(), sum, "{stocks:?}, {stock:?}"),
            (Err(Error::Invalid(errors)), Err(message)) => {
                assert_eq!(listed(&errors), [(FieldName::Stock, message.to_owned())]);
            }
            (edited, _) => panic!("{stocks:?}, {stock:?}: {edited:?}"),
        }
    }
}

#[test]
fn a_stock_alone_must_still_be_the_sum_of_the_stored_variants() {
    let stored = product(ProductEdit { variants: variants(&[2, 3]), stock: None, ..fields() }).unwrap();
    let with = |variants, stock| ProductEdit { variants, stock, ..ProductEdit::default() };
    assert_eq!(stored.clone().apply(&with(None, stock(5)), NOW).unwrap().stock.get(), 5);
    assert!(matches!(stored.clone().apply(&with(None, stock(4)), NOW), Err(Error::Invalid(_))));
    assert_eq!(stored.clone().apply(&with(variants(&[]), stock(4)), NOW).unwrap().stock.get(), 4);
    assert_eq!(stored.apply(&with(variants(&[]), None), NOW).unwrap().stock.get(), 5);
}

#[test]
fn an_edit_changes_only_the_given_fields() {
    let stored = product(fields()).unwrap();
    let nothing = stored.clone().apply(&ProductEdit::default(), NOW).unwrap();
    assert_eq!(nothing, stored);
    let same = stored.clone().apply(&fields(), NOW).unwrap();
    assert_eq!(same, stored);
    let renamed = ProductEdit { name: name("Cup"), ..ProductEdit::default() };
    let expected = Product { name: ProductName::parse("Cup").unwrap(), updated_at: NOW, ..stored.clone() };
    assert_eq!(stored.clone().apply(&renamed, NOW).unwrap(), expected);
    let all = ProductEdit {
        sku: sku("SKU-2"),
        name: name("Cup"),
        description: description("blue"),
        price: price("1"),
        category: category("Bar"),
        stock: stock(7),
        variants: variants(&[3, 4]),
        images: Some(vec![ImageUrl::parse("https://example.com/cup.png").unwrap()]),
        versions: Versions::Any,
    };
    let made_so = product(all.clone()).unwrap();
    assert_eq!(stored.apply(&all, NOW).unwrap(), Product { updated_at: NOW, ..made_so });
}

#[test]
fn filters_and_search_keys_match_in_any_letter_case() {
    assert_eq!(ProductFilter::new(None, None), ProductFilter::default());
    let filter = ProductFilter::new(category(" KÜCHE ").as_ref(), None);
    let made = product(ProductEdit {
        name: name("Große TASSE"),
        description: description("Für Kaffee"),
        category: category("Küche"),
        ..fields()
    });
    let made = made.unwrap();
    assert_eq!(filter.category_key, Some(made.category.key()));
    for text in ["tasse", "GROSSE", "für", "FÜR KAFFEE", "sku-1"] {
        let key = SearchText::parse(text).unwrap().key();
        assert!(made.search_key().contains(&key), "{text}");
    }
    let key = SearchText::parse("Küche").unwrap().key();
    assert!(!made.search_key().contains(&key), "the category is no searched text");
}

#[tokio::test]
async fn a_product_is_added_with_its_fields() {
    let products = products(|products| {
        products
            .expect_create()
            .once()
            .withf(|made, entry, _| {
                *made == new(fields()).unwrap().into_product(ID, NOW) && *entry == entry_of(Action::ProductCreated)
            })
            .returning(|_, _, _| Ok(()));
    });
    assert_eq!(
        products.create(&admin(), new(fields()).unwrap(), Attempt::Unnamed).await.unwrap(),
        new(fields()).unwrap().into_product(ID, NOW)
    );
}

#[tokio::test]
async fn a_taken_sku_is_a_conflict() {
    let products = products(|products| {
        products.expect_create().returning(|_, _, _| Err(Error::Conflict(Conflict::Sku)));
    });
    assert!(matches!(
        products.create(&admin(), new(fields()).unwrap(), Attempt::Unnamed).await,
        Err(Error::Conflict(Conflict::Sku))
    ));
}

#[tokio::test]
async fn an_edit_is_passed_to_the_repository() {
    let products = products(|products| {
        products.expect_find().returning(|_| Ok(Some(product(fields()).unwrap())));
        products
            .expect_edit()
            .once()
            .withf(|id, edit, entry| *id == ID && *edit == fields() && *entry == entry_of(Action::ProductUpdated))
            .returning(|_, _, _| Ok(product(fields()).unwrap()));
    });
    let managed = products.managed(&admin(), ID).await.unwrap();
    assert_eq!(products.update(managed, &fields()).await.unwrap(), product(fields()).unwrap());
}

#[tokio::test]
async fn a_missing_product_is_not_found() {
    let products = products(|products| {
        let mut stored = vec![product(fields()).unwrap(); 2];
        products.expect_find().returning(move |_| Ok(stored.pop()));
        products.expect_edit().once().returning(|_, _, _| Err(Error::NotFound(Resource::Product)));
        products
            .expect_delete()
            .once()
            .withf(|id, entry| *id == ID && *entry == entry_of(Action::ProductDeleted))
            .returning(|_, _| Err(Error::NotFound(Resource::Product)));
    });
    let deleted_meanwhile = products.managed(&admin(), ID).await.unwrap();
    assert!(matches!(products.delete(&admin(), ID).await, Err(Error::NotFound(Resource::Product))));
    for missing in [
        products.get(ID).await.map(drop),
        products.managed(&admin(), ID).await.map(drop),
        products.update(deleted_meanwhile, &fields()).await.map(drop),
        products.delete(&admin(), ID).await,
    ] {
        assert!(matches!(missing, Err(Error::NotFound(Resource::Product))));
    }
}

#[tokio::test]
async fn lists_pass_filter_and_page_to_the_repository() {
    let products = products(|products| {
        products
            .expect_list()
            .once()
            .withf(|filter, page| {
                *filter == ProductFilter::new(category("bar").as_ref(), None) && *page == PageRequest::FIRST
            })
            .returning(|_, _| {
                Ok(Page { items: vec![product(fields()).unwrap()], keys: vec![], prev: None, next: None })
            });
        products
            .expect_list_short()
            .once()
            .returning(|_| Ok(Page { items: Vec::new(), keys: vec![], prev: None, next: None }));
    });
    let listed = products.list(&ProductFilter::new(category("Bar").as_ref(), None), PageRequest::FIRST).await.unwrap();
    assert_eq!(listed.items, [product(fields()).unwrap()]);
    assert_eq!(products.list_short(&member(), PageRequest::FIRST).await.unwrap().items, []);
}
