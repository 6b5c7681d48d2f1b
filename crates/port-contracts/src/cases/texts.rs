//! Texts whose entities are not extracted yet.

use agora_domain::accounts::Viewer;
use agora_domain::id::{CommentId, PostId};
use agora_domain::posts::{Post, PostEdit, Visibility};
use agora_domain::texts::{ResolvedText, TextKind, UnresolvedText};
use uuid::Uuid;

use super::posts::{entities_of, member, saying, tagged};
use crate::Repositories;
use crate::run::{concurrently, done_or_missing, pages};
use crate::world::{ANYBODY, World, comment_text, entities, post_text};

fn unresolved(post: &Post) -> UnresolvedText {
    UnresolvedText { id: post.id.uuid(), author: post.author, text: post.text.as_str().to_owned() }
}

fn resolved(id: Uuid, text: &str) -> ResolvedText {
    ResolvedText { id, text: text.to_owned(), entities: entities(text).unwrap() }
}

pub async fn unresolved_texts_are_listed_newest_first_until_stored(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    w.post_saying(ada, "#done").await;
    let mut posts = Vec::new();
    for n in 0..5 {
        let text = post_text(&format!("#a {n}"));
        posts.push(w.post_with(ada, |post| (post.text, post.entities) = (text, None)).await);
    }
    posts.reverse();
    let deleted = posts.remove(2);
    db.posts.delete(deleted.id, w.now()).await.unwrap();
    let unresolved: Vec<_> = posts.iter().map(unresolved).collect();
    assert_eq!(db.texts.list(TextKind::Post, None, 10).await.unwrap(), unresolved);
    assert_eq!(db.texts.list(TextKind::Post, None, 3).await.unwrap(), unresolved[..3]);
    assert_eq!(db.texts.list(TextKind::Post, Some(posts[1].id.uuid()), 10).await.unwrap(), unresolved[2..]);
    assert_eq!(db.texts.list(TextKind::Post, Some(posts[3].id.uuid()), 10).await.unwrap(), []);
    assert_eq!(db.texts.count().await.unwrap(), 4);
    assert!(tagged(&db, "a", member(ada), 10).await.is_empty());

    let all = |texts: &[UnresolvedText]| texts.iter().map(|text| resolved(text.id, &text.text)).collect::<Vec<_>>();
    db.texts.store(TextKind::Post, all(&unresolved[..2])).await.unwrap();
    assert_eq!(db.texts.list(TextKind::Post, None, 10).await.unwrap(), unresolved[2..]);
    assert_eq!(tagged(&db, "a", member(ada), 1).await, [posts[0].id, posts[1].id]);
    db.texts.store(TextKind::Post, all(&unresolved)).await.unwrap();
    assert_eq!((db.texts.count().await.unwrap(), db.texts.list(TextKind::Post, None, 10).await.unwrap()), (0, vec![]));
    for post in posts {
        let found = db.posts.find(post.id, Viewer::ordinary(ada)).await.unwrap().unwrap().view.post;
        assert_eq!((found.entities, found.updated_at), (entities(post.text.as_str()), post.updated_at));
    }
    assert_eq!(tagged(&db, "a", member(ada), 1).await.len(), 4);
}

pub async fn entities_are_stored_only_if_the_text_is_unchanged(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let unresolved = |text: &'static str| {
        let w = &w;
        async move { w.post_with(ada, |post| (post.text, post.entities) = (post_text(text), None)).await.id }
    };
    let (edited, unknown, private) = (unresolved("#a").await, unresolved("#a").await, unresolved("#a").await);
    let of = |post: PostId| resolved(post.uuid(), "#a");
    db.posts.edit(edited, ANYBODY, &saying("#b"), w.now()).await.unwrap();
    db.posts.edit(unknown, ANYBODY, &PostEdit { entities: None, ..saying("#b") }, w.now()).await.unwrap();
    let hide = PostEdit { visibility: Some(Visibility::Private), ..PostEdit::default() };
    db.posts.edit(private, ANYBODY, &hide, w.now()).await.unwrap();
    db.texts.store(TextKind::Post, vec![of(edited), of(unknown), of(private), of(w.id())]).await.unwrap();
    assert_eq!(entities_of(&db, edited, ada).await, entities("#b"));
    assert_eq!(entities_of(&db, unknown, ada).await, None);
    assert_eq!(tagged(&db, "a", member(ada), 10).await, [private]);
    assert_eq!(tagged(&db, "b", member(ada), 10).await, [edited]);
    let stranger = w.account("Bob").await.id;
    assert!(tagged(&db, "a", member(stranger), 10).await.is_empty(), "it was hidden before its hashtags were stored");
    // Entities that are stored already are not replaced.
    let other = ResolvedText { entities: entities("").unwrap(), ..of(private) };
    db.texts.store(TextKind::Post, vec![other]).await.unwrap();
    assert_eq!(entities_of(&db, private, ada).await, entities("#a"));
}

