//! Full-text search, with packed and unpacked texts in the index.

use std::collections::{BTreeMap, BTreeSet};

use agora_domain::accounts::{Account, Privacy, ProfileChanges, Username, Viewer};
use agora_domain::clock::Timestamp;
use agora_domain::entities::{Candidates, Hashtag, Named};
use agora_domain::id::UserId;
use agora_domain::page::{PageRequest, PageSize, Position};
use agora_domain::posts::{Post, PostEdit, Visibility};
use agora_domain::products::{Category, Description, ProductEdit, ProductName, Stock};
use agora_domain::search::{Needles, PeopleSearch, PostSearch, Query};
use uuid::Uuid;

use crate::Repositories;
use crate::run::pages;
use crate::world::{ANYBODY, World, display_name, post_text, pseudo_random};

fn query(text: &str) -> Query {
    Query::parse(text).unwrap()
}

/// An instant later than everything in a test.
const LATER: Timestamp = Timestamp::from_unix_millis(253_402_300_799_999);

/// Packs the index as far as possible, and removes the words of deleted texts from it.
async fn pack(db: &Repositories) {
    while db.search_index.pack().await.unwrap() {}
    while db.search_index.forget(LATER).await.unwrap() {}
}

fn posts_of(text: &str, viewer: UserId, from: Option<UserId>) -> PostSearch {
    PostSearch { needles: Needles::of(&query(text), from), viewer: Viewer::ordinary(viewer) }
}

/// Returns the texts of the posts that a query finds, newest first.
async fn texts(db: &Repositories, wanted: &PostSearch) -> Vec<String> {
    let found = pages(100, async |page| db.search.find_posts(wanted, page).await).await;
    found.into_iter().map(|view| view.post.text.as_str().to_owned()).collect()
}

/// Returns the names of the users whom a query finds, newest first.
async fn names(db: &Repositories, text: &str, sees_all: bool, except: Option<UserId>) -> Vec<String> {
    let needles = Needles::of(&query(text).without_hashtags(), None);
    let wanted = PeopleSearch { needles, viewer: Viewer { sees_all, ..ANYBODY }, except };
    let found = pages(2, async |page| db.search.find_people(&wanted, page).await).await;
    found.into_iter().map(|person| person.username.as_str().to_owned()).collect()
}

async fn skus(db: &Repositories, text: &str) -> Vec<String> {
    let needles = Needles::of(&query(text).without_hashtags(), None);
    let found = pages(2, async |page| db.search.find_products(&needles, page).await).await;
    found.into_iter().map(|product| product.sku.as_str().to_owned()).collect()
}

pub async fn posts_are_found_by_their_words_in_any_script(db: Repositories) {
    let w = World::new(&db);
    let [author] = w.users().await;
    let long = "x".repeat(4_990);
    let again = "na ".repeat(1_600);
    let all_different: String = (0..900).map(|n| format!("w{n} ")).collect();
    let written = [
        "Hello, World! The quick brown fox doesn't jump",
        "昨日、東京タワーに行った",
        "สวัสดีชาวโลก",
        "דו\"ח של צה\"ל",
        "Ça m’est égal: crème brûlée",
        "Große Straße",
        "한국어 검색",
        "foo_bar v1.2 100% _under_ \\back\\ 'quoted'",
        "to #Rust and #Café, not to rust",
        "e\u{301}clair \u{1F980}",
        &format!("{long} end"),
        &again,
        &all_different,
    ];
    for text in written {
        w.post_with(author, |post| post.text = post_text(text)).await;
    }
    let almost = format!("{}y", "x".repeat(199));
    for is_packed in [false, true] {
        for (text, expected) in [
            ("hello", &[0][..]),
            ("WORLD hel", &[0]),
            ("\"brown fox\"", &[0]),
            ("\"fox brown\"", &[]),
            ("\"brown fo\"", &[]),
            ("doesn’t", &[0]),
            ("doesn't ju", &[0]),
            ("j", &[]),
            ("東", &[1]),
            ("東京タワー", &[1]),
            ("京東", &[]),
            ("行った 東京", &[1]),
            ("ัสดีชาว", &[2]),
            ("צה\"ל", &[3]),
            ("צה", &[3]),
            ("M'EST creme BRULEE", &[4]),
            ("straße", &[5]),
            ("STRASSE", &[5]),
            ("gro", &[5]),
            ("한국", &[6]),
            ("국어", &[]),
            ("foo_bar", &[7]),
            ("bar", &[]),
            ("100%", &[7]),
            ("under", &[]),
            ("_under_", &[7]),
            ("back", &[7]),
            ("' OR 1=1 --", &[]),
            ("#rust", &[8]),
            ("rust", &[8]),
            ("#CAFÉ", &[8]),
            ("#cafe", &[]),
            ("cafe", &[8]),
            ("éclair", &[9]),
            ("xx", &[10]),
            (&"x".repeat(200), &[10]),
            (&almost, &[]),
            ("end", &[10]),
            ("na", &[11]),
            ("\"na na na na na na na na\"", &[11]),
            ("w899 w0", &[12]),
            ("w89", &[12]),
            ("w900", &[]),
        ] {
            let expected: Vec<&str> = expected.iter().map(|n| written[*n].trim()).collect();
            let found = texts(&db, &posts_of(text, author, None)).await;
            assert_eq!(found, expected, "{text}, packed: {is_packed}");
        }
        // Enough further posts to have all of the above packed.
        for _ in 0..10 {
            w.post_with(author, |post| post.text = post_text("something else")).await;
        }
        pack(&db).await;
    }
}

