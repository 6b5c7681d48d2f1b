//! Bookmarks, and the public timeline.

use agora_domain::accounts::Viewer;
use agora_domain::error::Resource;
use agora_domain::id::{PostId, UserId};
use agora_domain::page::PageRequest;
use agora_domain::posts::{PostEdit, Visibility, VisibleTo};
use agora_domain::{Error, Result};

use crate::Repositories;
use crate::run::{assert_fails, pages};
use crate::world::{ANYBODY, World, at};

fn member(viewer: UserId) -> VisibleTo {
    VisibleTo {
        viewer: Viewer::ordinary(viewer),
        followed: &[Visibility::Public, Visibility::Followers],
        others: &[Visibility::Public],
    }
}

fn admin(viewer: UserId) -> VisibleTo {
    VisibleTo { viewer: Viewer { id: viewer, sees_all: true }, followed: &Visibility::ALL, others: &Visibility::ALL }
}

async fn listed(db: &Repositories, visible: VisibleTo) -> Vec<PostId> {
    let page = db.bookmarks.list(visible, PageRequest::FIRST).await.unwrap();
    page.items.iter().for_each(|view| assert!(view.bookmarked_by_viewer));
    page.items.into_iter().map(|view| view.post.id).collect()
}

async fn is_bookmarked(db: &Repositories, post: PostId, viewer: UserId) -> bool {
    db.posts.find(post, Viewer::ordinary(viewer)).await.unwrap().unwrap().view.bookmarked_by_viewer
}

pub async fn a_bookmark_is_set_and_unset_any_number_of_times(db: Repositories) {
    let w = World::new(&db);
    let [ada, ben] = w.users().await;
    let post = w.post(ada).await.id;
    for on in [false, true, true, false, false, true] {
        if on {
            db.bookmarks.set(post, ben, w.new_relation()).await.unwrap();
        } else {
            db.bookmarks.unset(post, ben).await.unwrap();
        }
        assert_eq!(is_bookmarked(&db, post, ben).await, on);
        assert_eq!(listed(&db, member(ben)).await.is_empty(), !on);
        assert!(!is_bookmarked(&db, post, ada).await, "only the own bookmark counts");
    }
}

pub async fn bookmarks_are_listed_newest_first_and_keep_their_position(db: Repositories) {
    let w = World::new(&db);
    let [ada, ben] = w.users().await;
    let (one, two) = (w.post(ada).await.id, w.post(ada).await.id);
    for post in [two, one, two] {
        db.bookmarks.set(post, ben, w.new_relation()).await.unwrap();
    }
    assert_eq!(listed(&db, member(ben)).await, [one, two]);
    db.bookmarks.unset(two, ben).await.unwrap();
    db.bookmarks.set(two, ben, w.new_relation()).await.unwrap();
    assert_eq!(listed(&db, member(ben)).await, [two, one], "a new bookmark is the newest");
}

pub async fn bookmarks_list_only_posts_that_may_be_viewed_now(db: Repositories) {
    let w = World::new(&db);
    let [ada, ben] = w.users().await;
    let mut posts = Vec::new();
    for visibility in Visibility::ALL {
        let post = w.post_with(ada, |post| post.visibility = visibility).await.id;
        db.bookmarks.set(post, ben, w.new_relation()).await.unwrap();
        db.bookmarks.set(post, ada, w.new_relation()).await.unwrap();
        posts.insert(0, post);
    }
    assert_eq!(listed(&db, member(ben)).await, posts[2..], "a stranger");
    assert_eq!(listed(&db, admin(ben)).await, posts, "ADMIN");
    assert_eq!(listed(&db, member(ada)).await, posts, "the author");
    w.follow(ben, ada).await;
    assert_eq!(listed(&db, member(ben)).await, posts[1..], "a follower");
    let shown = PostEdit { visibility: Some(Visibility::Public), ..PostEdit::default() };
    db.posts.edit(posts[0], ANYBODY, &shown, w.now()).await.unwrap();
    assert_eq!(listed(&db, member(ben)).await, posts, "in the same order as before");
    // Long runs of invisible posts between visible ones must not make a page short.
    let stranger = w.account("Cleo").await.id;
    for visibility in [Visibility::Public, Visibility::Private, Visibility::Public, Visibility::Private] {
        let runs = if visibility == Visibility::Private { 30 } else { 1 };
        for _ in 0..runs {
            let post = w.post_with(ada, |post| post.visibility = visibility).await.id;
            db.bookmarks.set(post, stranger, w.new_relation()).await.unwrap();
        }
    }
    for size in [1, 2, 3] {
        let shown = pages(size, async |page| db.bookmarks.list(member(stranger), page).await).await;
        assert!(shown.len() == 2 && shown.iter().all(|view| view.post.visibility == Visibility::Public), "{size}");
    }
}

pub async fn a_bookmark_on_an_unknown_post_is_not_found(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let deleted = w.post(ada).await.id;
    db.bookmarks.set(deleted, ada, w.new_relation()).await.unwrap();
    db.posts.delete(deleted, w.now()).await.unwrap();
    let is_missing = |outcome: Result<()>| assert_fails!(outcome, Error::NotFound(Resource::Post));
    for post in [deleted, w.id()] {
        is_missing(db.bookmarks.set(post, ada, w.new_relation()).await);
        is_missing(db.bookmarks.unset(post, ada).await.map(drop));
    }
    assert!(listed(&db, member(ada)).await.is_empty());
}

pub async fn the_public_timeline_has_public_posts_of_enabled_accounts(db: Repositories) {
    let w = World::new(&db);
    let [ada, ben, viewer] = w.users().await;
    w.follow(viewer, ada).await;
    let public = w.post(ada).await.id;
    for visibility in [Visibility::Followers, Visibility::Private] {
        w.post_with(ada, |post| post.visibility = visibility).await;
    }
    let (of_disabled, deleted, own) = (w.post(ben).await.id, w.post(ada).await.id, w.post(viewer).await.id);
    db.posts.delete(deleted, w.now()).await.unwrap();
    let listed = async || {
        let page = db.posts.list_public(Viewer::ordinary(viewer), PageRequest::FIRST).await.unwrap();
        page.items.into_iter().map(|view| view.post.id).collect::<Vec<_>>()
    };
    assert_eq!(listed().await, [own, of_disabled, public]);
    db.accounts.set_enabled(ben, false, &w.entry()).await.unwrap();
    assert_eq!(listed().await, [own, public]);
    // Long runs of invisible posts between visible ones must not make a page short.
    for n in 0..60 {
        w.post_with(ben, |post| post.created_at = at(n)).await;
        w.post_with(ben, |_| {}).await;
    }
    for size in [1, 2, 3] {
        let views = pages(size, async |page| db.posts.list_public(Viewer::ordinary(viewer), page).await).await;
        assert_eq!(views.into_iter().map(|view| view.post.id).collect::<Vec<_>>(), [own, public], "{size} at a time");
    }
}