pub async fn texts_are_resolved_during_edits_and_deletions(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let mut posts = Vec::new();
    for _ in 0..40 {
        posts.push(w.post_with(ada, |post| (post.text, post.entities) = (post_text("#a"), None)).await.id);
    }
    let resolved: Vec<_> = posts.iter().map(|post| resolved(post.uuid(), "#a")).collect();
    concurrently((0..12).map(|n| {
        let (db, posts, resolved, now) = (db.clone(), posts.clone(), resolved.clone(), w.now());
        async move {
            if n % 3 == 0 {
                db.texts.store(TextKind::Post, resolved).await.unwrap();
                return;
            }
            for (i, post) in posts.into_iter().enumerate().skip(n).step_by(7) {
                match i % 3 {
                    0 => done_or_missing(db.posts.edit(post, ANYBODY, &saying("#b"), now).await).unwrap(),
                    1 => done_or_missing(db.posts.delete(post, now).await).unwrap(),
                    _ => {}
                }
            }
        }
    }))
    .await;
    assert_eq!(db.texts.count().await.unwrap(), 0);
    let listed =
        pages(100, async |page| db.posts.list_by_author(ada, &Visibility::ALL, Viewer::ordinary(ada), page).await)
            .await;
    for (tag, text) in [("a", "#a"), ("b", "#b")] {
        let expected: Vec<_> =
            listed.iter().filter(|view| view.post.text == post_text(text)).map(|view| view.post.id).collect();
        assert!(!expected.is_empty());
        assert_eq!(tagged(&db, tag, member(ada), 100).await, expected);
    }
}

pub async fn texts_of_comments_are_resolved_like_those_of_posts(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let post = w.post(ada).await.id;
    let mut ids = Vec::new();
    for (text, is_done) in [("#a", false), ("plain", false), ("#b", false), ("done", true)] {
        let mut new = w.new_comment(post, ada);
        (new.comment.content, new.entities) = (comment_text(text), entities(text).filter(|_| is_done));
        db.comments.create(&new, None).await.unwrap();
        ids.push(new.comment.id);
    }
    let found = db.texts.list(TextKind::Comment, None, 10).await.unwrap();
    let expected = [(2, "#b"), (1, "plain"), (0, "#a")];
    assert_eq!(
        found,
        expected.map(|(n, text)| UnresolvedText { id: ids[n].uuid(), author: ada, text: text.to_owned() })
    );
    assert_eq!(db.texts.list(TextKind::Comment, Some(ids[1].uuid()), 10).await.unwrap(), found[2..]);
    assert_eq!(db.texts.list(TextKind::Comment, None, 2).await.unwrap(), found[..2]);
    assert_eq!((db.texts.count().await.unwrap(), db.texts.list(TextKind::Post, None, 10).await.unwrap()), (3, vec![]));
    let named = async |id: CommentId| db.comments.find(id, ada).await.unwrap().unwrap().entities;
    assert_eq!(named(ids[0]).await, None);

    db.comments.update(ids[2], &comment_text("#c"), &entities("#c").unwrap(), w.now()).await.unwrap();
    let all: Vec<_> = found.iter().map(|text| resolved(text.id, &text.text)).collect();
    db.texts.store(TextKind::Comment, all).await.unwrap();
    for (n, text) in ["#a", "plain", "#c", "done"].into_iter().enumerate() {
        assert_eq!(named(ids[n]).await, entities(text), "{text}");
    }
    assert_eq!(db.texts.count().await.unwrap(), 0);
}