pub async fn users_are_found_by_their_names_if_they_are_searchable(db: Repositories) {
    let w = World::new(&db);
    let named = async |username: &str, shown: Option<&str>, alter: fn(&mut Account)| {
        let change = |account: &mut Account| {
            account.display_name = shown.and_then(display_name);
            alter(account);
        };
        w.account_with(username, change).await.id
    };
    let ada = named("ada", Some("Ada Lovelace"), |_| {}).await;
    named("Countess", Some("Ada of Lovelace"), |_| {}).await;
    named("hidden ada", None, |account| account.privacy.discoverable = false).await;
    named("disabled ada", None, |account| account.enabled = false).await;
    named("unsearchable ada", None, |account| {
        account.privacy = Privacy { searchable: false, ..Privacy::default() };
    })
    .await;
    for _ in 0..2 {
        assert_eq!(names(&db, "ada", false, None).await, ["unsearchable ada", "Countess", "ada"]);
        assert_eq!(names(&db, "ada", false, Some(ada)).await, ["unsearchable ada", "Countess"]);
        let all = ["unsearchable ada", "hidden ada", "Countess", "ada"];
        assert_eq!(names(&db, "ada", true, None).await, all);
        assert_eq!(names(&db, "lovelace ada", false, None).await, ["Countess", "ada"]);
        assert_eq!(names(&db, "#countess lovel", false, None).await, ["Countess"], "words in different fields");
        assert_eq!(names(&db, "\"countess ada\"", false, None).await, [""; 0], "a phrase within one field");
        for n in 0..9 {
            named(&format!("somebody{n}{}", w.now().unix_millis()), None, |_| {}).await;
        }
        pack(&db).await;
    }
    let rename = async |name: &str| {
        let changes = ProfileChanges { display_name: Some(display_name(name)), ..ProfileChanges::default() };
        db.accounts.update_profile(ada, &changes, w.now()).await.unwrap();
    };
    rename("Augusta King").await;
    assert_eq!(names(&db, "lovelace", false, None).await, ["Countess"]);
    assert_eq!(names(&db, "king ada", false, None).await, ["ada"]);
    rename("Augusta King").await;
    assert_eq!(names(&db, "king", false, None).await, ["ada"]);
    rename("").await;
    assert_eq!(names(&db, "king", false, None).await, [""; 0]);
    assert_eq!(names(&db, "ada", false, None).await.last().map(String::as_str), Some("ada"));
    let changes = ProfileChanges {
        privacy: agora_domain::accounts::PrivacyChanges { discoverable: Some(false), ..Default::default() },
        ..ProfileChanges::default()
    };
    db.accounts.update_profile(ada, &changes, w.now()).await.unwrap();
    assert!(!names(&db, "ada", false, None).await.contains(&"ada".to_owned()));
}

