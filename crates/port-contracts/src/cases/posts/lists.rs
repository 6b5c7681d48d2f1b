//! The contents and the order of the three lists of posts.

use agora_domain::Result;
use agora_domain::accounts::{Account, Roles, Viewer};
use agora_domain::clock::Timestamp;
use agora_domain::id::{PostId, UserId};
use agora_domain::page::{Keyset, Page, PageRequest, Position};
use agora_domain::posts::{FeedRequest, PostView, Visibility};

use crate::Repositories;
use crate::run::pages;
use crate::world::{INSTANTS, World, at, author, biography, liker, shuffled, untouched};

/// The lists of posts, each reduced to the posts of one author as a follower sees them.
#[derive(Debug, Clone, Copy)]
pub(super) enum List {
    All,
    ByAuthor,
    Followed,
}

impl List {
    const ALL: [Self; 3] = [Self::All, Self::ByAuthor, Self::Followed];

    /// Returns a page of the posts, of every visibility.
    pub(super) async fn read(
        self,
        db: &Repositories,
        (author, viewer): (UserId, UserId),
        page: PageRequest,
    ) -> Result<Page<PostView>> {
        match self {
            Self::All => Ok(db.posts.list_all(Viewer::ordinary(viewer), page).await?.map(plain)),
            Self::ByAuthor => db.posts.list_by_author(author, &Visibility::ALL, Viewer::ordinary(viewer), page).await,
            Self::Followed => {
                let feed = FeedRequest { created_before: None, page };
                db.posts.list_followed(Viewer::ordinary(viewer), &Visibility::ALL, feed).await
            }
        }
    }

    /// Returns the ids of the posts in the order of the list, read in pages of `size`.
    async fn ids(self, db: &Repositories, who: (UserId, UserId), size: usize) -> Vec<PostId> {
        let views = pages(size, async |page| self.read(db, who, page).await).await;
        views.into_iter().map(|view| view.post.id).collect()
    }
}

/// Returns the view with the author reduced to what the other lists show.
fn plain(view: PostView<Account>) -> PostView {
    PostView {
        author: author(&view.author),
        post: view.post,
        liked_by: view.liked_by,
        like_count: view.like_count,
        liked_by_viewer: view.liked_by_viewer,
        comment_count: view.comment_count,
        bookmarked_by_viewer: view.bookmarked_by_viewer,
    }
}

/// Creates an author and a follower.
pub(super) async fn author_and_follower(w: &World) -> (UserId, UserId) {
    let [author, follower] = w.accounts().await;
    w.follow(follower.id, author.id).await;
    (author.id, follower.id)
}

pub async fn a_list_without_posts_is_one_empty_page(db: Repositories) {
    let w = World::new(&db);
    let who = author_and_follower(&w).await;
    for list in List::ALL {
        let page = list.read(&db, who, PageRequest::FIRST).await.unwrap();
        assert_eq!((page.items, page.prev, page.next), (vec![], None, None), "{list:?}");
    }
}

pub async fn posts_are_listed_newest_first(db: Repositories) {
    let w = World::new(&db);
    let who = author_and_follower(&w).await;
    let mut posts = Vec::new();
    for instant in shuffled(INSTANTS.map(Timestamp::from_unix_millis)) {
        // Updated in the opposite order, which must not matter.
        let updated = at(-instant.unix_millis() % 1000);
        posts.push(w.post_with(who.0, |post| (post.created_at, post.updated_at) = (instant, updated)).await);
    }
    posts.sort_by_key(|post| std::cmp::Reverse(post.created_at));
    for list in List::ALL {
        for size in [1, 3, INSTANTS.len(), 100] {
            let views = pages(size, async |page| list.read(&db, who, page).await).await;
            let listed: Vec<_> = views.into_iter().map(|view| view.post).collect();
            assert_eq!(listed, posts, "{list:?} by {size}");
        }
    }
}

pub async fn posts_created_at_the_same_instant_are_listed_by_descending_id(db: Repositories) {
    let w = World::new(&db);
    let who = author_and_follower(&w).await;
    let ids: Vec<PostId> = w.ids(7);
    for id in shuffled(ids.clone()) {
        w.post_with(who.0, |post| (post.id, post.created_at) = (id, at(0))).await;
    }
    let newest_first: Vec<_> = ids.into_iter().rev().collect();
    for list in List::ALL {
        for size in [1, 2, 7, 100] {
            assert_eq!(list.ids(&db, who, size).await, newest_first, "{list:?} by {size}");
        }
    }
}

pub async fn the_list_of_all_posts_includes_full_accounts(db: Repositories) {
    let w = World::new(&db);
    let viewer = w.admin("Root").await.id;
    let mut expected = Vec::new();
    for (n, roles) in [Roles::NONE, Roles::USER, Roles::ADMIN_AND_USER].into_iter().enumerate() {
        let account = w
            .account_with(&format!("author {n}"), |account| {
                (account.roles, account.enabled) = (roles, n != 1);
                (account.biography, account.profile_picture) = (biography("Writes"), Some(w.new_picture()));
            })
            .await;
        for visibility in Visibility::ALL {
            let post = w.post_with(account.id, |post| post.visibility = visibility).await;
            expected.insert(0, (post, account.clone()));
        }
    }
    let views = pages(2, async |page| db.posts.list_all(Viewer::ordinary(viewer), page).await).await;
    let listed: Vec<_> = views.into_iter().map(|view| (view.post, view.author)).collect();
    assert_eq!(listed, expected);
}

