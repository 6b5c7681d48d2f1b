//! Tests that the search index forgets deleted things, and does not reveal hidden ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agora_domain::accounts::{Account, Email, NewAccount, PasswordHash, Privacy, Roles, Username, Viewer};
use agora_domain::audit::{Action, Actor, AuditEntry, Target};
use agora_domain::clock::Timestamp;
use agora_domain::id::UserId;
use agora_domain::page::PageRequest;
use agora_domain::products::{
    CatalogChange, Category, Description, Price, Product, ProductEdit, ProductName, Sku, Stock,
};
use agora_domain::search::{Needles, PeopleSearch, Query, SearchIndex};
use agora_port_contracts::Repositories;
use tokio::task::spawn_blocking;
use uuid::Uuid;

use crate::postgres::private_postgres;
use crate::{CallMeter, CallOutcome, Database, Options, QueryInstrumentation, call};

/// Returns the time `minutes` minutes from now.
#[allow(clippy::disallowed_methods, reason = "the databases have the time of the machine")]
fn in_minutes(minutes: i64) -> Timestamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp::from_unix_millis(i64::try_from(now.as_millis()).unwrap() + 60_000 * minutes)
}

fn product(n: u8) -> Product {
    let at = Timestamp::from_unix_millis(n.into());
    Product {
        id: Uuid::from_u128(n.into()).into(),
        sku: Sku::parse(&format!("s{n}")).unwrap(),
        name: ProductName::parse(&format!("word{n} shared")).unwrap(),
        description: Description::default(),
        price: Price::from_hundredths(1990).unwrap(),
        category: Category::parse("Kitchen").unwrap(),
        stock: Stock::parse(3).unwrap(),
        variants: vec![],
        images: vec![],
        created_at: at,
        updated_at: at,
    }
}

fn entry(n: u128) -> AuditEntry {
    let (id, at) = (Uuid::from_u128(n).into(), Timestamp::from_unix_millis(0));
    AuditEntry {
        id,
        at,
        actor: Actor::CommandLine,
        action: Action::ProductsImported,
        target: Target::Catalog,
        details: None,
    }
}

async fn forget(database: &Database) {
    while database.forget(in_minutes(10)).await.unwrap() {}
}

async fn words(database: &Database) -> (i64, Vec<String>) {
    call!(database, read packing::list_words()).unwrap()
}

/// Returns the words of buckets that contain the given products, sorted.
fn words_of(buckets: &[&[u8]]) -> Vec<String> {
    let mut words = Vec::new();
    for products in buckets.iter().filter(|products| !products.is_empty()) {
        words.extend(["kitchen", "shared"].map(str::to_owned));
        words.extend(products.iter().flat_map(|n| [format!("s{n}"), format!("word{n}")]));
    }
    words.sort_unstable();
    words
}

