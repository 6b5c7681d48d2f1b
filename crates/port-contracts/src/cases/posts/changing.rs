//! Editing and deleting posts.

use agora_domain::accounts::Viewer;
use std::collections::HashSet;

use agora_domain::Error;
use agora_domain::comments::CommentTarget;
use agora_domain::error::Resource;
use agora_domain::id::UserId;
use agora_domain::media::{Attachment, AttachmentsEdit};
use agora_domain::page::{Page, PageRequest};
use agora_domain::posts::{EditedPost, FeedRequest, Post, PostEdit, PostText, PostView, Visibility};
use agora_domain::version::Versions;

use crate::Repositories;
use crate::run::{assert_fails, concurrently};
use crate::world::{ANYBODY, World, attached, entities, liker, post_text, untouched};

fn text(text: &str) -> PostEdit {
    PostEdit { text: Some(post_text(text)), entities: entities(text), ..PostEdit::default() }
}

fn image(attachments: AttachmentsEdit) -> PostEdit {
    PostEdit { attachments, ..PostEdit::default() }
}

pub async fn an_edit_changes_only_the_given_fields_and_returns_replaced_images(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await;
    let (first, second, third) = (w.image().await, w.image().await, w.image().await);
    let other = w.post_with(ada.id, |post| post.attachments = attached(Some(w.new_image()))).await;
    let mut expected = w.post(ada.id).await;
    let steps = [
        text("It's \"new\" 100% 👍"),
        PostEdit { visibility: Some(Visibility::Private), ..PostEdit::default() },
        image(AttachmentsEdit::replace(Attachment::bare(first))),
        text(""),
        image(AttachmentsEdit::Keep),
        image(AttachmentsEdit::replace(Attachment::bare(second.clone()))),
        image(AttachmentsEdit::replace(Attachment::bare(second.clone()))),
        PostEdit {
            text: Some(post_text("Words again")),
            entities: entities("Words again"),
            visibility: Some(Visibility::Followers),
            attachments: AttachmentsEdit::REMOVE,
            versions: Versions::Any,
        },
        image(AttachmentsEdit::REMOVE),
        PostEdit {
            text: Some(PostText::default()),
            entities: entities(""),
            visibility: Some(Visibility::Public),
            attachments: AttachmentsEdit::replace(Attachment::bare(third)),
            versions: Versions::Any,
        },
    ];
    for edit in steps {
        let now = w.now();
        let (after, replaced_images) = expected.apply(&edit, now).unwrap();
        let edited = db.posts.edit(after.id, ANYBODY, &edit, now).await.unwrap();
        assert_eq!(edited, EditedPost { view: untouched(&after, &ada), replaced_images }, "{edit:?}");
        assert_eq!(
            db.posts.find(after.id, Viewer::ordinary(ada.id)).await.unwrap().unwrap().view.post,
            after,
            "{edit:?}"
        );
        expected = after;
    }
    assert_eq!(db.posts.find(other.id, Viewer::ordinary(ada.id)).await.unwrap().unwrap().view.post, other);
}

pub async fn an_empty_edit_leaves_the_post_unchanged(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await;
    let post = w.post_with(ada.id, |post| post.attachments = attached(Some(w.new_image()))).await;
    let same = PostEdit { text: Some(post.text.clone()), visibility: Some(post.visibility), ..PostEdit::default() };
    for edit in [PostEdit::default(), same] {
        let edited = db.posts.edit(post.id, ANYBODY, &edit, w.now()).await.unwrap();
        assert_eq!(edited, EditedPost { view: untouched(&post, &ada), replaced_images: Vec::new() });
        assert_eq!(db.posts.find(post.id, Viewer::ordinary(ada.id)).await.unwrap().unwrap().view.post, post);
    }
}

pub async fn an_edit_returns_the_post_as_its_author_sees_it(db: Repositories) {
    let w = World::new(&db);
    let [ada, fan] = w.accounts().await;
    let post = w.post(ada.id).await;
    w.like(post.id, ada.id).await;
    w.like(post.id, fan.id).await;
    w.comment(post.id, fan.id).await;
    let now = w.now();
    let edited = db.posts.edit(post.id, Viewer::ordinary(ada.id), &text("Edited"), now).await.unwrap().view;
    let mut expected = untouched(&Post { text: post_text("Edited"), updated_at: now, ..post }, &ada);
    expected.liked_by = vec![liker(&fan), liker(&ada)];
    (expected.like_count, expected.liked_by_viewer, expected.comment_count) = (2, true, 1);
    assert_eq!(edited, expected);
}

pub async fn an_edit_that_violates_a_rule_changes_nothing(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let words = w.post(ada).await;
    let picture = w
        .post_with(ada, |post| (post.text, post.attachments) = (PostText::default(), attached(Some(w.new_image()))))
        .await;
    let empty = PostEdit { visibility: Some(Visibility::Private), ..text("") };
    let removed = PostEdit { visibility: Some(Visibility::Private), ..image(AttachmentsEdit::REMOVE) };
    for (post, edit) in [(words, empty), (picture, removed)] {
        assert_fails!(db.posts.edit(post.id, ANYBODY, &edit, w.now()).await, Error::Invalid(_));
        assert_eq!(db.posts.find(post.id, Viewer::ordinary(ada)).await.unwrap().unwrap().view.post, post);
    }
}

