mod import;

use std::sync::Arc;

use uuid::Uuid;

use super::*;
use crate::accounts::{Admin, Caller, Member, Roles, Session};
use crate::clock::{MockClock, Timestamp};
use crate::error::{Conflict, Error, FieldErrors, Resource, Result, Violation, ViolationKind};
use crate::id::{MockIdGenerator, ProductId, SessionId, UserId};
use crate::idempotency::Attempt;
use crate::page::{Page, PageRequest};

const ID: ProductId = ProductId::new(Uuid::from_u128(1));
const BEFORE: Timestamp = Timestamp::from_unix_millis(500);
const NOW: Timestamp = Timestamp::from_unix_millis(1_000);

fn caller() -> Caller {
    let user = UserId::new(Uuid::from_u128(2));
    let session = Session { id: SessionId::new(Uuid::nil()), user, opened_at: BEFORE };
    Caller { user, session, roles: Roles::ADMIN_AND_USER }
}

fn admin() -> Admin {
    caller().admin().unwrap()
}

fn member() -> Member {
    caller().member().unwrap()
}

/// The use cases; a call of the repository that is not expected fails the test.
fn products(expect: impl FnOnce(&mut MockProductRepository)) -> Products {
    let mut products = MockProductRepository::new();
    expect(&mut products);
    let mut clock = MockClock::new();
    clock.expect_now().return_const(NOW);
    let mut ids = MockIdGenerator::new();
    ids.expect_generate().return_const(ID.uuid());
    Products { products: Arc::new(products), clock: Arc::new(clock), ids: Arc::new(ids) }
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// The least that makes a product.
fn fields() -> ProductFields {
    ProductFields {
        sku: some("SKU-1"),
        name: some("Mug"),
        price: some("19.90"),
        category: some("Kitchen"),
        stock: Some(5),
        ..ProductFields::default()
    }
}

/// Variants with these numbers of pieces.
fn variants(stock: &[i64]) -> Option<Vec<VariantFields>> {
    let variant = |stock: &i64| VariantFields { color: some("red"), size: some("M"), stock: Some(*stock) };
    Some(stock.iter().map(variant).collect())
}

fn product(fields: ProductFields) -> Result<Product, FieldErrors> {
    fields.into_new().map(|new| new.into_product(ID, BEFORE))
}

fn listed(errors: &FieldErrors) -> Vec<(&'static str, String)> {
    let text = |violations: &[Violation]| violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    // Leaked, so that what is expected can be written as it is.
    errors.iter().map(|(field, violations)| (&*field.to_owned().leak(), text(violations))).collect()
}

fn names(errors: &FieldErrors) -> Vec<&str> {
    errors.iter().map(|(field, _)| field).collect()
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
fn the_least_fields_make_a_product() {
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

#[test]
fn every_missing_field_is_reported_at_once() {
    let required = |(field, name): (&'static str, &str)| (field, format!("{name} is required"));
    let expected = [("category", "Category"), ("name", "Name"), ("price", "Price"), ("sku", "SKU"), ("stock", "Stock")];
    assert_eq!(listed(&product(ProductFields::default()).unwrap_err()), expected.map(required));
    let no_variants = ProductFields { variants: variants(&[]), stock: None, ..fields() };
    assert_eq!(listed(&product(no_variants).unwrap_err()), [required(("stock", "Stock"))]);
    let blank = ProductFields { sku: some(" "), name: some(""), category: some("\t"), ..fields() };
    let expected = [("category", "Category"), ("name", "Name"), ("sku", "SKU")];
    assert_eq!(listed(&product(blank).unwrap_err()), expected.map(required));
}

#[test]
fn every_invalid_field_is_reported_at_once() {
    let invalid = ProductFields {
        sku: some(&"x".repeat(65)),
        name: some(&"x".repeat(201)),
        description: some(&"x".repeat(5001)),
        price: some("-1"),
        category: some(&"x".repeat(101)),
        stock: Some(-1),
        variants: Some(vec![VariantFields::default()]),
        images: Some(vec!["https://example.com".to_owned(), "mug.png".to_owned()]),
    };
    let expected = ["category", "description", "images", "name", "price", "sku", "stock", "variants"];
    assert_eq!(names(&invalid.clone().into_edit().unwrap_err()), expected);
    let errors = product(invalid).unwrap_err();
    assert_eq!(names(&errors), expected);
    let message = |field| listed(&errors).into_iter().find(|(name, _)| *name == field).unwrap().1;
    assert_eq!(message("variants"), "Stock is required (entry 1)");
    assert_eq!(message("images"), "Image must be an absolute http or https URL (entry 2)");
}

#[test]
fn an_invalid_variant_is_the_only_thing_reported_of_its_product() {
    let invalid = ProductFields { variants: variants(&[1, -1]), stock: None, ..fields() };
    assert_eq!(names(&product(invalid).unwrap_err()), ["variants"]);
}

/// The stock of each variant, the stock given for the product, and what that makes.
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
        let made = product(ProductFields { variants: variants(stocks), stock, ..fields() });
        match expected {
            Ok(sum) => assert_eq!(made.unwrap().stock.get(), sum, "{stocks:?}, {stock:?}"),
            Err(message) => assert_eq!(listed(&made.unwrap_err()), [("stock", message.to_owned())]),
        }
    }
}

#[test]
fn an_edited_products_stock_is_the_sum_of_its_variants() {
    for (stocks, stock, expected) in SUMS {
        let edit = ProductFields { variants: variants(stocks), stock, ..ProductFields::default() };
        let edited = product(fields()).unwrap().apply(&edit.into_edit().unwrap(), NOW);
        match (edited, expected) {
            (Ok(edited), Ok(sum)) => assert_eq!(edited.stock.get(), sum, "{stocks:?}, {stock:?}"),
            (Err(Error::Invalid(errors)), Err(message)) => {
                assert_eq!(listed(&errors), [("stock", message.to_owned())]);
            }
            (edited, _) => panic!("{stocks:?}, {stock:?}: {edited:?}"),
        }
    }
}

#[test]
fn a_stock_alone_must_still_be_the_sum_of_the_stored_variants() {
    let stored = product(ProductFields { variants: variants(&[2, 3]), stock: None, ..fields() }).unwrap();
    let with = |variants, stock| ProductFields { variants, stock, ..ProductFields::default() }.into_edit().unwrap();
    assert_eq!(stored.clone().apply(&with(None, Some(5)), NOW).unwrap().stock.get(), 5);
    assert!(matches!(stored.clone().apply(&with(None, Some(4)), NOW), Err(Error::Invalid(_))));
    assert_eq!(stored.clone().apply(&with(variants(&[]), Some(4)), NOW).unwrap().stock.get(), 4);
    assert_eq!(stored.apply(&with(variants(&[]), None), NOW).unwrap().stock.get(), 5);
}

#[test]
fn an_edit_changes_what_is_given_and_nothing_else() {
    let stored = product(fields()).unwrap();
    let edit = |fields: ProductFields| fields.into_edit().unwrap();
    let nothing = stored.clone().apply(&edit(ProductFields::default()), NOW).unwrap();
    assert_eq!(nothing, stored);
    let same = stored.clone().apply(&edit(fields()), NOW).unwrap();
    assert_eq!(same, stored);
    let renamed = edit(ProductFields { name: some("Cup"), ..ProductFields::default() });
    let name = ProductName::parse("Cup").unwrap();
    assert_eq!(stored.clone().apply(&renamed, NOW).unwrap(), Product { name, updated_at: NOW, ..stored.clone() });
    let all = ProductFields {
        sku: some("SKU-2"),
        name: some("Cup"),
        description: some("blue"),
        price: some("1"),
        category: some("Bar"),
        stock: Some(7),
        variants: variants(&[3, 4]),
        images: Some(vec!["https://example.com/cup.png".to_owned()]),
    };
    let made_so = product(all.clone()).unwrap();
    assert_eq!(stored.apply(&edit(all), NOW).unwrap(), Product { updated_at: NOW, ..made_so });
}

#[test]
fn filters_and_search_keys_meet_in_any_letter_case() {
    let blank = ProductFilter::parse(Some(" "), Some("")).unwrap();
    assert_eq!(blank, ProductFilter::default());
    assert_eq!(ProductFilter::parse(None, None).unwrap(), blank);
    let filter = ProductFilter::parse(Some(" KÜCHE "), Some(" tasse ")).unwrap();
    let made = product(ProductFields {
        name: some("Große TASSE"),
        description: some("Für Kaffee"),
        category: some("Küche"),
        ..fields()
    });
    let made = made.unwrap();
    assert_eq!(filter.category_key, Some(made.category.key()));
    for text in ["tasse", "GROSSE", "für", "FÜR KAFFEE", "sku-1"] {
        let key = ProductFilter::parse(None, Some(text)).unwrap().text_key.unwrap();
        assert!(made.search_key().contains(&key), "{text}");
    }
    let key = ProductFilter::parse(None, Some("Küche")).unwrap().text_key.unwrap();
    assert!(!made.search_key().contains(&key), "the category is no searched text");
}

#[tokio::test]
async fn a_product_is_added_as_its_fields_say() {
    let products = products(|products| {
        products
            .expect_create()
            .once()
            .withf(|made, _| *made == fields().into_new().unwrap().into_product(ID, NOW))
            .returning(|_, _| Ok(()));
    });
    assert_eq!(
        products.create(&admin(), fields().into_new().unwrap(), Attempt::Unnamed).await.unwrap(),
        fields().into_new().unwrap().into_product(ID, NOW)
    );
}

#[tokio::test]
async fn a_taken_sku_is_a_conflict() {
    let products = products(|products| {
        products.expect_create().returning(|_, _| Err(Error::Conflict(Conflict::Sku)));
    });
    assert!(matches!(
        products.create(&admin(), fields().into_new().unwrap(), Attempt::Unnamed).await,
        Err(Error::Conflict(Conflict::Sku))
    ));
}

#[tokio::test]
async fn an_edit_is_stored_as_its_fields_say() {
    let products = products(|products| {
        products.expect_find().returning(|_| Ok(Some(product(fields()).unwrap())));
        products
            .expect_edit()
            .once()
            .withf(|id, edit, at| (*id, *at) == (ID, NOW) && *edit == fields().into_edit().unwrap())
            .returning(|_, _, _| Ok(Some(product(fields()).unwrap())));
    });
    let managed = products.managed(&admin(), ID).await.unwrap();
    assert_eq!(products.update(managed, &fields().into_edit().unwrap()).await.unwrap(), product(fields()).unwrap());
}

#[tokio::test]
async fn a_missing_product_is_not_found() {
    let products = products(|products| {
        let mut stored = vec![product(fields()).unwrap()];
        products.expect_find().returning(move |_| Ok(stored.pop()));
        products.expect_edit().once().returning(|_, _, _| Ok(None));
        products.expect_delete().once().returning(|_| Ok(None));
    });
    let deleted_meanwhile = products.managed(&admin(), ID).await.unwrap();
    for missing in [
        products.get(ID).await.map(drop),
        products.managed(&admin(), ID).await.map(drop),
        products.update(deleted_meanwhile, &fields().into_edit().unwrap()).await.map(drop),
        products.delete(&admin(), ID).await,
    ] {
        assert!(matches!(missing, Err(Error::NotFound(Resource::Product))));
    }
}

#[tokio::test]
async fn lists_pass_on_filter_and_page() {
    let products = products(|products| {
        products
            .expect_list()
            .once()
            .withf(|filter, page| {
                *filter == ProductFilter::parse(Some("bar"), None).unwrap() && *page == PageRequest::FIRST
            })
            .returning(|_, _| {
                Ok(Page { items: vec![product(fields()).unwrap()], keys: vec![], prev: None, next: None })
            });
        products
            .expect_list_short()
            .once()
            .returning(|_| Ok(Page { items: Vec::new(), keys: vec![], prev: None, next: None }));
    });
    let listed = products.list(&ProductFilter::parse(Some("Bar"), None).unwrap(), PageRequest::FIRST).await.unwrap();
    assert_eq!(listed.items, [product(fields()).unwrap()]);
    assert_eq!(products.list_short(&member(), PageRequest::FIRST).await.unwrap().items, []);
}
