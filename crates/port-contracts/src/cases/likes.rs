//! Likes of posts.

use agora_domain::Error;
use agora_domain::accounts::Viewer;
use agora_domain::error::Resource;
use agora_domain::id::{PostId, RelationId, UserId};
use agora_domain::page::PageRequest;
use agora_domain::posts::Liker;
use agora_domain::relation::NewRelation;

use crate::Repositories;
use crate::run::{assert_fails, concurrently, pages, walk};
use crate::world::{ANYBODY, World, at, liker, shuffled};

/// Returns how many users like a post, and whether `viewer` does.
async fn likes(db: &Repositories, post: PostId, viewer: UserId) -> (u64, bool) {
    let view = db.posts.find(post, Viewer::ordinary(viewer)).await.unwrap().unwrap().view;
    assert_eq!(view.liked_by.len() as u64, view.like_count);
    assert_eq!(view.liked_by.iter().any(|liker| liker.id == viewer), view.liked_by_viewer);
    (view.like_count, view.liked_by_viewer)
}

async fn likers(db: &Repositories, post: PostId) -> Vec<Liker> {
    db.posts.list_likers(post, ANYBODY, PageRequest::FIRST).await.unwrap().items
}

pub async fn a_like_is_toggled_on_and_off_and_on(db: Repositories) {
    let w = World::new(&db);
    let [ada, fan] = w.accounts().await;
    let (post, other) = (w.post(ada.id).await.id, w.post(ada.id).await.id);
    for on in [true, false, true] {
        assert_eq!(db.posts.toggle_like(post, fan.id, w.new_relation(), None).await.unwrap(), on);
        assert_eq!(likes(&db, post, fan.id).await, (u64::from(on), on));
        assert_eq!(likes(&db, post, ada.id).await, (u64::from(on), false));
        assert_eq!(likes(&db, other, fan.id).await, (0, false));
    }
}

pub async fn a_like_is_set_and_unset_any_number_of_times(db: Repositories) {
    let w = World::new(&db);
    let [ada, fan] = w.accounts().await;
    let post = w.post(ada.id).await.id;
    w.like(post, ada.id).await;
    for on in [false, true, true, true, false, false, true] {
        if on {
            db.posts.set_like(post, fan.id, w.new_relation()).await.unwrap();
        } else {
            db.posts.unset_like(post, fan.id).await.unwrap();
        }
        assert_eq!(likes(&db, post, fan.id).await, (1 + u64::from(on), on));
    }
    assert!(!db.posts.toggle_like(post, fan.id, w.new_relation(), None).await.unwrap(), "a set like is toggled off");
}

pub async fn setting_a_like_again_keeps_its_position(db: Repositories) {
    let w = World::new(&db);
    let [ada, one, other] = w.accounts().await;
    let post = w.post(ada.id).await.id;
    for user in [one.id, other.id, one.id] {
        w.like(post, user).await;
    }
    assert_eq!(likers(&db, post).await, [liker(&other), liker(&one)]);
    db.posts.unset_like(post, one.id).await.unwrap();
    w.like(post, one.id).await;
    assert_eq!(likers(&db, post).await, [liker(&one), liker(&other)], "a new like is the newest");
}

pub async fn liking_an_unknown_post_is_not_found(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let deleted = w.post(ada).await.id;
    w.like(deleted, ada).await;
    db.posts.delete(deleted, w.now()).await.unwrap();
    for post in [w.id(), deleted] {
        let like = w.new_relation();
        assert_fails!(db.posts.toggle_like(post, ada, like, None).await, Error::NotFound(Resource::Post));
        assert_fails!(db.posts.set_like(post, ada, like).await, Error::NotFound(Resource::Post));
        assert_fails!(db.posts.unset_like(post, ada).await, Error::NotFound(Resource::Post));
        assert_fails!(db.posts.retract_like(post, ada, None).await, Error::NotFound(Resource::Post));
    }
}

pub async fn an_even_number_of_concurrent_toggles_ends_off(db: Repositories) {
    toggles_of_one_user_end_in_their_parity(&db, 100).await;
}

pub async fn an_odd_number_of_concurrent_toggles_ends_on(db: Repositories) {
    toggles_of_one_user_end_in_their_parity(&db, 101).await;
}

