//! What the texts of posts name, and the posts of a hashtag.

use agora_domain::entities::{Entities, Hashtag};
use agora_domain::id::{PostId, UserId};
use agora_domain::posts::{PostEdit, ResolvedText, UnresolvedText, Visibility, VisibleTo};

use crate::Repositories;
use crate::run::{done_or_missing, pages, together};
use crate::world::{World, at, entities, post_text, shuffled, untouched};

const STRANGER: &[Visibility] = &[Visibility::Public];
const FOLLOWER: &[Visibility] = &[Visibility::Public, Visibility::Followers];

fn member(viewer: UserId) -> VisibleTo {
    VisibleTo { viewer, followed: FOLLOWER, others: STRANGER }
}

fn admin(viewer: UserId) -> VisibleTo {
    VisibleTo { viewer, followed: &Visibility::ALL, others: &Visibility::ALL }
}

fn saying(text: &str) -> PostEdit {
    PostEdit { text: Some(post_text(text)), entities: entities(text), ..PostEdit::default() }
}

/// Returns the posts with a hashtag that are visible, in pages of a size.
async fn tagged(db: &Repositories, tag: &str, visible: VisibleTo, size: usize) -> Vec<PostId> {
    let tag = Hashtag::parse(tag).unwrap();
    let views = pages(size, async |page| db.posts.list_by_tag(&tag, visible, page).await).await;
    views.into_iter().map(|view| view.post.id).collect()
}

async fn entities_of(db: &Repositories, post: PostId, viewer: UserId) -> Option<Entities> {
    db.posts.find(post, viewer).await.unwrap().unwrap().view.post.entities
}

pub async fn what_texts_name_is_kept_with_them(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await;
    let named = Some(Entities::restore(format!("0 4 @{}\n5 10 #rust\n11 28 https://ä.example", ada.id)));
    let post = w
        .post_with(ada.id, |post| {
            (post.text, post.entities) = (post_text("@Ada #Rust https://ä.example"), named.clone());
        })
        .await;
    assert_eq!(db.posts.find(post.id, ada.id).await.unwrap().unwrap().view, untouched(&post, &ada));
    let edited = db.posts.edit(post.id, &saying("#Other"), w.now()).await.unwrap().view.post;
    assert_eq!(edited.entities, entities("#Other"));
    assert_eq!(entities_of(&db, post.id, ada.id).await, edited.entities);
    // What a text names changes with the text alone.
    let same = PostEdit { entities: named, ..saying("#Other") };
    let unchanged = db.posts.edit(post.id, &same, w.now()).await.unwrap().view.post;
    assert_eq!(unchanged, edited);
    for text in ["plain", "still plain"] {
        db.posts.edit(post.id, &saying(text), w.now()).await.unwrap();
        assert_eq!(entities_of(&db, post.id, ada.id).await, entities(""));
    }
    assert_eq!(db.texts.count().await.unwrap(), 0);
}

pub async fn a_hashtag_lists_its_posts_newest_first(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let ids: Vec<PostId> = w.ids(12);
    for (n, &id) in shuffled((0..).zip(&ids)) {
        let text = if n % 2 == 0 { "#Rust, #rust and #Café" } else { "#RUST beside #rusty" };
        let new = |post: &mut agora_domain::posts::Post| {
            (post.id, post.created_at) = (id, at(n / 5));
            (post.text, post.entities) = (post_text(text), entities(text));
        };
        w.post_with(if n % 3 == 0 { ada } else { bob }, new).await;
    }
    w.post_saying(ada, "rust #Cafe #other").await;
    let expected =
        |every: usize, first: usize| ids.iter().skip(first).step_by(every).rev().copied().collect::<Vec<_>>();
    for size in [1, 2, 5, 100] {
        assert_eq!(tagged(&db, "rust", member(bob), size).await, expected(1, 0));
        assert_eq!(tagged(&db, "#ruST", member(bob), size).await, expected(1, 0));
        assert_eq!(tagged(&db, "CAFÉ", member(bob), size).await, expected(2, 0));
        assert_eq!(tagged(&db, "rusty", member(bob), size).await, expected(2, 1));
        assert!(tagged(&db, "rus", member(bob), size).await.is_empty());
    }
}

