//! Paging through posts while posts are created and deleted.

use agora_domain::id::PostId;
use agora_domain::posts::PostView;

use super::lists::{List, author_and_follower};
use crate::Repositories;
use crate::run::{done_or_missing, walk};
use crate::world::{World, at, shuffled};

pub async fn paging_through_all_posts_survives_arrivals_and_deletions(db: Repositories) {
    survives_arrivals_and_deletions(&db, List::All).await;
}

pub async fn paging_through_an_authors_posts_survives_arrivals_and_deletions(db: Repositories) {
    survives_arrivals_and_deletions(&db, List::ByAuthor).await;
}

pub async fn paging_through_the_feed_survives_arrivals_and_deletions(db: Repositories) {
    survives_arrivals_and_deletions(&db, List::Followed).await;
}

/// Reads pages of three, which end between posts of one instant. Between two pages, the last post of the page is deleted, and
/// posts are created above it, one of them at the same instant.
async fn survives_arrivals_and_deletions(db: &Repositories, list: List) {
    let w = World::new(db);
    let who = author_and_follower(&w).await;
    let ids: Vec<PostId> = w.ids(20);
    for (n, &id) in shuffled((0..).zip(&ids)) {
        w.post_with(who.0, |post| (post.id, post.created_at) = (id, at(n / 10))).await;
    }
    let newest_first: Vec<_> = ids.iter().rev().copied().collect();
    // Deleted before its page is read.
    let unread = newest_first[16];

    let disturb = async |read: &[PostView]| {
        let last = &read.last().unwrap().post;
        // Its id is greater than all others, so it sorts above the last post read.
        w.post_with(who.0, |post| post.created_at = last.created_at).await;
        w.post(who.0).await;
        db.posts.delete(last.id, w.now()).await.unwrap();
        done_or_missing(db.posts.delete(unread, w.now()).await).unwrap();
    };
    let views = walk(3, async |page| list.read(db, who, page).await, disturb).await;

    let mut listed: Vec<_> = views.iter().map(|view| (view.post.created_at, view.post.id)).collect();
    assert!(listed.is_sorted_by(|a, b| a > b), "in order, without duplicates");
    listed.retain(|(_, id)| ids.contains(id));
    let expected: Vec<_> = newest_first.into_iter().filter(|id| *id != unread).collect();
    assert_eq!(listed.into_iter().map(|(_, id)| id).collect::<Vec<_>>(), expected);
}