async fn toggles_of_one_user_end_in_their_parity(db: &Repositories, count: usize) {
    let w = World::new(db);
    let [ada, fan] = w.accounts().await;
    let post = w.post(ada.id).await.id;
    let outcomes = concurrently((0..count).map(|_| {
        let (db, fan, like) = (db.clone(), fan.id, w.new_relation());
        async move { db.posts.toggle_like(post, fan, like, None).await.unwrap() }
    }))
    .await;
    assert_eq!(outcomes.iter().filter(|on| **on).count(), count.div_ceil(2));
    let on = count % 2 == 1;
    assert_eq!(likes(db, post, fan.id).await, (u64::from(on), on));
    assert_eq!(likers(db, post).await.len(), usize::from(on));
}

pub async fn concurrent_toggles_of_many_users_all_count(db: Repositories) {
    let w = World::new(&db);
    let post = w.post(w.account("Ada").await.id).await.id;
    let users: [_; 30] = w.accounts().await;
    let outcomes = concurrently(users.iter().map(|user| {
        let (db, user, like) = (db.clone(), user.id, w.new_relation());
        async move { db.posts.toggle_like(post, user, like, None).await.unwrap() }
    }))
    .await;
    assert_eq!(outcomes, [true; 30]);
    assert_eq!(likes(&db, post, users[0].id).await, (30, true));
    let mut listed: Vec<_> = likers(&db, post).await.into_iter().map(|liker| liker.id).collect();
    listed.sort_unstable();
    assert_eq!(listed, users.iter().map(|user| user.id).collect::<Vec<_>>());
}

pub async fn concurrent_setting_and_unsetting_never_fails(db: Repositories) {
    let w = World::new(&db);
    let [ada, fan] = w.accounts().await;
    let post = w.post(ada.id).await.id;
    concurrently((0..40).map(|n| {
        let (db, fan, like) = (db.clone(), fan.id, w.new_relation());
        async move {
            match n % 2 {
                0 => db.posts.set_like(post, fan, like).await.unwrap(),
                _ => drop(db.posts.unset_like(post, fan).await.unwrap()),
            }
        }
    }))
    .await;
    let (count, on) = likes(&db, post, fan.id).await;
    assert_eq!(count, u64::from(on));
}

pub async fn likers_are_listed_newest_like_first(db: Repositories) {
    let w = World::new(&db);
    let post = w.post(w.account("Ada").await.id).await.id;
    let mut users = Vec::from(w.accounts::<11>().await);
    users.push(w.account_with("Pictured", |account| account.profile_picture = Some(w.new_picture())).await);
    // Three at each instant, in an order that differs from that of the ids of likes and of users.
    let likes: Vec<_> = (0..12).map(|n| NewRelation { id: w.id(), at: at(n / 3), notice: None }).collect();
    let mut likes: Vec<_> = shuffled(likes).into_iter().zip(&users).collect();
    let other = w.post(users[0].id).await.id;
    for (like, user) in &likes {
        db.posts.set_like(post, user.id, *like).await.unwrap();
        w.like(other, user.id).await;
    }
    likes.sort_by_key(|(like, _)| std::cmp::Reverse((like.at, like.id)));
    let expected: Vec<_> = likes.iter().map(|(_, user)| liker(user)).collect();
    for size in [1, 2, 12, 100] {
        let listed = pages(size, async |page| db.posts.list_likers(post, ANYBODY, page).await).await;
        assert_eq!(listed, expected, "size {size}");
    }
}

pub async fn paging_through_likers_survives_new_likes_and_unlikes(db: Repositories) {
    let w = World::new(&db);
    let post = w.post(w.account("Ada").await.id).await.id;
    let users: [_; 9] = w.accounts().await;
    let ids: Vec<RelationId> = w.ids(9);
    for (n, (&id, user)) in shuffled((0..).zip(ids.iter().zip(&users))) {
        db.posts.set_like(post, user.id, NewRelation { id, at: at(n / 3), notice: None }).await.unwrap();
    }
    let disturb = async |read: &[Liker]| {
        let [newcomer] = w.users().await;
        w.like(post, newcomer).await;
        db.posts.unset_like(post, read.last().unwrap().id).await.unwrap();
    };
    let listed = walk(2, async |page| db.posts.list_likers(post, ANYBODY, page).await, disturb).await;
    assert_eq!(listed, users.iter().rev().map(liker).collect::<Vec<_>>());
}