pub async fn a_post_is_listed_by_its_hashtags_to_those_who_may_view_it(db: Repositories) {
    let w = World::new(&db);
    let [author, follower, followed, stranger, root] = w.users().await;
    w.follow(follower, author).await;
    w.follow(author, followed).await;
    let mut posts = Vec::new();
    // Runs of hidden ones between those that are shown: no page is short.
    for n in 0..30_usize {
        let visibility = Visibility::ALL[if n % 10 == 9 { 0 } else { n % 2 + 1 }];
        let post = w
            .post_with(author, |post| {
                (post.text, post.entities, post.visibility) = (post_text("#a"), entities("#a"), visibility);
            })
            .await;
        posts.push((post.id, visibility));
    }
    posts.reverse();
    for (visible, may_view) in [
        (member(author), &Visibility::ALL[..]),
        (member(follower), FOLLOWER),
        (member(followed), STRANGER),
        (member(stranger), STRANGER),
        (admin(root), &Visibility::ALL),
    ] {
        let of = |(id, visibility): &(PostId, Visibility)| may_view.contains(visibility).then_some(*id);
        let expected: Vec<_> = posts.iter().filter_map(of).collect();
        for size in [1, 2, 100] {
            assert_eq!(tagged(&db, "a", visible, size).await, expected, "{visible:?}, {size} at a time");
        }
    }
    db.follows.unset(follower, author).await.unwrap();
    assert_eq!(tagged(&db, "a", member(follower), 100).await.len(), 3);
}

pub async fn posts_of_disabled_accounts_are_listed_by_no_hashtag(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let (hidden, shown) = (w.post_saying(ada, "#a").await.id, w.post_saying(bob, "#a").await.id);
    for (enabled, expected) in [(false, vec![shown]), (true, vec![shown, hidden])] {
        db.accounts.set_enabled(ada, enabled, w.now()).await.unwrap();
        for visible in [member(bob), admin(bob)] {
            assert_eq!(tagged(&db, "a", visible, 1).await, expected);
        }
    }
}

pub async fn a_post_follows_the_hashtags_of_its_text_and_its_visibility(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let post = w.post_saying(ada, "#a #b").await.id;
    let listed = async || {
        let mut listed = Vec::new();
        for tag in ["a", "b", "c"] {
            assert_eq!(tagged(&db, tag, member(ada), 10).await, tagged(&db, tag, admin(bob), 10).await);
            if !tagged(&db, tag, member(bob), 10).await.is_empty() {
                listed.push(tag);
            }
        }
        listed
    };
    let seen_as = |visibility| PostEdit { visibility: Some(visibility), ..PostEdit::default() };
    for (edit, expected) in [
        (seen_as(Visibility::Private), &[][..]),
        (saying("#b #c"), &[]),
        (seen_as(Visibility::Public), &["b", "c"]),
        (PostEdit { visibility: Some(Visibility::Followers), ..saying("#c #a") }, &[]),
        (PostEdit { visibility: Some(Visibility::Public), ..saying("#c") }, &["c"]),
        (PostEdit::default(), &["c"]),
        // As by somebody who does not work out what a text names.
        (PostEdit { entities: None, ..saying("#b") }, &[]),
        (saying("#a"), &["a"]),
        (saying("plain"), &[]),
    ] {
        db.posts.edit(post, &edit, w.now()).await.unwrap();
        assert_eq!(listed().await, expected, "{edit:?}");
    }
}

pub async fn a_deleted_post_is_listed_by_no_hashtag(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let kept = w.post_saying(ada, "#a").await.id;
    let (small, large) = (w.post_saying(ada, "#a").await.id, w.post_saying(ada, "#a").await.id);
    for _ in 0..501 {
        w.comment(large, bob).await;
    }
    for post in [small, large] {
        db.posts.delete(post, w.now()).await.unwrap();
    }
    for is_erased in [false, true] {
        for visible in [member(ada), member(bob), admin(bob)] {
            assert_eq!(tagged(&db, "a", visible, 10).await, [kept]);
        }
        assert_eq!(db.texts.count().await.unwrap(), 0);
        while !is_erased && db.posts.erase_deleted().await.unwrap() > 0 {}
    }
}

pub async fn a_post_with_very_many_hashtags_is_listed_by_each(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let tags: Vec<_> = (0x4e00..0x4e00 + 1_666).map(|n| char::from_u32(n).unwrap().to_string()).collect();
    let text = tags.iter().map(|tag| format!("#{tag}")).collect::<Vec<_>>().join(" ");
    let post = w.post_saying(ada, &text).await.id;
    let edited = w.post(ada).await.id;
    db.posts.edit(edited, &saying(&text), w.now()).await.unwrap();
    for tag in [&tags[0], &tags[833], &tags[1_665]] {
        assert_eq!(tagged(&db, tag, member(ada), 10).await, [edited, post]);
    }
}