pub async fn concurrent_edits_of_one_version_take_effect_once(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let post = w.post(ada).await;
    let versions = Versions::OneOf(vec![post.updated_at]);
    let outcomes = concurrently((0..16).map(|n| {
        // At the same instant as the version that the edit requires.
        let (db, id, at) = (db.clone(), post.id, post.updated_at);
        let edit = PostEdit { versions: versions.clone(), ..text(&format!("edit {n}")) };
        async move { db.posts.edit(id, ANYBODY, &edit, at).await }
    }))
    .await;
    let mut edited = Vec::new();
    for outcome in outcomes {
        match outcome {
            Ok(edit) => edited.push(edit.view.post),
            refused => assert_fails!(refused, Error::Stale),
        }
    }
    assert_eq!(edited, [db.posts.find(post.id, Viewer::ordinary(ada)).await.unwrap().unwrap().view.post]);
    assert!(edited[0].updated_at > post.updated_at);
}

pub async fn concurrent_unconditional_edits_all_take_effect(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let post = w.post(ada).await.id;
    let pictures = w.images(20).await;
    let others = [text("Edited"), PostEdit { visibility: Some(Visibility::Private), ..PostEdit::default() }];
    let edits =
        pictures.iter().cloned().map(|key| image(AttachmentsEdit::replace(Attachment::bare(key)))).chain(others);
    let outcomes = concurrently(edits.map(|edit| {
        let (db, at) = (db.clone(), w.now());
        async move { db.posts.edit(post, ANYBODY, &edit, at).await }
    }))
    .await;
    let replaced: Vec<_> = outcomes.into_iter().flat_map(|edited| edited.unwrap().replaced_images).collect();
    let Post { text, visibility, attachments: last, .. } =
        db.posts.find(post, Viewer::ordinary(ada)).await.unwrap().unwrap().view.post;
    assert_eq!((text, visibility), (post_text("Edited"), Visibility::Private));
    // Each picture except the last was referenced once and released once, so that none is lost.
    assert_eq!(replaced.len(), pictures.len() - 1);
    assert_eq!(w.mark_recorded_images().await, replaced.iter().cloned().collect());
    let all: HashSet<_> = replaced.into_iter().chain(last.into_iter().map(|last| last.key)).collect();
    assert_eq!(all, pictures.into_iter().collect());
}

pub async fn deleting_a_post_returns_it_and_deletes_its_likes_and_comments(db: Repositories) {
    let w = World::new(&db);
    let [ada, fan] = w.accounts().await;
    let post = w
        .post_with(ada.id, |post| {
            (post.attachments, post.visibility) = (attached(Some(w.new_image())), Visibility::Followers)
        })
        .await;
    let other = w.post(ada.id).await;
    for id in [post.id, other.id] {
        w.like(id, fan.id).await;
        w.comment(id, fan.id).await;
    }
    assert_eq!(db.posts.delete(post.id, w.now()).await.unwrap(), post);
    assert_eq!(db.posts.find(post.id, Viewer::ordinary(ada.id)).await.unwrap(), None);
    assert_eq!(db.posts.find_access(post.id, ada.id).await.unwrap(), None);
    assert_fails!(db.posts.delete(post.id, w.now()).await, Error::NotFound(Resource::Post));
    // The same post again, without its image, which is being deleted.
    leaves_nothing_behind(&db, &Post { attachments: Vec::new(), ..post }, fan.id).await;
    let left = db.posts.find(other.id, Viewer::ordinary(fan.id)).await.unwrap().unwrap().view;
    assert_eq!((left.like_count, left.comment_count), (1, 1));
}

/// Checks that nothing of a deleted post is left, by storing one with the same id, which would inherit it.
async fn leaves_nothing_behind(db: &Repositories, deleted: &Post, viewer: UserId) {
    db.posts.create(deleted, &[], None).await.unwrap();
    let again = db.posts.find(deleted.id, Viewer::ordinary(viewer)).await.unwrap().unwrap().view;
    assert_eq!((again.like_count, again.liked_by_viewer, again.comment_count), (0, false, 0));
    assert_eq!(db.posts.list_likers(deleted.id, ANYBODY, PageRequest::FIRST).await.unwrap().items, []);
    assert_eq!(db.comments.list(deleted.id, ANYBODY, PageRequest::FIRST).await.unwrap().items, []);
}