async fn expect_deleted_products_to_leave_the_index(database: Database) {
    let database = Arc::new(database.packing(4));
    let Repositories { search_index: index, products, catalog, .. } = Repositories::of(&database);
    for n in 0..12 {
        products.create(&product(n), &entry(n.into()), None).await.unwrap();
    }
    while index.pack().await.unwrap() {}
    assert_eq!(words(&database).await, (2, words_of(&[&[0, 1, 2, 3], &[4, 5, 6, 7]])));
    assert!(!index.forget(in_minutes(10)).await.unwrap(), "nothing is gone");

    products.delete(product(1).id, &entry(20)).await.unwrap();
    let rename = ProductEdit { name: Some(ProductName::parse("another").unwrap()), ..ProductEdit::default() };
    products.edit(product(6).id, &rename, &entry(21)).await.unwrap();
    assert!(!index.forget(in_minutes(-10)).await.unwrap(), "what was deleted since");
    assert_eq!(words(&database).await, (2, words_of(&[&[0, 1, 2, 3], &[4, 5, 6, 7]])));
    forget(&database).await;
    assert_eq!(words(&database).await, (2, words_of(&[&[0, 2, 3], &[4, 5, 7]])));

    // A product whose words do not change stays in its bucket.
    let cheaper = |n| CatalogChange::Update(Product { price: Price::from_hundredths(5).unwrap(), ..product(n) });
    let renamed = |n| CatalogChange::Update(Product { name: ProductName::parse("more").unwrap(), ..product(n) });
    let mut catalog = catalog.change().await.unwrap();
    catalog.store(vec![cheaper(0), renamed(2), cheaper(3), CatalogChange::Create(product(13))]).await.unwrap();
    catalog.commit(None).await.unwrap();
    forget(&database).await;
    assert_eq!(words(&database).await, (2, words_of(&[&[0, 3], &[4, 5, 7]])));

    for n in [0, 3, 4, 5, 7] {
        products.delete(product(n).id, &entry(30 + u128::from(n))).await.unwrap();
    }
    forget(&database).await;
    assert_eq!(words(&database).await, (1, vec![]), "no number of a bucket is given twice: the last one is kept");

    for n in 14..18 {
        products.create(&product(n), &entry(u128::from(n) + 40), None).await.unwrap();
    }
    while index.pack().await.unwrap() {}
    assert_eq!(words(&database).await.0, 1, "until there is another");
}

/// Counts the calls of a database.
#[derive(Default)]
struct Counter(AtomicUsize);

impl CallMeter for Counter {
    fn ended(&self, _: &'static str, _: Duration, _: CallOutcome) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn searching_for_something_hidden_takes_as_many_calls_as_for_something_absent() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", directory.path().join("agora.db").display());
    let counter = Arc::new(Counter::default());
    let instrumentation = QueryInstrumentation { meter: Some(counter.clone()), slow: None };
    let database = Database::open(&url, &Options::default()).await.unwrap().instrumented(instrumentation).packing(4);
    let Repositories { search_index: index, accounts, search, .. } = Repositories::of(&Arc::new(database));
    for n in 0..12 {
        let is_hidden = n == 1;
        let name = if is_hidden { "secret zebra".to_owned() } else { format!("user{n}") };
        let account = Account {
            id: UserId::new(Uuid::from_u128(n)),
            username: Username::parse(&name).unwrap(),
            email: Email::parse(&format!("{n}@example.com")).unwrap(),
            display_name: None,
            biography: None,
            profile_picture: None,
            privacy: Privacy { discoverable: !is_hidden, ..Privacy::default() },
            roles: Roles::USER,
            enabled: true,
            email_verified: false,
            created_at: Timestamp::from_unix_millis(n as i64),
        };
        let password = PasswordHash::new("hash".to_owned());
        accounts.create(&NewAccount { account, password, entry: None }, None).await.unwrap();
    }
    while index.pack().await.unwrap() {}
    let calls = async |text: &str| {
        let (needles, viewer) =
            (Needles::of(&Query::parse(text).unwrap(), None), Viewer::ordinary(UserId::new(Uuid::nil())));
        let before = counter.0.load(Ordering::Relaxed);
        let found =
            search.find_people(&PeopleSearch { needles, viewer, except: None }, PageRequest::FIRST).await.unwrap();
        assert!(found.items.is_empty());
        counter.0.load(Ordering::Relaxed) - before
    };
    for (hidden, absent) in
        [("zebra", "zebro"), ("secret z", "secret y"), ("zebra x", "zebro x"), ("\"secret zebra\"", "\"secret zebro\"")]
    {
        assert_eq!(calls(hidden).await, calls(absent).await, "{hidden}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_index_on_sqlite_forgets_deleted_products() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", directory.path().join("agora.db").display());
    expect_deleted_products_to_leave_the_index(Database::open(&url, &Options::default()).await.unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_index_on_postgres_forgets_deleted_products() {
    let url = spawn_blocking(private_postgres::fresh_database).await.unwrap();
    expect_deleted_products_to_leave_the_index(Database::open(&url, &Options::default()).await.unwrap()).await;
}
