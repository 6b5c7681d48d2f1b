//! How much of a list is read for a request, and how large the response is.

use agora_domain::accounts::{Biography, Username};
use agora_domain::id::{PostId, ProductId};
use agora_domain::page::{Keyset, Page, PageRequest, Position};
use agora_domain::people::{Person, PostCounts, Relationship};
use agora_domain::posts::{Liker, PostAccess, Visibility};
use agora_domain::products::{Category, Description, Price, Product, ProductName, Sku, Stock};
use agora_domain::relation::Standing;
use futures_util::future::join_all;
use reqwest::header::{CACHE_CONTROL, CONTENT_LENGTH, ETAG, IF_NONE_MATCH, LINK};

use super::client::list as entries;
use super::*;

const MEBIBYTE: usize = 1 << 20;

/// Returns the requested page of `0..entries`. The key of each entry is its number in seconds.
fn numbers(entries: u16, page: PageRequest) -> Page<u16> {
    let key = |n: &u16| Keyset { at: Timestamp::from_unix_millis(i64::from(*n) * 1000), id: Uuid::nil() };
    let is_on_page = |n: &u16| match page.from {
        Position::After(position) => key(n) > position,
        Position::Before(position) => key(n) < position,
        Position::Start | Position::End => true,
    };
    let mut rows: Vec<u16> = (0..entries).filter(is_on_page).collect();
    if page.from.is_read_backward() {
        rows.reverse();
    }
    rows.truncate(page.overfetch());
    page.page_of(rows, key)
}

/// Returns a product with a description that is six times as long in JSON.
fn product(n: u16) -> Product {
    Product {
        id: ProductId::new(Uuid::from_u128(n.into())),
        sku: Sku::restore(n.to_string()),
        name: ProductName::restore("Pot".to_owned()),
        description: Description::restore("\u{1}".repeat(n as usize % 5000)),
        price: Price::parse("9.99").unwrap(),
        category: Category::restore("Kitchen".to_owned()),
        stock: Stock::parse(1).unwrap(),
        variants: Vec::new(),
        images: Vec::new(),
        created_at: Timestamp::from_unix_millis(0),
        updated_at: Timestamp::from_unix_millis(0),
    }
}

/// Starts a server with this many products. Returns a client, and the sizes of the pages that are read.
fn catalog(products: u16) -> (Client, Arc<Mutex<Vec<usize>>>) {
    catalog_within(products, LoadLimits::default())
}

/// Does the same with these limits.
fn catalog_within(products: u16, load: LoadLimits) -> (Client, Arc<Mutex<Vec<usize>>>) {
    let mut ports = Ports { load, ..Ports::default() };
    let reads = Arc::new(Mutex::new(Vec::new()));
    let read = Arc::clone(&reads);
    ports.products.expect_version().returning(|| Ok(CatalogVersion::new(Uuid::nil())));
    ports.products.expect_list().returning(move |_, page| {
        read.lock().unwrap().push(page.size.get());
        Ok(numbers(products, page).map(product))
    });
    (ports.start(), reads)
}