pub async fn products_are_found_by_the_words_of_all_their_fields(db: Repositories) {
    let w = World::new(&db);
    let product = async |sku: &str, name: &str, description: &str, category: &str| {
        let mut product = w.new_product(sku);
        product.name = ProductName::parse(name).unwrap();
        product.description = Description::parse(description).unwrap();
        product.category = Category::parse(category).unwrap();
        db.products.create(&product, &w.entry(), None).await.unwrap();
        product.id
    };
    let mug = product("MUG-1", "Blue mug", "For tea, and coffee", "Kitchen").await;
    let pot = product("POT-7", "Teapot", "Goes with the blue mug", "Kitchen").await;
    for n in 0..2 {
        assert_eq!(skus(&db, "blue mug").await, ["POT-7", "MUG-1"]);
        assert_eq!(skus(&db, "mug kitchen pot").await, ["POT-7"]);
        assert_eq!(skus(&db, "\"tea and coffee\"").await, ["MUG-1"]);
        assert_eq!(skus(&db, "\"mug kitchen\"").await, [""; 0]);
        assert_eq!(skus(&db, "mug-1").await, ["MUG-1"]);
        for m in 0..9 {
            product(&format!("OTHER-{n}-{m}"), "Something else", "", "Else").await;
        }
        pack(&db).await;
    }
    let edit = ProductEdit { stock: Some(Stock::parse(1).unwrap()), ..ProductEdit::default() };
    db.products.edit(pot, &edit, &w.entry_at(w.now())).await.unwrap();
    assert_eq!(skus(&db, "teapot").await, ["POT-7"]);
    let edit = ProductEdit { name: Some(ProductName::parse("Kettle").unwrap()), ..ProductEdit::default() };
    db.products.edit(pot, &edit, &w.entry_at(w.now())).await.unwrap();
    assert_eq!((skus(&db, "teapot").await, skus(&db, "kettle").await), (vec![], vec!["POT-7".to_owned()]));
    db.products.delete(mug, &w.entry()).await.unwrap();
    assert_eq!(skus(&db, "blue").await, ["POT-7"]);
}

pub async fn posts_of_searchable_authors_are_found_by_those_who_may_view_them(db: Repositories) {
    let w = World::new(&db);
    let [follower, stranger] = w.users().await;
    let open = w.account("open").await.id;
    let closed = w.account_with("closed", |account| account.privacy.searchable = false).await.id;
    let disabled = w.account_with("disabled", |account| account.enabled = false).await.id;
    for (author, name) in [(open, "open"), (closed, "closed"), (disabled, "disabled")] {
        w.follow(follower, author).await;
        for visibility in Visibility::ALL {
            let text = post_text(&format!("word {name} {}", visibility.as_str()));
            w.post_with(author, |post| (post.text, post.visibility) = (text, visibility)).await;
        }
    }
    let open_ones = ["word open PRIVATE", "word open FOLLOWERS", "word open PUBLIC"];
    let closed_ones = ["word closed PRIVATE", "word closed FOLLOWERS", "word closed PUBLIC"];
    for _ in 0..2 {
        for (viewer, from, expected) in [
            (stranger, None, vec![open_ones[2]]),
            (follower, None, open_ones[1..].to_vec()),
            (open, None, open_ones.to_vec()),
            (closed, None, [&closed_ones[..], &open_ones[2..]].concat()),
            (follower, Some(open), open_ones[1..].to_vec()),
            (follower, Some(closed), vec![]),
            (stranger, Some(stranger), vec![]),
        ] {
            assert_eq!(texts(&db, &posts_of("word", viewer, from)).await, expected, "{viewer} {from:?}");
        }
        let admin = Viewer { id: stranger, sees_all: true };
        let admin = PostSearch { viewer: admin, ..posts_of("word", stranger, None) };
        assert_eq!(texts(&db, &admin).await, open_ones);
        for _ in 0..9 {
            w.post_with(stranger, |post| post.text = post_text("something else")).await;
        }
        pack(&db).await;
    }
}