pub async fn concurrent_deletions_return_the_post_once(db: Repositories) {
    let w = World::new(&db);
    let post = w.post(w.account("Ada").await.id).await;
    let outcomes = concurrently((0..20).map(|_| {
        let (db, id, now) = (db.clone(), post.id, w.now());
        async move { db.posts.delete(id, now).await }
    }))
    .await;
    let mut deleted = Vec::new();
    for outcome in outcomes {
        match outcome {
            Ok(post) => deleted.push(post),
            refused => assert_fails!(refused, Error::NotFound(Resource::Post)),
        }
    }
    assert_eq!(deleted, [post]);
}

pub async fn deleting_a_post_during_likes_and_comments_leaves_nothing(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let post = w.post(ada).await;
    let users: [UserId; 20] = w.users().await;
    let id = post.id;
    let outcomes = concurrently((0..61).map(|n| {
        let (db, user, like, now) = (db.clone(), users[n % 20], w.new_relation(), w.now());
        let comment = w.new_comment(id, user);
        async move {
            match n {
                30 => db.posts.delete(id, now).await.map(drop),
                n if n % 3 == 0 => db.posts.toggle_like(id, user, like, None).await.map(drop),
                n if n % 3 == 1 => db.posts.set_like(id, user, like).await,
                _ => db.comments.create(&comment, None).await,
            }
        }
    }))
    .await;
    for refused in outcomes.into_iter().filter(Result::is_err) {
        assert_fails!(refused, Error::NotFound(_));
    }
    assert_eq!(db.posts.find(id, Viewer::ordinary(ada)).await.unwrap(), None);
    leaves_nothing_behind(&db, &post, users[0]).await;
}

pub async fn a_large_deleted_post_disappears_at_once_and_is_erased_in_batches(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    w.follow(bob, ada).await;
    let kept = w.post(ada).await;
    let post = w.post_with(ada, |post| post.attachments = attached(Some(w.new_image()))).await;
    let mut comments = Vec::new();
    for _ in 0..1_100 {
        comments.push(w.comment(post.id, bob).await.id);
    }
    for liker in [ada, bob] {
        w.like(post.id, liker).await;
    }
    let deleted = db.posts.delete(post.id, w.now()).await.unwrap();
    assert_eq!(deleted, post, "the post before the deletion");
    assert!(w.mark_recorded_images().await.contains(&post.attachments[0].key), "its image is recorded");

    // Before and after the rows are erased.
    for is_erased in [false, true] {
        for viewer in [ada, bob] {
            assert!(db.posts.find(post.id, Viewer::ordinary(viewer)).await.unwrap().is_none());
            assert!(db.posts.find_access(post.id, viewer).await.unwrap().is_none());
            let ids = |page: Page<PostView>| page.items.iter().map(|view| view.post.id).collect::<Vec<_>>();
            let all = db.posts.list_all(Viewer::ordinary(viewer), PageRequest::FIRST).await.unwrap();
            assert_eq!(all.items.iter().map(|view| view.post.id).collect::<Vec<_>>(), [kept.id]);
            let by_ada = db
                .posts
                .list_by_author(ada, &Visibility::ALL, Viewer::ordinary(viewer), PageRequest::FIRST)
                .await
                .unwrap();
            assert_eq!(ids(by_ada), [kept.id]);
            let feed = FeedRequest { created_before: None, page: PageRequest::FIRST };
            let feed = db.posts.list_followed(Viewer::ordinary(viewer), &Visibility::ALL, feed).await.unwrap();
            assert_eq!(ids(feed), if viewer == bob { vec![kept.id] } else { vec![] });
            for target in [CommentTarget::Comment(comments[7]), CommentTarget::NewestOn(post.id)] {
                assert_eq!(db.comments.find_access(target, viewer).await.unwrap(), None);
            }
            let like = || w.new_relation();
            assert_fails!(db.posts.toggle_like(post.id, viewer, like(), None).await, Error::NotFound(Resource::Post));
            assert_fails!(db.posts.set_like(post.id, viewer, like()).await, Error::NotFound(Resource::Post));
            assert_fails!(db.posts.unset_like(post.id, viewer).await, Error::NotFound(Resource::Post));
            let comment = w.new_comment(post.id, viewer);
            assert_fails!(db.comments.create(&comment, None).await, Error::NotFound(Resource::Post));
        }
        assert_fails!(
            db.posts.edit(post.id, ANYBODY, &text("Back again"), w.now()).await,
            Error::NotFound(Resource::Post)
        );
        assert_fails!(db.posts.delete(post.id, w.now()).await, Error::NotFound(Resource::Post));
        if !is_erased {
            let mut steps = Vec::new();
            loop {
                match db.posts.erase_deleted().await.unwrap() {
                    0 => break,
                    rows => steps.push(rows),
                }
            }
            assert_eq!(steps.iter().sum::<usize>(), 1_100 + 2 + 1);
            assert!(steps.iter().all(|rows| *rows <= 500), "{steps:?}");
        }
    }
    assert!(db.posts.find(kept.id, Viewer::ordinary(bob)).await.unwrap().is_some());
    assert_eq!(db.posts.erase_deleted().await.unwrap(), 0);
}
