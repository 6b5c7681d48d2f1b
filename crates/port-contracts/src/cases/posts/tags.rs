//! The entities of posts, and the lists of hashtags.

use agora_domain::accounts::Viewer;
use agora_domain::entities::{Entities, Hashtag};
use agora_domain::id::{PostId, UserId};
use agora_domain::posts::{PostEdit, Visibility, VisibleTo};

use crate::Repositories;
use crate::run::pages;
use crate::world::{ANYBODY, World, at, entities, post_text, shuffled, untouched};

const STRANGER: &[Visibility] = &[Visibility::Public];
const FOLLOWER: &[Visibility] = &[Visibility::Public, Visibility::Followers];

pub(crate) fn member(viewer: UserId) -> VisibleTo {
    VisibleTo { viewer: Viewer::ordinary(viewer), followed: FOLLOWER, others: STRANGER }
}

fn admin(viewer: UserId) -> VisibleTo {
    VisibleTo { viewer: Viewer::ordinary(viewer), followed: &Visibility::ALL, others: &Visibility::ALL }
}

pub(crate) fn saying(text: &str) -> PostEdit {
    PostEdit { text: Some(post_text(text)), entities: entities(text), ..PostEdit::default() }
}

/// Returns the visible posts with a hashtag, read in pages of `size`.
pub(crate) async fn tagged(db: &Repositories, tag: &str, visible: VisibleTo, size: usize) -> Vec<PostId> {
    let tag = Hashtag::parse(tag).unwrap();
    let views = pages(size, async |page| db.posts.list_by_tag(&tag, visible, page).await).await;
    views.into_iter().map(|view| view.post.id).collect()
}

pub(crate) async fn entities_of(db: &Repositories, post: PostId, viewer: UserId) -> Option<Entities> {
    db.posts.find(post, Viewer::ordinary(viewer)).await.unwrap().unwrap().view.post.entities
}

pub async fn the_entities_of_a_text_are_stored_with_it(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await;
    let named = Some(Entities::restore(format!("0 4 @{}\n5 10 #rust\n11 28 https://ä.example", ada.id)));
    let post = w
        .post_with(ada.id, |post| {
            (post.text, post.entities) = (post_text("@Ada #Rust https://ä.example"), named.clone());
        })
        .await;
    assert_eq!(db.posts.find(post.id, Viewer::ordinary(ada.id)).await.unwrap().unwrap().view, untouched(&post, &ada));
    let edited = db.posts.edit(post.id, ANYBODY, &saying("#Other"), w.now()).await.unwrap().view.post;
    assert_eq!(edited.entities, entities("#Other"));
    assert_eq!(entities_of(&db, post.id, ada.id).await, edited.entities);
    // Entities change only together with the text.
    let same = PostEdit { entities: named, ..saying("#Other") };
    let unchanged = db.posts.edit(post.id, ANYBODY, &same, w.now()).await.unwrap().view.post;
    assert_eq!(unchanged, edited);
    for text in ["plain", "still plain"] {
        db.posts.edit(post.id, ANYBODY, &saying(text), w.now()).await.unwrap();
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
    // Long runs of invisible posts between visible ones must not make a page short.
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

pub async fn hashtag_lists_exclude_posts_of_disabled_accounts(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let (hidden, shown) = (w.post_saying(ada, "#a").await.id, w.post_saying(bob, "#a").await.id);
    for (enabled, expected) in [(false, vec![shown]), (true, vec![shown, hidden])] {
        db.accounts.set_enabled(ada, enabled, &w.entry()).await.unwrap();
        for visible in [member(bob), admin(bob)] {
            assert_eq!(tagged(&db, "a", visible, 1).await, expected);
        }
    }
}

pub async fn hashtag_lists_follow_edits_of_text_and_visibility(db: Repositories) {
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
        // As by a node of an earlier release, which does not extract entities.
        (PostEdit { entities: None, ..saying("#b") }, &[]),
        (saying("#a"), &["a"]),
        (saying("plain"), &[]),
    ] {
        db.posts.edit(post, ANYBODY, &edit, w.now()).await.unwrap();
        assert_eq!(listed().await, expected, "{edit:?}");
    }
}

pub async fn hashtag_lists_exclude_deleted_posts(db: Repositories) {
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
    db.posts.edit(edited, ANYBODY, &saying(&text), w.now()).await.unwrap();
    for tag in [&tags[0], &tags[833], &tags[1_665]] {
        assert_eq!(tagged(&db, tag, member(ada), 10).await, [edited, post]);
    }
}