pub async fn searches_see_changes_and_deletions_at_once(db: Repositories) {
    let w = World::new(&db);
    let [author, other] = w.users().await;
    let mut posts = Vec::new();
    for n in 0..40 {
        posts.push(w.post_with(author, |post| post.text = post_text(&format!("before {n}"))).await);
        if n == 30 {
            pack(&db).await;
        }
    }
    let found = async |text: &str| texts(&db, &posts_of(text, other, None)).await.len();
    let edit = async |post: &Post, edit: PostEdit| db.posts.edit(post.id, ANYBODY, &edit, w.now()).await.unwrap();
    assert_eq!(found("before").await, 40);
    // A packed post, an unpacked one, the first one again, and another packed one.
    for n in [1, 39, 1, 2] {
        edit(&posts[n], PostEdit { text: Some(post_text(&format!("after {n}"))), ..PostEdit::default() }).await;
        pack(&db).await;
    }
    assert_eq!((found("before").await, found("after").await), (37, 3));
    assert_eq!(texts(&db, &posts_of("after", other, None)).await, ["after 39", "after 2", "after 1"]);
    let hide = PostEdit { visibility: Some(Visibility::Private), ..PostEdit::default() };
    edit(&posts[1], hide.clone()).await;
    edit(&posts[3], hide).await;
    assert_eq!((found("before").await, found("after").await), (36, 2));
    for n in [2, 4, 39] {
        db.posts.delete(posts[n].id, w.now()).await.unwrap();
        assert_eq!(found(&format!("\"{n}\"")).await, 0);
    }
    assert_eq!((found("before").await, found("after").await), (35, 0));
    // Another letter case changes the text, but not its words.
    edit(&posts[5], PostEdit { text: Some(post_text("BEFORE 5")), ..PostEdit::default() }).await;
    edit(&posts[35], PostEdit { text: Some(post_text("BEFORE 35")), ..PostEdit::default() }).await;
    assert_eq!(found("before").await, 35);
    // Edited posts are packed together with newer ones, and keep their position in the results.
    for n in 0..9 {
        w.post_with(author, |post| post.text = post_text(&format!("before again {n}"))).await;
    }
    pack(&db).await;
    let listed = texts(&db, &posts_of("before", other, None)).await;
    assert_eq!((listed.len(), &listed[0], &listed[43]), (44, &"before again 8".to_owned(), &"before 0".to_owned()));
    let place = |text: &str| listed.iter().position(|listed| listed == text).unwrap();
    assert_eq!(place("BEFORE 5") + 1, listed.len() - 1);
    assert!(place("BEFORE 35") < place("before 34") && place("before 36") < place("BEFORE 35"));
}

pub async fn pages_of_results_are_full_while_there_are_more(db: Repositories) {
    let w = World::new(&db);
    let [author, other, viewer] = w.users().await;
    for n in 0..200 {
        let (by, visibility) = if n % 40 == 0 { (author, Visibility::Public) } else { (other, Visibility::Private) };
        w.post_with(by, |post| (post.text, post.visibility) = (post_text("rare word"), visibility)).await;
        pack(&db).await;
    }
    for from in [None, Some(author)] {
        let wanted = posts_of("word", viewer, from);
        for (position, size) in [(Position::Start, 5), (Position::End, 5), (Position::Start, 2), (Position::End, 3)] {
            let request = PageRequest { from: position, size: PageSize::parse(&size.to_string()).unwrap() };
            let page = db.search.find_posts(&wanted, request).await.unwrap();
            assert_eq!(page.items.len(), size);
            let is_more = if position == Position::Start { page.next } else { page.prev }.is_some();
            assert_eq!(is_more, size < 5);
        }
    }
}

/// The model that searches are compared with.
struct Model {
    authors: Vec<(UserId, bool)>,
    posts: Vec<Post>,
    follows: BTreeSet<(usize, usize)>,
}

fn hashtags(text: &str) -> BTreeSet<Hashtag> {
    let entities = Candidates::find(text).resolve(&BTreeMap::new());
    let tags = entities.into_iter().filter_map(|entity| match entity.named {
        Named::Hashtag(tag) => Some(tag),
        _ => None,
    });
    tags.collect()
}

impl Model {
    fn find(&self, query: &Query, viewer: usize, from: Option<usize>) -> Vec<Uuid> {
        let id = |n: usize| self.authors[n].0;
        let is_found = |post: &&Post| {
            let author = self.authors.iter().position(|(id, _)| *id == post.author).unwrap();
            let shown = match post.visibility {
                Visibility::Public => true,
                Visibility::Followers => self.follows.contains(&(viewer, author)),
                Visibility::Private => false,
            };
            (author == viewer || (self.authors[author].1 && shown))
                && from.is_none_or(|from| id(from) == post.author)
                && query.finds(&[post.text.as_str()], &hashtags(post.text.as_str()))
        };
        let mut found: Vec<_> =
            self.posts.iter().filter(is_found).map(|post| (post.created_at, post.id.uuid())).collect();
        found.sort_unstable();
        found.into_iter().rev().map(|(_, id)| id).collect()
    }
}

