//! Creating posts and finding them.

use agora_domain::Error;
use agora_domain::accounts::{ProfileChanges, ProfilePicture, Viewer};
use agora_domain::clock::Timestamp;
use agora_domain::error::Resource;
use agora_domain::id::PostId;
use agora_domain::page::PageRequest;
use agora_domain::posts::{FoundPost, PostAccess, PostEdit, PostText, SHOWN_LIKERS, Visibility};
use agora_domain::relation::{NewRelation, Standing};

use crate::Repositories;
use crate::run::{assert_fails, concurrently};
use crate::world::{
    ANYBODY, INSTANTS, ODD_TEXTS, World, at, attached, author, biography, display_name, liker, post_text, shuffled,
    untouched,
};

pub async fn creating_a_post_returns_it_as_its_author_sees_it(db: Repositories) {
    let w = World::new(&db);
    let ada = w
        .account_with("Ada", |account| {
            account.biography = biography("Counts");
            account.profile_picture = Some(w.new_picture());
        })
        .await;
    for account in [ada, w.account("Bob").await] {
        let post = w.new_post(account.id);
        assert_eq!(db.posts.create(&post, &[], None).await.unwrap(), untouched(&post, &account));
    }
}

pub async fn a_post_is_found_with_every_field_it_was_created_with(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await;
    for visibility in Visibility::ALL {
        for (text, image) in [("Words", None), ("", Some(w.new_image())), ("Both", Some(w.new_image()))] {
            let post = w
                .post_with(ada.id, |post| {
                    (post.text, post.attachments, post.visibility) = (post_text(text), attached(image), visibility);
                    post.updated_at = post.created_at.plus_millis(7);
                })
                .await;
            let found = db.posts.find(post.id, Viewer::ordinary(ada.id)).await.unwrap();
            assert_eq!(found, Some(FoundPost { view: untouched(&post, &ada), standing: Standing::Stranger }));
        }
    }
}

pub async fn the_times_of_a_post_are_stored_to_the_millisecond(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    for instant in INSTANTS.map(Timestamp::from_unix_millis) {
        let later = instant.plus_millis(-1);
        let post = w.post_with(ada, |post| (post.created_at, post.updated_at) = (instant, later)).await;
        assert_eq!(db.posts.find(post.id, Viewer::ordinary(ada)).await.unwrap().unwrap().view.post, post);
        let edit = PostEdit { text: Some(post_text("Edited")), ..PostEdit::default() };
        let edited = db.posts.edit(post.id, ANYBODY, &edit, instant).await.unwrap().view.post;
        assert_eq!((edited.created_at, edited.updated_at), (instant, instant));
        assert_eq!(db.posts.find(post.id, Viewer::ordinary(ada)).await.unwrap().unwrap().view.post, edited);
    }
}

pub async fn unusual_post_texts_are_stored_exactly(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let longest = "👍".repeat(PostText::MAX_CHARS);
    for text in ODD_TEXTS.into_iter().chain(["line\nline\r\n\ttab\u{7}bell", &longest]) {
        let post = w.post_with(ada, |post| post.text = post_text(text)).await;
        assert_eq!(db.posts.find(post.id, Viewer::ordinary(ada)).await.unwrap().unwrap().view.post, post);
    }
}

pub async fn an_unknown_post_is_not_found(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    w.post(ada).await;
    let unknown: PostId = w.id();
    let edit = PostEdit { text: Some(post_text("New")), ..PostEdit::default() };
    assert_eq!(db.posts.find(unknown, Viewer::ordinary(ada)).await.unwrap(), None);
    assert_eq!(db.posts.find_access(unknown, ada).await.unwrap(), None);
    assert_fails!(db.posts.edit(unknown, ANYBODY, &edit, w.now()).await, Error::NotFound(Resource::Post));
    assert_fails!(
        db.posts.edit(unknown, ANYBODY, &PostEdit::default(), w.now()).await,
        Error::NotFound(Resource::Post)
    );
    assert_fails!(db.posts.delete(unknown, w.now()).await, Error::NotFound(Resource::Post));
}

