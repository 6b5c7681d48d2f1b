//! Comments on posts.

use agora_domain::Error;
use agora_domain::accounts::Viewer;
use agora_domain::clock::Timestamp;
use agora_domain::comments::{Comment, CommentAccess, CommentTarget, CommentText, CommentView, Deletion};
use agora_domain::entities::Entities;
use agora_domain::error::Resource;
use agora_domain::id::{CommentId, PostId, UserId};
use agora_domain::page::PageRequest;
use agora_domain::posts::{Post, PostAccess};
use agora_domain::relation::Standing;

use crate::Repositories;
use crate::run::{assert_fails, concurrently, pages, walk};
use crate::world::{ANYBODY, INSTANTS, ODD_TEXTS, World, at, comment_text, shuffled, summary};

async fn list(db: &Repositories, post: PostId) -> Vec<Comment> {
    let comments = pages(100, async |page| db.comments.list(post, ANYBODY, page).await).await;
    comments.into_iter().map(|view| view.comment).collect()
}

/// Returns the access state of a top-level comment on a post whose author the caller does not follow.
fn access_of(id: CommentId, author: UserId, post: &Post) -> CommentAccess {
    let post = PostAccess {
        id: post.id,
        author: post.author,
        visibility: post.visibility,
        is_hidden: false,
        standing: Standing::Stranger,
    };
    let (parent, standing, is_hidden, hidden_thread) = (None, Standing::Stranger, false, None);
    CommentAccess { id, author, parent, standing, is_hidden, hidden_thread, post }
}

async fn count(db: &Repositories, post: PostId, viewer: UserId) -> u64 {
    db.posts.find(post, Viewer::ordinary(viewer)).await.unwrap().unwrap().view.comment_count
}

pub async fn comments_are_listed_with_every_field_oldest_first(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.accounts().await;
    let (post, other) = (w.post(ada.id).await.id, w.post(ada.id).await.id);
    let mut expected = Vec::new();
    for (n, instant) in shuffled(INSTANTS.map(Timestamp::from_unix_millis)).into_iter().enumerate() {
        let author = if n % 2 == 0 { &ada } else { &bob };
        let comment = w
            .comment_with(post, author.id, |comment| {
                comment.content = comment_text(&format!("Comment {n}"));
                (comment.created_at, comment.updated_at) = (instant, instant.plus_millis(-1));
            })
            .await;
        w.comment(other, author.id).await;
        expected.push(CommentView { comment, author: summary(author) });
    }
    expected.sort_by_key(|view| view.comment.created_at);
    for size in [1, 3, INSTANTS.len(), 100] {
        let listed = pages(size, async |page| db.comments.list(post, ANYBODY, page).await).await;
        assert_eq!(listed, expected, "size {size}");
    }
    assert_eq!(count(&db, post, ada.id).await, INSTANTS.len() as u64);
}

pub async fn comments_created_at_the_same_instant_are_listed_by_id(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let post = w.post(ada).await.id;
    let ids: Vec<CommentId> = w.ids(7);
    for id in shuffled(ids.clone()) {
        w.comment_with(post, ada, |comment| (comment.id, comment.created_at) = (id, at(0))).await;
    }
    for size in [1, 2, 7, 100] {
        let listed = pages(size, async |page| db.comments.list(post, ANYBODY, page).await).await;
        assert_eq!(listed.iter().map(|view| view.comment.id).collect::<Vec<_>>(), ids, "size {size}");
    }
}

pub async fn unusual_comment_texts_are_stored_exactly(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let post = w.post(ada).await.id;
    let longest = "👍".repeat(CommentText::MAX_CHARS);
    let mut expected = Vec::new();
    for text in ODD_TEXTS.into_iter().chain(["line\nline\r\n\ttab\u{7}bell", &longest]) {
        expected.push(w.comment_with(post, ada, |comment| comment.content = comment_text(text)).await);
    }
    assert_eq!(list(&db, post).await, expected);
    for comment in &mut expected {
        comment.content = comment_text(&comment.content.as_str().chars().rev().collect::<String>());
        comment.updated_at = w.now();
        db.comments.update(comment.id, &comment.content, &Entities::default(), comment.updated_at).await.unwrap();
    }
    assert_eq!(list(&db, post).await, expected);
}

pub async fn commenting_on_an_unknown_post_is_not_found(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let deleted = w.post(ada).await.id;
    w.comment(deleted, ada).await;
    db.posts.delete(deleted, w.now()).await.unwrap();
    for post in [w.id(), deleted] {
        let comment = w.new_comment(post, ada);
        assert_fails!(db.comments.create(&comment, None).await, Error::NotFound(Resource::Post));
        let target = CommentTarget::Comment(comment.comment.id);
        assert_eq!(db.comments.find_access(target, ada).await.unwrap(), None);
    }
}

pub async fn the_access_to_a_comment_is_found_by_id_for_any_caller(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob, cleo] = w.accounts().await;
    let post = w.post(ada.id).await;
    for author in [&ada, &bob] {
        let comment = w.comment(post.id, author.id).await.id;
        for caller in [&ada, &bob, &cleo] {
            let access = db.comments.find_access(CommentTarget::Comment(comment), caller.id).await.unwrap();
            assert_eq!(access, Some(access_of(comment, author.id, &post)));
        }
    }
    assert_eq!(db.comments.find_access(CommentTarget::Comment(w.id()), ada.id).await.unwrap(), None);
}