pub async fn searches_during_random_changes_find_what_the_model_finds(db: Repositories) {
    const WORDS: [&str; 14] =
        ["a", "ab", "abc", "abd", "b", "#ab", "#Abc", "東", "京", "東京", "don't", "don’t!", "Straße", "x-y"];
    const QUERIES: [&str; 20] = [
        "a",
        "ab",
        "abc",
        "\"ab\"",
        "\"a b\"",
        "b ab",
        "#ab",
        "#abc a",
        "東",
        "東京",
        "京東 a",
        "\"京 東\"",
        "don't",
        "do",
        "strasse ab",
        "\"abc abd\"",
        "x",
        "y x",
        "\"x y\"",
        "a b ab abc",
    ];
    let w = World::new(&db);
    let mut roll = pseudo_random();
    let mut roll = |sides: usize| usize::try_from(roll(sides.cast_signed() as i64)).unwrap();
    let mut model = Model { authors: vec![], posts: vec![], follows: BTreeSet::new() };
    for n in 0..4 {
        let account = w.account_with(&format!("author{n}"), |account| account.privacy.searchable = n != 3).await;
        model.authors.push((account.id, n != 3));
    }
    for step in 0..400 {
        let text = (0..1 + roll(5)).map(|_| WORDS[roll(WORDS.len())]).collect::<Vec<_>>().join(" ");
        match roll(10) {
            0..5 => {
                let author = model.authors[roll(4)].0;
                let visibility = Visibility::ALL[roll(3)];
                // In no order, and often at the same instant.
                let at = crate::world::at(roll(1 + step / 3).cast_signed() as i64);
                let post = w.post_with(author, |post| {
                    (post.text, post.visibility, post.created_at) = (post_text(&text), visibility, at);
                });
                model.posts.push(post.await);
            }
            5 | 6 if !model.posts.is_empty() => {
                let n = roll(model.posts.len());
                let edit = PostEdit {
                    text: (roll(3) > 0).then(|| post_text(&text)),
                    visibility: (roll(3) == 0).then(|| Visibility::ALL[roll(3)]),
                    ..PostEdit::default()
                };
                model.posts[n] = db.posts.edit(model.posts[n].id, ANYBODY, &edit, w.now()).await.unwrap().view.post;
            }
            7 if !model.posts.is_empty() => {
                let post = model.posts.swap_remove(roll(model.posts.len()));
                db.posts.delete(post.id, w.now()).await.unwrap();
            }
            8 => {
                let (one, other) = (roll(4), roll(4));
                if one != other && !model.follows.remove(&(one, other)) {
                    model.follows.insert((one, other));
                    w.follow(model.authors[one].0, model.authors[other].0).await;
                } else if one != other {
                    db.follows.unset(model.authors[one].0, model.authors[other].0).await.unwrap();
                }
            }
            _ if roll(2) == 0 => drop(db.search_index.forget(LATER).await.unwrap()),
            _ => drop(db.search_index.pack().await.unwrap()),
        }
        if step % 4 != 0 {
            continue;
        }
        let (text, viewer) = (QUERIES[roll(QUERIES.len())], roll(4));
        let from = (roll(3) == 0).then(|| roll(4));
        let expected = model.find(&query(text), viewer, from);
        let wanted = posts_of(text, model.authors[viewer].0, from.map(|from| model.authors[from].0));
        let size = [1, 2, 3, 7, 20, 100][roll(6)];
        let read = async |page| db.search.find_posts(&wanted, page).await;
        // Forwards and backwards, while the index is being packed.
        let found = pages(size, async |page| {
            db.search_index.pack().await?;
            read(page).await
        });
        let found: Vec<_> = found.await.into_iter().map(|view| view.post.id.uuid()).collect();
        assert_eq!(found, expected, "{text} in pages of {size} at {step}");
    }
    assert!(model.posts.len() > 50);
}

pub async fn users_with_unusual_names_are_found(db: Repositories) {
    let w = World::new(&db);
    for name in crate::world::ODD_TEXTS {
        let account = w.account(name).await;
        if let Ok(query) = Query::parse(name) {
            assert_eq!(query.username(), Some(Username::parse(name).unwrap()));
            let needles = Needles::of(&query.without_hashtags(), None);
            let wanted = PeopleSearch { needles, viewer: Viewer::ordinary(account.id), except: None };
            let found = db.search.find_people(&wanted, PageRequest::FIRST).await.unwrap();
            assert!(found.items.iter().any(|person| person.id == account.id), "{name}");
        }
    }
}