pub async fn texts_to_be_worked_out_are_listed_newest_first_until_that_is_stored(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    w.post_saying(ada, "#done").await;
    let mut posts = Vec::new();
    for n in 0..5 {
        let text = post_text(&format!("#a {n}"));
        posts.push(w.post_with(ada, |post| (post.text, post.entities) = (text, None)).await);
    }
    posts.reverse();
    let deleted = posts.remove(2);
    db.posts.delete(deleted.id, w.now()).await.unwrap();
    let unresolved: Vec<_> =
        posts.iter().map(|post| UnresolvedText { post: post.id, text: post.text.clone() }).collect();
    assert_eq!(db.texts.list(None, 10).await.unwrap(), unresolved);
    assert_eq!(db.texts.list(None, 3).await.unwrap(), unresolved[..3]);
    assert_eq!(db.texts.list(Some(posts[1].id), 10).await.unwrap(), unresolved[2..]);
    assert_eq!(db.texts.list(Some(posts[3].id), 10).await.unwrap(), []);
    assert_eq!(db.texts.count().await.unwrap(), 4);
    assert!(tagged(&db, "a", member(ada), 10).await.is_empty());

    let resolved = |texts: &[UnresolvedText]| {
        let resolve = |text: &UnresolvedText| ResolvedText {
            post: text.post,
            text: text.text.clone(),
            entities: entities(text.text.as_str()).unwrap(),
        };
        texts.iter().map(resolve).collect::<Vec<_>>()
    };
    db.texts.store(resolved(&unresolved[..2])).await.unwrap();
    assert_eq!(db.texts.list(None, 10).await.unwrap(), unresolved[2..]);
    assert_eq!(tagged(&db, "a", member(ada), 1).await, [posts[0].id, posts[1].id]);
    db.texts.store(resolved(&unresolved)).await.unwrap();
    assert_eq!((db.texts.count().await.unwrap(), db.texts.list(None, 10).await.unwrap()), (0, vec![]));
    for post in posts {
        let found = db.posts.find(post.id, ada).await.unwrap().unwrap().view.post;
        assert_eq!((found.entities, found.updated_at), (entities(post.text.as_str()), post.updated_at));
    }
    assert_eq!(tagged(&db, "a", member(ada), 1).await.len(), 4);
}

pub async fn what_is_stored_of_a_text_leaves_another_text_alone(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let unresolved = |text: &'static str| {
        let w = &w;
        async move { w.post_with(ada, |post| (post.text, post.entities) = (post_text(text), None)).await.id }
    };
    let (edited, unknown, private) = (unresolved("#a").await, unresolved("#a").await, unresolved("#a").await);
    let of = |post| ResolvedText { post, text: post_text("#a"), entities: entities("#a").unwrap() };
    db.posts.edit(edited, &saying("#b"), w.now()).await.unwrap();
    db.posts.edit(unknown, &PostEdit { entities: None, ..saying("#b") }, w.now()).await.unwrap();
    let hide = PostEdit { visibility: Some(Visibility::Private), ..PostEdit::default() };
    db.posts.edit(private, &hide, w.now()).await.unwrap();
    db.texts.store(vec![of(edited), of(unknown), of(private), of(w.id())]).await.unwrap();
    assert_eq!(entities_of(&db, edited, ada).await, entities("#b"));
    assert_eq!(entities_of(&db, unknown, ada).await, None);
    assert_eq!(tagged(&db, "a", member(ada), 10).await, [private]);
    assert_eq!(tagged(&db, "b", member(ada), 10).await, [edited]);
    let stranger = w.account("Bob").await.id;
    assert!(tagged(&db, "a", member(stranger), 10).await.is_empty(), "it was hidden before it was listed");
    // Once it is stored, it is not stored again.
    let other = ResolvedText { entities: entities("").unwrap(), ..of(private) };
    db.texts.store(vec![other]).await.unwrap();
    assert_eq!(entities_of(&db, private, ada).await, entities("#a"));
}

pub async fn texts_are_worked_out_beside_edits_and_deletions(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let mut posts = Vec::new();
    for _ in 0..40 {
        posts.push(w.post_with(ada, |post| (post.text, post.entities) = (post_text("#a"), None)).await.id);
    }
    let of = |post: &PostId| ResolvedText { post: *post, text: post_text("#a"), entities: entities("#a").unwrap() };
    let resolved: Vec<_> = posts.iter().map(of).collect();
    together((0..12).map(|n| {
        let (db, posts, resolved, now) = (db.clone(), posts.clone(), resolved.clone(), w.now());
        async move {
            if n % 3 == 0 {
                db.texts.store(resolved).await.unwrap();
                return;
            }
            for (i, post) in posts.into_iter().enumerate().skip(n).step_by(7) {
                match i % 3 {
                    0 => done_or_missing(db.posts.edit(post, &saying("#b"), now).await).unwrap(),
                    1 => done_or_missing(db.posts.delete(post, now).await).unwrap(),
                    _ => {}
                }
            }
        }
    }))
    .await;
    assert_eq!(db.texts.count().await.unwrap(), 0);
    let listed = pages(100, async |page| db.posts.list_by_author(ada, &Visibility::ALL, ada, page).await).await;
    for (tag, text) in [("a", "#a"), ("b", "#b")] {
        let expected: Vec<_> =
            listed.iter().filter(|view| view.post.text == post_text(text)).map(|view| view.post.id).collect();
        assert!(!expected.is_empty());
        assert_eq!(tagged(&db, tag, member(ada), 100).await, expected);
    }
}