pub async fn the_callers_newest_comment_on_a_post_is_found(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob, cleo] = w.accounts().await;
    let (written, other) = (w.post(ada.id).await, w.post(cleo.id).await.id);
    let post = written.id;
    let ids: Vec<CommentId> = w.ids(5);
    // Stored in an order that differs from that of their instants and ids.
    for (id, millis) in [(ids[1], 20), (ids[3], 20), (ids[2], 20), (ids[4], 10), (ids[0], 19)] {
        w.comment_with(post, bob.id, |comment| (comment.id, comment.created_at) = (id, at(millis))).await;
    }
    w.comment(post, ada.id).await;
    w.comment(other, bob.id).await;
    let newest = async |caller, post| db.comments.find_access(CommentTarget::NewestOn(post), caller).await.unwrap();
    for id in [ids[3], ids[2], ids[1], ids[0], ids[4]] {
        // An edit does not make a comment newer.
        db.comments.update(ids[4], &comment_text("Edited"), &Entities::default(), w.now()).await.unwrap();
        let access = newest(bob.id, post).await;
        assert_eq!(access, Some(access_of(id, bob.id, &written)));
        db.comments.delete(id).await.unwrap();
    }
    assert_eq!(newest(bob.id, post).await, None);
    assert_eq!(newest(cleo.id, post).await, None);
    assert_eq!(newest(bob.id, w.id()).await, None);
    assert_eq!(newest(bob.id, other).await.unwrap().post.author, cleo.id);
}

pub async fn an_update_changes_only_content_and_time_of_change(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let post = w.post(ada).await.id;
    let (mut edited, other) = (w.comment(post, ada).await, w.comment(post, ada).await);
    for instant in INSTANTS.map(Timestamp::from_unix_millis) {
        edited.content = comment_text(&format!("Edited at {instant:?}"));
        edited.updated_at = instant;
        db.comments.update(edited.id, &edited.content, &Entities::default(), instant).await.unwrap();
        assert_eq!(list(&db, post).await, [edited.clone(), other.clone()]);
    }
}

pub async fn a_deleted_comment_is_gone_and_no_longer_counted(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let post = w.post(ada).await.id;
    let (deleted, kept) = (w.comment(post, ada).await, w.comment(post, ada).await);
    assert_eq!(count(&db, post, ada).await, 2);
    assert_eq!(db.comments.delete(deleted.id).await.unwrap(), Deletion::Done);
    assert_eq!(count(&db, post, ada).await, 1);
    assert_eq!(list(&db, post).await, [kept]);
    for gone in [deleted.id, w.id()] {
        assert_fails!(db.comments.delete(gone).await, Error::NotFound(Resource::Comment));
        assert_fails!(
            db.comments.update(gone, &comment_text("Late"), &Entities::default(), w.now()).await,
            Error::NotFound(Resource::Comment)
        );
        assert_eq!(db.comments.find_access(CommentTarget::Comment(gone), ada).await.unwrap(), None);
    }
    assert_eq!(count(&db, post, ada).await, 1);
}

pub async fn the_comments_of_a_deleted_post_are_gone(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.accounts().await;
    let post = w.post(ada.id).await.id;
    let comment = w.comment(post, bob.id).await.id;
    db.posts.delete(post, w.now()).await.unwrap();
    for target in [CommentTarget::Comment(comment), CommentTarget::NewestOn(post)] {
        assert_eq!(db.comments.find_access(target, bob.id).await.unwrap(), None);
    }
    assert_fails!(
        db.comments.update(comment, &comment_text("Late"), &Entities::default(), w.now()).await,
        Error::NotFound(Resource::Comment)
    );
    assert_fails!(db.comments.delete(comment).await, Error::NotFound(Resource::Comment));
}

pub async fn a_post_without_comments_lists_one_empty_page(db: Repositories) {
    let w = World::new(&db);
    let post = w.post(w.account("Ada").await.id).await.id;
    let page = db.comments.list(post, ANYBODY, PageRequest::FIRST).await.unwrap();
    assert_eq!((page.items, page.prev, page.next), (vec![], None, None));
}

pub async fn paging_survives_new_and_deleted_comments(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let post = w.post(ada).await.id;
    let ids: Vec<CommentId> = w.ids(9);
    for (n, &id) in shuffled((0..).zip(&ids)) {
        w.comment_with(post, ada, |comment| (comment.id, comment.created_at) = (id, at(n / 3))).await;
    }
    let mut round = 0;
    let disturb = async |read: &[CommentView]| {
        round += 1;
        w.comment_with(post, ada, |comment| comment.created_at = at(-1)).await;
        if round <= 3 {
            w.comment_with(post, ada, |comment| comment.created_at = at(1_000_000)).await;
        }
        db.comments.delete(read.last().unwrap().comment.id).await.unwrap();
    };
    let listed = walk(2, async |page| db.comments.list(post, ANYBODY, page).await, disturb).await;
    let listed: Vec<_> = listed.into_iter().map(|view| view.comment.id).collect();
    assert_eq!(listed[..9], ids);
    assert_eq!(listed.len(), 12, "entries that were added after the page are listed as well");
}

pub async fn concurrent_comments_all_count(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let post = w.post(ada).await.id;
    let comments: Vec<_> = (0..50).map(|_| w.new_comment(post, ada)).collect();
    concurrently(comments.iter().cloned().map(|comment| {
        let db = db.clone();
        async move { db.comments.create(&comment, None).await.unwrap() }
    }))
    .await;
    assert_eq!(count(&db, post, ada).await, 50);
    assert_eq!(list(&db, post).await, comments.into_iter().map(|new| new.comment).collect::<Vec<_>>());
}
