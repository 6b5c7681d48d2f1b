//! Concurrent writes of every kind.

use agora_domain::accounts::{ProfileChanges, ProfilePicture, Session, Viewer};
use agora_domain::entities::Entities;
use agora_domain::id::UserId;
use agora_domain::page::PageRequest;
use agora_domain::posts::{Post, PostEdit, Visibility};

use crate::Repositories;
use crate::run::{concurrently, pages};
use crate::world::{ANYBODY, World, biography, comment_text, post_text};

pub async fn sixty_four_concurrent_writers_of_mixed_kinds_all_succeed(db: Repositories) {
    let w = World::new(&db);
    let [ada] = w.users().await;
    let users: [UserId; 64] = w.users().await;
    let shared = w.post(ada).await.id;
    let comment = w.comment(shared, ada).await.id;

    let pictures = w.images(64).await;
    concurrently((0..64).map(|n| {
        let (db, user) = (db.clone(), users[n]);
        let (account, post, product) =
            (w.new_account(&format!("late {n}")), w.new_post(user), w.new_product(&format!("sku {n}")));
        let (session, reply) = (Session { id: w.id(), user, opened_at: w.now() }, w.new_comment(shared, user));
        let (relation, now, entry) = (w.new_relation(), w.now(), w.entry());
        let (biography, profile_picture) =
            (Some(biography("Busy")), Some(Some(ProfilePicture::new(pictures[n].clone()))));
        let profile = ProfileChanges { biography, profile_picture, ..ProfileChanges::default() };
        let edit = PostEdit { text: Some(post_text(&format!("Edit {n}"))), ..PostEdit::default() };
        async move {
            match n % 8 {
                0 => db.accounts.create(&account, None).await.unwrap(),
                1 => {
                    let password = db.accounts.find_password(user).await.unwrap().unwrap();
                    assert!(db.sessions.open(&session, &password, None).await.unwrap());
                    db.sessions.revoke(session.id, now).await.unwrap();
                }
                2 => {
                    db.posts.create(&post, &[], None).await.unwrap();
                    db.posts.edit(shared, ANYBODY, &edit, now).await.unwrap();
                }
                3 => {
                    db.comments.create(&reply, None).await.unwrap();
                    db.comments.update(comment, &comment_text("Edited"), &Entities::default(), now).await.unwrap();
                }
                4 => assert!(db.posts.toggle_like(shared, user, relation, None).await.unwrap()),
                5 => assert!(db.follows.toggle(user, ada, relation, None).await.unwrap()),
                6 => {
                    db.accounts.update_profile(user, &profile, now).await.unwrap();
                    db.posts.list_all(Viewer::ordinary(user), PageRequest::FIRST).await.unwrap();
                }
                _ => db.products.create(&product, &entry, None).await.unwrap(),
            }
        }
    }))
    .await;

    let view = db.posts.find(shared, Viewer::ordinary(ada)).await.unwrap().unwrap().view;
    assert_eq!((view.like_count, view.comment_count), (8, 9));
    assert_eq!(pages(100, async |page| db.accounts.list(page).await).await.len(), 65 + 8);
    assert_eq!(pages(100, async |page| db.posts.list_all(Viewer::ordinary(ada), page).await).await.len(), 1 + 8);
    assert_eq!(pages(100, async |page| db.follows.list_followers(ada, ANYBODY, page).await).await.len(), 8);
    assert_eq!(pages(100, async |page| db.products.list_short(page).await).await.len(), 8);
}

pub async fn concurrent_readers_see_whole_changes(db: Repositories) {
    let w = World::new(&db);
    let [ada] = w.users().await;
    let post = w.post_with(ada, |post| post.text = post_text("PUBLIC")).await.id;
    // Text and visibility always change together, so that a torn read would be detected.
    let shown = |post: &Post| assert_eq!(post.text.as_str(), post.visibility.as_str());
    concurrently((0..60).map(|n| {
        let (db, now) = (db.clone(), w.now());
        async move {
            if n % 2 == 0 {
                let visibility = Visibility::ALL[n % 3];
                let text = Some(post_text(visibility.as_str()));
                let edit = PostEdit { text, visibility: Some(visibility), ..PostEdit::default() };
                shown(&db.posts.edit(post, ANYBODY, &edit, now).await.unwrap().view.post);
            } else {
                shown(&db.posts.find(post, Viewer::ordinary(ada)).await.unwrap().unwrap().view.post);
                let listed = db
                    .posts
                    .list_by_author(ada, &[Visibility::Public], Viewer::ordinary(ada), PageRequest::FIRST)
                    .await;
                for view in listed.unwrap().items {
                    assert_eq!(view.post.visibility, Visibility::Public);
                    shown(&view.post);
                }
            }
        }
    }))
    .await;
}