pub async fn a_post_is_found_as_each_viewer_sees_it(db: Repositories) {
    let w = World::new(&db);
    let [ada, fan, friend, stranger] = w.accounts().await;
    // Follows in different directions, so that they cannot be confused.
    w.follow(fan.id, ada.id).await;
    w.follow(ada.id, stranger.id).await;
    w.follow(stranger.id, fan.id).await;
    for visibility in Visibility::ALL {
        let post = w.post_with(ada.id, |post| post.visibility = visibility).await;
        let other = w.post(ada.id).await;
        w.like(post.id, fan.id).await;
        w.like(post.id, friend.id).await;
        w.like(other.id, stranger.id).await;
        for user in [stranger.id, stranger.id, ada.id] {
            w.comment(post.id, user).await;
        }
        w.comment(other.id, friend.id).await;
        let viewers = [(&ada, false, false), (&fan, true, true), (&friend, false, true), (&stranger, false, false)];
        for (viewer, viewer_follows, liked_by_viewer) in viewers {
            let mut view = untouched(&post, &ada);
            view.liked_by = vec![liker(&friend), liker(&fan)];
            (view.like_count, view.liked_by_viewer, view.comment_count) = (2, liked_by_viewer, 3);
            let found = db.posts.find(post.id, Viewer::ordinary(viewer.id)).await.unwrap();
            let standing = Standing::of(viewer_follows, false);
            assert_eq!(found, Some(FoundPost { view, standing }));
            let access = PostAccess { id: post.id, author: ada.id, visibility, is_hidden: false, standing };
            assert_eq!(db.posts.find_access(post.id, viewer.id).await.unwrap(), Some(access));
        }
    }
}

pub async fn a_post_shows_the_current_profiles_of_author_and_likers(db: Repositories) {
    let w = World::new(&db);
    let (mut ada, mut fan) = (w.account("Ada").await, w.account("Fan").await);
    let post = w.post(ada.id).await;
    w.like(post.id, fan.id).await;
    for account in [&mut ada, &mut fan] {
        let changes = ProfileChanges {
            display_name: Some(display_name("Somebody new")),
            biography: Some(biography("New")),
            profile_picture: Some(Some(ProfilePicture::new(w.image().await))),
            ..ProfileChanges::default()
        };
        *account = db.accounts.update_profile(account.id, &changes, w.now()).await.unwrap().account;
    }
    let view = db.posts.find(post.id, Viewer::ordinary(ada.id)).await.unwrap().unwrap().view;
    assert_eq!((view.author, view.liked_by), (author(&ada), vec![liker(&fan)]));
}

pub async fn a_post_shows_the_newest_likers_and_counts_all(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await;
    let post = w.post(ada.id).await;
    let users: [_; 60] = w.accounts().await;
    // Ten at each instant, in an order that differs from that of the ids of likes and of users.
    let likes: Vec<NewRelation> = (0..60).map(|n| NewRelation { id: w.id(), at: at(n / 10), notice: None }).collect();
    let mut likes: Vec<_> = shuffled(likes).into_iter().zip(users).collect();
    for (like, user) in &likes {
        db.posts.set_like(post.id, user.id, *like).await.unwrap();
    }
    likes.sort_by_key(|(like, _)| std::cmp::Reverse((like.at, like.id)));
    let newest: Vec<_> = likes.iter().take(SHOWN_LIKERS).map(|(_, user)| liker(user)).collect();
    let (_, oldest) = likes.last().unwrap();
    let view = db.posts.find(post.id, Viewer::ordinary(oldest.id)).await.unwrap().unwrap().view;
    assert_eq!(view.liked_by, newest);
    assert_eq!(
        (view.like_count, view.liked_by_viewer),
        (60, true),
        "the viewer's like counts, although it is not shown"
    );
    let listed = db.posts.list_all(Viewer::ordinary(ada.id), PageRequest::FIRST).await.unwrap().items.remove(0);
    assert_eq!((listed.liked_by, listed.like_count, listed.liked_by_viewer), (newest, 60, false));
}

pub async fn concurrently_created_posts_are_all_stored(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let posts: Vec<_> = (0..30).map(|_| w.new_post(ada)).collect();
    let created = concurrently(posts.iter().cloned().map(|post| {
        let db = db.clone();
        async move { db.posts.create(&post, &[], None).await.unwrap().post }
    }))
    .await;
    assert_eq!(created, posts);
    for post in posts {
        assert_eq!(db.posts.find(post.id, Viewer::ordinary(ada)).await.unwrap().unwrap().view.post, post);
    }
}
