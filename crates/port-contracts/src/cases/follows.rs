//! Follows.

use agora_domain::Error;
use agora_domain::accounts::UserSummary;
use agora_domain::error::Resource;
use agora_domain::id::{RelationId, UserId};
use agora_domain::page::PageRequest;
use agora_domain::relation::{NewRelation, Standing};

use crate::Repositories;
use crate::run::{assert_fails, concurrently, pages, walk};
use crate::world::{ANYBODY, World, at, shuffled, summary};

async fn follows(db: &Repositories, follower: UserId, followed: UserId) -> bool {
    db.follows.find_standing(follower, followed).await.unwrap() == Some(Standing::Follower)
}

/// Returns the ids of a user's followers and of those the user follows.
async fn lists(db: &Repositories, user: UserId) -> (Vec<UserId>, Vec<UserId>) {
    let ids = |users: Vec<UserSummary>| users.into_iter().map(|user| user.id).collect();
    let followers = pages(100, async |page| db.follows.list_followers(user, ANYBODY, page).await).await;
    let followed = pages(100, async |page| db.follows.list_followed(user, ANYBODY, page).await).await;
    (ids(followers), ids(followed))
}

pub async fn the_standing_towards_an_unknown_user_is_none(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    assert_eq!(db.follows.find_standing(ada, bob).await.unwrap(), Some(Standing::Stranger));
    w.follow(ada, bob).await;
    assert_eq!(db.follows.find_standing(ada, bob).await.unwrap(), Some(Standing::Follower));
    assert_eq!(db.follows.find_standing(bob, ada).await.unwrap(), Some(Standing::Stranger));
    assert_eq!(db.follows.find_standing(ada, ada).await.unwrap(), Some(Standing::Stranger));
    assert_eq!(db.follows.find_standing(ada, w.id()).await.unwrap(), None);
}

pub async fn a_follow_is_toggled_on_and_off_and_on(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob, cleo] = w.users().await;
    w.follow(cleo, bob).await;
    for on in [true, false, true] {
        assert_eq!(db.follows.toggle(ada, bob, w.new_relation(), None).await.unwrap(), on);
        assert_eq!(follows(&db, ada, bob).await, on);
        assert!(!follows(&db, bob, ada).await);
        assert!(follows(&db, cleo, bob).await);
    }
    assert_eq!(lists(&db, bob).await, (vec![ada, cleo], vec![]));
    assert_eq!(lists(&db, ada).await, (vec![], vec![bob]));
}

pub async fn a_follow_is_set_and_unset_any_number_of_times(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    for on in [false, true, true, true, false, false, true] {
        if on {
            db.follows.set(ada, bob, w.new_relation()).await.unwrap();
        } else {
            db.follows.unset(ada, bob).await.unwrap();
        }
        assert_eq!(follows(&db, ada, bob).await, on);
        assert_eq!(lists(&db, bob).await.0.len(), usize::from(on));
    }
    assert!(!db.follows.toggle(ada, bob, w.new_relation(), None).await.unwrap(), "a set follow is toggled off");
}

pub async fn setting_a_follow_again_keeps_its_position(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob, cleo] = w.users().await;
    for follower in [ada, bob, ada] {
        w.follow(follower, cleo).await;
    }
    assert_eq!(lists(&db, cleo).await.0, [bob, ada]);
    db.follows.unset(ada, cleo).await.unwrap();
    w.follow(ada, cleo).await;
    assert_eq!(lists(&db, cleo).await.0, [ada, bob], "a new follow is the newest");
}

pub async fn following_an_unknown_user_is_not_found(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let (nobody, follow) = (w.id(), w.new_relation());
    assert_fails!(db.follows.toggle(ada, nobody, follow, None).await, Error::NotFound(Resource::User));
    assert_fails!(db.follows.set(ada, nobody, follow).await, Error::NotFound(Resource::User));
    assert_fails!(db.follows.unset(ada, nobody).await, Error::NotFound(Resource::User));
    assert_eq!(lists(&db, ada).await, (vec![], vec![]));
}

pub async fn an_even_number_of_concurrent_toggles_ends_off(db: Repositories) {
    toggles_of_one_user_end_in_their_parity(&db, 100).await;
}

pub async fn an_odd_number_of_concurrent_toggles_ends_on(db: Repositories) {
    toggles_of_one_user_end_in_their_parity(&db, 101).await;
}

async fn toggles_of_one_user_end_in_their_parity(db: &Repositories, count: usize) {
    let w = World::new(db);
    let [ada, bob] = w.users().await;
    let outcomes = concurrently((0..count).map(|_| {
        let (db, follow) = (db.clone(), w.new_relation());
        async move { db.follows.toggle(ada, bob, follow, None).await.unwrap() }
    }))
    .await;
    assert_eq!(outcomes.iter().filter(|on| **on).count(), count.div_ceil(2));
    let on = count % 2 == 1;
    assert_eq!(follows(db, ada, bob).await, on);
    assert_eq!(lists(db, bob).await.0.len(), usize::from(on));
    assert_eq!(lists(db, ada).await.1.len(), usize::from(on));
}