/// Returns the numbers of the products in a response, after checking that it is no larger than a mebibyte.
#[track_caller]
fn shown(answer: &Response) -> Vec<u16> {
    assert!(answer.status == 200 && answer.body.len() <= MEBIBYTE, "{} {}", answer.status, answer.body.len());
    entries(&answer.json()["products"]).iter().map(|it| it["sku"].as_str().unwrap().parse().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_ends_at_a_mebibyte_and_links_reach_every_entry_once() {
    let (api, _) = catalog(2000);
    let all: Vec<u16> = (0..2000).collect();
    for query in ["", "?size=100", "?size=7"] {
        let mut answer = get(&api, &format!("{LISTING}{query}")).await;
        assert_eq!(answer.prev(), None);
        let mut pages = vec![shown(&answer)];
        while let Some(next) = answer.next() {
            answer = get(&api, &next).await;
            pages.push(shown(&answer));
        }
        assert_eq!(pages.concat(), all, "{query}");
        assert!(query == "?size=7" || pages.iter().any(|page| page.len() % 100 > 0), "none was cut by its bytes");
        let mut pages = vec![shown(&answer)];
        while let Some(prev) = answer.prev() {
            answer = get(&api, &prev).await;
            pages.insert(0, shown(&answer));
        }
        assert_eq!(pages.concat(), all, "{query}, on the way back");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_read_in_parts_of_at_most_a_hundred_until_its_body_is_full() {
    for (products, query, expected) in [
        (300, "?size=20", &[20][..]),
        (300, "?size=100", &[100]),
        (0, "", &[100]),
        (100, "", &[100]),
        (250, "", &[100, 100, 100]),
        (2000, "", &[100; 6]),
    ] {
        let (api, reads) = catalog(products);
        shown(&get(&api, &format!("{LISTING}{query}")).await);
        assert_eq!(*reads.lock().unwrap(), expected, "{products} {query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_lists_wait_for_memory_and_are_all_answered() {
    let (api, _) = catalog(2000);
    let alone = get(&api, LISTING).await;
    let (api, reads) = catalog_within(2000, LoadLimits { answer_bytes: MEBIBYTE, ..LoadLimits::default() });
    let answers = join_all((0..20).map(|_| get(&api, LISTING))).await;
    for answer in &answers {
        assert!(shown(answer) == shown(&alone) && answer.next().is_some());
    }
    assert!(reads.lock().unwrap().len() >= 20 * 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_catalog_is_not_read_for_a_head_or_a_matching_if_none_match() {
    let (api, reads) = catalog(3);
    let full = get(&api, LISTING).await;
    let tag = full.headers[ETAG].clone();
    for _ in 0..3 {
        let head = api.send(api.request(Method::HEAD, LISTING)).await;
        assert_eq!(head.status, 200);
        for name in [CONTENT_TYPE, CACHE_CONTROL, ETAG] {
            assert_eq!(head.headers[&name], full.headers[&name]);
        }
        assert!(!head.headers.contains_key(CONTENT_LENGTH) && head.body.is_empty());
        for method in [Method::GET, Method::HEAD] {
            let same = api.send(api.request(method, LISTING).header(IF_NONE_MATCH, &tag)).await;
            assert_eq!((same.status, &same.headers[ETAG]), (304, &tag));
        }
    }
    assert_eq!(api.send(api.request(Method::HEAD, &format!("{LISTING}?size=0"))).await.status, 400);
    assert_eq!(reads.lock().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tag_of_a_catalog_page_changes_with_the_version_of_the_catalog() {
    let mut ports = Ports::default();
    let states = AtomicU64::new(0);
    ports.products.expect_version().returning(move || {
        // The version changes after two requests.
        Ok(CatalogVersion::new(Uuid::from_u128((states.fetch_add(1, Ordering::Relaxed) / 2).into())))
    });
    ports.products.expect_list().times(4).returning(|_, page| Ok(numbers(3, page).map(product)));
    let api = ports.start();
    let (one, other) = (get(&api, LISTING).await, get(&api, &format!("{LISTING}?size=2")).await);
    assert_ne!(one.headers[ETAG], other.headers[ETAG]);
    for (path, before) in [(LISTING, &one), (&format!("{LISTING}?size=2"), &other)] {
        let now = api.send(api.request(Method::GET, path).header(IF_NONE_MATCH, &before.headers[ETAG])).await;
        assert_eq!(now.status, 200);
        assert_ne!(now.headers[ETAG], before.headers[ETAG]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn profiles_that_wait_for_memory_are_shown_once_each() {
    const PROFILES: u128 = 100;
    let mut ports = with_member();
    ports.load = LoadLimits { answer_bytes: MEBIBYTE, ..LoadLimits::default() };
    let person = |id: &UserId| Person {
        id: *id,
        username: Username::restore("ann".to_owned()),
        display_name: None,
        biography: Some(Biography::restore("x".repeat(500))),
        profile_picture: None,
        created_at: Timestamp::from_unix_millis(0),
        enabled: true,
        discoverable: true,
        hide_counts: false,
        posts: PostCounts { public: 0, followers: 0, private: 0 },
        follower_count: 0,
        followed_count: 0,
        relationship: Relationship::default(),
        blocks_viewer: false,
    };
    ports.people.expect_find_all().returning(move |ids, _| Ok(ids.iter().map(person).collect()));
    let api = ports.start();
    let ids: Vec<_> = (1..=PROFILES).map(|n| Uuid::from_u128(n).to_string()).collect();
    let path = format!("/api/users/profiles?id={}", ids.join("&id="));
    // Together, the responses need more memory than the limit.
    for answer in join_all((0..20).map(|_| api.send(api.request(Method::GET, &path).bearer_auth("token")))).await {
        assert!(answer.body.len() > MEBIBYTE / 16, "{}", answer.body.len());
        let answer = answer.expect(200).json();
        let shown: Vec<_> = entries(&answer["data"]).iter().map(|it| it["id"].as_str().unwrap()).collect();
        assert!(shown == ids, "{} profiles", shown.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_for_a_list_reads_one_entry_and_checks_the_callers_rights() {
    let mut ports = with_member();
    ports.posts.expect_find_access().returning(move |id, _| {
        let visibility = if id.uuid().is_nil() { Visibility::Private } else { Visibility::Public };
        let author = UserId::new(Uuid::from_u128(2));
        let (is_hidden, standing) = (false, Standing::Stranger);
        Ok(Some(PostAccess { id, author, visibility, is_hidden, standing }))
    });
    ports.posts.expect_list_likers().withf(|_, _, page| page.size.get() == 1).times(2).returning(|_, _, page| {
        let liker = |_| Liker {
            id: UserId::new(Uuid::nil()),
            username: Username::restore("ann".to_owned()),
            profile_picture: None,
        };
        Ok(numbers(500, page).map(liker))
    });
    let api = ports.start();
    let list = |post| format!("/api/posts/{}/likes", PostId::new(Uuid::from_u128(post)).uuid());
    for query in ["", "?size=50"] {
        let head = api.send(api.request(Method::HEAD, &format!("{}{query}", list(1))).bearer_auth("token")).await;
        assert_eq!((head.status, &head.headers[CONTENT_TYPE]), (200, &HeaderValue::from_static("application/json")));
        assert!(!head.headers.contains_key(CONTENT_LENGTH) && !head.headers.contains_key(LINK));
    }
    for (path, status) in [(list(0), 403), (list(1) + "?size=0", 400), (list(1) + "?cursor=x", 400)] {
        let head = api.send(api.request(Method::HEAD, &path).bearer_auth("token")).await;
        assert_eq!(head.status, status, "{path}");
    }
    assert_eq!(api.send(api.request(Method::HEAD, &list(1))).await.status, 401);
}