pub async fn the_list_of_an_author_has_the_posts_of_the_requested_visibilities(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob, viewer] = w.accounts().await;
    let mut posts = Vec::new();
    for _ in 0..3 {
        for visibility in Visibility::ALL {
            posts.insert(0, w.post_with(ada.id, |post| post.visibility = visibility).await);
            w.post_with(bob.id, |post| post.visibility = visibility).await;
        }
    }
    let asked: [&'static [Visibility]; 4] =
        [&Visibility::ALL, &[Visibility::Public, Visibility::Followers], &[Visibility::Public], &[Visibility::Private]];
    for visible in asked {
        let expected: Vec<_> = posts.iter().filter(|post| visible.contains(&post.visibility)).cloned().collect();
        let read = async |page| db.posts.list_by_author(ada.id, visible, Viewer::ordinary(viewer.id), page).await;
        let listed: Vec<_> = pages(2, read).await.into_iter().map(|view| view.post).collect();
        assert_eq!(listed, expected, "{visible:?}");
    }
    let nothing = db
        .posts
        .list_by_author(viewer.id, &Visibility::ALL, Viewer::ordinary(ada.id), PageRequest::FIRST)
        .await
        .unwrap();
    assert_eq!(nothing.items, []);
}

pub async fn the_feed_has_the_posts_of_followed_authors(db: Repositories) {
    let w = World::new(&db);
    let [viewer, ada, bob, follower, stranger] = w.users().await;
    for (one, other) in [(viewer, ada), (viewer, bob), (follower, viewer), (stranger, bob), (ada, stranger)] {
        w.follow(one, other).await;
    }
    let (mut of_ada, mut of_bob) = (Vec::new(), Vec::new());
    for visibility in Visibility::ALL {
        for user in [viewer, ada, bob, follower, stranger] {
            let post = w.post_with(user, |post| post.visibility = visibility).await;
            if user == ada {
                of_ada.insert(0, post);
            } else if user == bob {
                of_bob.insert(0, post);
            }
        }
    }
    let both: Vec<_> = of_bob.iter().zip(&of_ada).flat_map(|(bobs, adas)| [bobs.clone(), adas.clone()]).collect();
    let asked: [&'static [Visibility]; 3] =
        [&Visibility::ALL, &[Visibility::Public, Visibility::Followers], &[Visibility::Public]];
    let feed = async |visible| {
        let read = async |page| {
            let feed = FeedRequest { created_before: None, page };
            db.posts.list_followed(Viewer::ordinary(viewer), visible, feed).await
        };
        pages(2, read).await.into_iter().map(|view| view.post).collect::<Vec<_>>()
    };
    for visible in asked {
        let expected: Vec<_> = both.iter().filter(|post| visible.contains(&post.visibility)).cloned().collect();
        assert_eq!(feed(visible).await, expected, "{visible:?}");
    }
    db.follows.unset(viewer, bob).await.unwrap();
    assert_eq!(feed(&Visibility::ALL).await, of_ada, "posts of an unfollowed author vanish");
    w.follow(viewer, bob).await;
    assert_eq!(feed(&Visibility::ALL).await, both, "and return after a new follow");
}

pub async fn each_listed_post_has_its_own_likers_and_counts(db: Repositories) {
    let w = World::new(&db);
    let [ada, viewer, one, other] = w.accounts().await;
    w.follow(viewer.id, ada.id).await;
    let posts = [w.post(ada.id).await, w.post(ada.id).await, w.post(ada.id).await, w.post(ada.id).await];
    let likers: [&[&Account]; 4] = [&[&one, &viewer], &[], &[&other, &one, &ada], &[&viewer]];
    for (n, (post, users)) in posts.iter().zip(likers).enumerate() {
        for user in users {
            w.like(post.id, user.id).await;
        }
        for _ in 0..n {
            w.comment(post.id, one.id).await;
        }
    }
    let mut expected = Vec::new();
    for (n, (post, users)) in (0..).zip(posts.iter().zip(likers)) {
        let mut view = untouched(post, &ada);
        view.liked_by = users.iter().rev().map(|user| liker(user)).collect();
        view.like_count = view.liked_by.len() as u64;
        view.liked_by_viewer = users.iter().any(|user| user.id == viewer.id);
        view.comment_count = n;
        expected.insert(0, view);
    }
    for list in List::ALL {
        let listed = pages(3, async |page| list.read(&db, (ada.id, viewer.id), page).await).await;
        assert_eq!(listed, expected, "{list:?}");
    }
}

pub async fn a_list_bounded_by_an_instant_excludes_posts_of_that_instant(db: Repositories) {
    let w = World::new(&db);
    let who = author_and_follower(&w).await;
    for millis in [10, 20, 20, 20, 21, 30] {
        w.post_with(who.0, |post| post.created_at = at(millis)).await;
    }
    for list in List::ALL {
        for (before, expected) in [(31, 6), (30, 5), (21, 4), (20, 1), (11, 1), (10, 0), (-5, 0)] {
            let page = PageRequest { from: Position::After(Keyset::before(at(before))), ..PageRequest::FIRST };
            let listed = list.read(&db, who, page).await.unwrap().items;
            assert_eq!(listed.len(), expected, "{list:?} before {before}");
            assert!(listed.iter().all(|view| view.post.created_at < at(before)));
        }
    }
}

pub async fn a_deleted_post_disappears_from_every_list(db: Repositories) {
    let w = World::new(&db);
    let who = author_and_follower(&w).await;
    let (kept, deleted) = (w.post(who.0).await, w.post(who.0).await);
    db.posts.delete(deleted.id, w.now()).await.unwrap();
    for list in List::ALL {
        assert_eq!(list.ids(&db, who, 100).await, [kept.id], "{list:?}");
    }
}