pub async fn concurrent_toggles_of_many_users_all_count(db: Repositories) {
    let w = World::new(&db);
    let [ada] = w.users().await;
    let followers: [UserId; 30] = w.users().await;
    let outcomes = concurrently(followers.iter().map(|&follower| {
        let (db, follow) = (db.clone(), w.new_relation());
        async move { db.follows.toggle(follower, ada, follow, None).await.unwrap() }
    }))
    .await;
    assert_eq!(outcomes, [true; 30]);
    let mut listed = lists(&db, ada).await.0;
    listed.sort_unstable();
    assert_eq!(listed, followers);
}

pub async fn concurrent_setting_and_unsetting_never_fails(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    concurrently((0..40).map(|n| {
        let (db, follow) = (db.clone(), w.new_relation());
        async move {
            match n % 2 {
                0 => db.follows.set(ada, bob, follow).await.unwrap(),
                _ => db.follows.unset(ada, bob).await.unwrap(),
            }
        }
    }))
    .await;
    let on = follows(&db, ada, bob).await;
    assert_eq!(lists(&db, bob).await.0.len(), usize::from(on));
}

pub async fn followers_and_followed_are_listed_newest_relation_first(db: Repositories) {
    let w = World::new(&db);
    let [ada, bystander] = w.accounts().await;
    let users: [_; 12] = w.accounts().await;
    // Three at each instant, in an order that differs from that of the ids of relations and of users.
    let relations = || {
        let relations: Vec<_> = (0..12).map(|n| NewRelation { id: w.id(), at: at(n / 3), notice: None }).collect();
        shuffled(relations)
    };
    let mut followers: Vec<_> = relations().into_iter().zip(&users).collect();
    let mut followed: Vec<_> = relations().into_iter().zip(users.iter().rev()).collect();
    for (relation, user) in &followers {
        db.follows.set(user.id, ada.id, *relation).await.unwrap();
        w.follow(user.id, bystander.id).await;
    }
    for (relation, user) in &followed {
        db.follows.set(ada.id, user.id, *relation).await.unwrap();
        w.follow(bystander.id, user.id).await;
    }
    for relations in [&mut followers, &mut followed] {
        relations.sort_by_key(|(relation, _)| std::cmp::Reverse((relation.at, relation.id)));
    }
    let [followers, followed] =
        [followers, followed].map(|relations| relations.iter().map(|(_, user)| summary(user)).collect::<Vec<_>>());
    for size in [1, 2, 12, 100] {
        let listed = pages(size, async |page| db.follows.list_followers(ada.id, ANYBODY, page).await).await;
        assert_eq!(listed, followers, "size {size}");
        let listed = pages(size, async |page| db.follows.list_followed(ada.id, ANYBODY, page).await).await;
        assert_eq!(listed, followed, "size {size}");
    }
}

pub async fn lists_of_follows_may_be_empty(db: Repositories) {
    let w = World::new(&db);
    let [ada] = w.users().await;
    for page in [
        db.follows.list_followers(ada, ANYBODY, PageRequest::FIRST).await.unwrap(),
        db.follows.list_followed(ada, ANYBODY, PageRequest::FIRST).await.unwrap(),
    ] {
        assert_eq!((page.items, page.prev, page.next), (vec![], None, None));
    }
}

pub async fn paging_through_follows_survives_new_ones_and_unfollowing(db: Repositories) {
    let w = World::new(&db);
    let [ada] = w.users().await;
    let users: [UserId; 9] = w.users().await;
    let relations = w.ids::<RelationId>(9).into_iter().zip(w.ids(9));
    for (n, (user, (to, from))) in shuffled((0..).zip(users.into_iter().zip(relations))) {
        let [to, from] = [to, from].map(|id| NewRelation { id, at: at(n / 3), notice: None });
        db.follows.set(user, ada, to).await.unwrap();
        db.follows.set(ada, user, from).await.unwrap();
    }
    let newest_first: Vec<_> = users.into_iter().rev().collect();
    let ids = |listed: Vec<UserSummary>| listed.into_iter().map(|user| user.id).collect::<Vec<_>>();

    let disturb = async |read: &[UserSummary]| {
        let [newcomer] = w.users().await;
        w.follow(newcomer, ada).await;
        db.follows.unset(read.last().unwrap().id, ada).await.unwrap();
    };
    let followers = walk(2, async |page| db.follows.list_followers(ada, ANYBODY, page).await, disturb).await;
    assert_eq!(ids(followers), newest_first);

    let disturb = async |read: &[UserSummary]| {
        let [newcomer] = w.users().await;
        w.follow(ada, newcomer).await;
        db.follows.unset(ada, read.last().unwrap().id).await.unwrap();
    };
    let followed = walk(2, async |page| db.follows.list_followed(ada, ANYBODY, page).await, disturb).await;
    assert_eq!(ids(followed), newest_first);
}
