//! Replies, and likes of comments.

use agora_domain::Error;
use agora_domain::accounts::Viewer;
use agora_domain::comments::{Comment, CommentOrder, CommentTarget, Deletion, NewComment, ThreadedComment};
use agora_domain::entities::Entities;
use agora_domain::error::Resource;
use agora_domain::id::{CommentId, PostId, UserId};

use crate::Repositories;
use crate::run::{assert_fails, concurrently, done_or_missing, pages};
use crate::world::{ANYBODY, World, at, comment_text, entities, preview, shuffled, untouched_comment};

async fn top_level(db: &Repositories, post: PostId, viewer: UserId, order: CommentOrder) -> Vec<ThreadedComment> {
    pages(3, async |page| db.comments.list_top_level(post, Viewer::ordinary(viewer), order, page).await).await
}

async fn replies(db: &Repositories, thread: CommentId, viewer: UserId) -> Vec<ThreadedComment> {
    pages(3, async |page| db.comments.list_replies(thread, Viewer::ordinary(viewer), page).await).await
}

async fn found(db: &Repositories, id: CommentId, viewer: UserId) -> ThreadedComment {
    db.comments.find(id, viewer).await.unwrap().unwrap()
}

async fn comment_count(db: &Repositories, post: PostId, viewer: UserId) -> u64 {
    db.posts.find(post, Viewer::ordinary(viewer)).await.unwrap().unwrap().view.comment_count
}

async fn is_gone(db: &Repositories, id: CommentId, viewer: UserId) -> bool {
    let access = db.comments.find_access(CommentTarget::Comment(id), viewer).await.unwrap();
    access.is_none() && db.comments.find(id, viewer).await.unwrap().is_none()
}

/// Stores a comment with this instant and text, and the entities of the text.
async fn create(db: &Repositories, mut new: NewComment, millis: i64, text: &str) -> NewComment {
    new.comment.content = comment_text(text);
    new.entities = entities(text);
    (new.comment.created_at, new.comment.updated_at) = (at(millis), at(millis + 1));
    db.comments.create(&new, None).await.unwrap();
    new
}

pub async fn top_level_comments_are_listed_in_either_order_with_every_field(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.accounts().await;
    let (post, other) = (w.post(ada.id).await.id, w.post(ada.id).await.id);
    assert!(top_level(&db, post, ada.id, CommentOrder::Oldest).await.is_empty());
    let mut expected = Vec::new();
    for n in shuffled(0..8_i64) {
        let author = if n % 2 == 0 { &ada } else { &bob };
        let new = create(&db, w.new_comment(post, author.id), n / 2, &format!("#a {n}")).await;
        for _ in 0..n % 3 {
            w.reply(&new.comment, bob.id).await;
        }
        w.comment(other, author.id).await;
        expected.push(ThreadedComment { reply_count: (n % 3).unsigned_abs(), ..untouched_comment(&new, author) });
    }
    expected.sort_by_key(|view| (view.comment.created_at, view.comment.id));
    assert_eq!(top_level(&db, post, ada.id, CommentOrder::Oldest).await, expected);
    expected.reverse();
    assert_eq!(top_level(&db, post, ada.id, CommentOrder::Newest).await, expected);
    assert_eq!(comment_count(&db, post, ada.id).await, 8 + 7);
}

pub async fn a_thread_is_listed_oldest_first(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.accounts().await;
    let post = w.post(ada.id).await.id;
    let (thread, other) = (w.comment(post, ada.id).await, w.comment(post, ada.id).await);
    let first = w.reply(&thread, bob.id).await;
    db.comments.delete(first.id).await.unwrap();
    let mut expected = Vec::new();
    let mut answered = thread.id;
    for n in shuffled(0..8) {
        let new = create(&db, w.new_reply(&thread, answered, bob.id), n / 2, &format!("#b {n}")).await;
        answered = new.comment.id;
        w.reply(&other, ada.id).await;
        expected.push(untouched_comment(&new, &bob));
    }
    expected.sort_by_key(|view| (view.comment.created_at, view.comment.id));
    assert_eq!(replies(&db, thread.id, ada.id).await, expected);
    assert!(replies(&db, answered, ada.id).await.is_empty(), "threads have one level");
    assert_eq!(
        (found(&db, thread.id, ada.id).await.reply_count, found(&db, answered, ada.id).await.reply_count),
        (8, 0)
    );
    let listed = pages(5, async |page| db.comments.list(post, ANYBODY, page).await).await;
    assert_eq!(listed.len(), 2 + 2 * 8, "the flat list has all comments");
    let places: Vec<_> = listed.iter().map(|view| (view.comment.created_at, view.comment.id)).collect();
    assert!(places.is_sorted(), "{places:?}");
    let access = db.comments.find_access(CommentTarget::Comment(answered), ada.id).await.unwrap().unwrap();
    assert_eq!((access.parent, access.thread()), (Some(thread.id), thread.id));
}

pub async fn a_comment_is_found_as_each_viewer_sees_it(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob, cleo] = w.accounts().await;
    let post = w.post(ada.id).await.id;
    let thread = create(&db, w.new_comment(post, ada.id), 5, "#a https://b.example").await;
    let reply = create(&db, w.new_reply(&thread.comment, thread.comment.id, bob.id), 6, "#c").await;
    for liked in [&thread, &reply] {
        w.like_comment(liked.comment.id, bob.id).await;
    }
    w.like_comment(thread.comment.id, ada.id).await;
    for viewer in [&ada, &bob, &cleo] {
        let expected = ThreadedComment {
            reply_count: 1,
            like_count: 2,
            liked_by_viewer: viewer.id != cleo.id,
            ..untouched_comment(&thread, &ada)
        };
        assert_eq!(found(&db, thread.comment.id, viewer.id).await, expected);
        assert_eq!(top_level(&db, post, viewer.id, CommentOrder::Oldest).await, [expected]);
        let expected =
            ThreadedComment { like_count: 1, liked_by_viewer: viewer.id == bob.id, ..untouched_comment(&reply, &bob) };
        assert_eq!(found(&db, reply.comment.id, viewer.id).await, expected);
        assert_eq!(replies(&db, thread.comment.id, viewer.id).await, [expected]);
    }
    assert_eq!(db.comments.find(w.id(), ada.id).await.unwrap(), None);
}

pub async fn a_reply_outside_its_thread_is_not_found(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let (post, other) = (w.post(ada).await.id, w.post(ada).await.id);
    let (thread, elsewhere) = (w.comment(post, ada).await, w.comment(other, ada).await);
    let reply = w.reply(&thread, bob).await;
    let second = w.comment(post, ada).await;
    let gone = w.comment(post, ada).await;
    db.comments.delete(gone.id).await.unwrap();
    let on_post = |comment: &Comment| Comment { post, ..comment.clone() };
    for (thread, answered) in [
        (&on_post(&elsewhere), elsewhere.id),
        (&gone, gone.id),
        (&reply, reply.id),
        (&second, reply.id),
        (&thread, gone.id),
        (&thread, w.id()),
    ] {
        let new = w.new_reply(thread, answered, bob);
        assert_fails!(db.comments.create(&new, None).await, Error::NotFound(Resource::Comment));
        assert!(is_gone(&db, new.comment.id, bob).await);
    }
    let mut new = w.new_reply(&thread, thread.id, bob);
    new.comment.post = w.id();
    assert_fails!(db.comments.create(&new, None).await, Error::NotFound(Resource::Post));
    assert_eq!((comment_count(&db, post, ada).await, comment_count(&db, other, ada).await), (3, 1));
    assert_eq!(found(&db, thread.id, ada).await.reply_count, 1);
}

pub async fn the_entities_of_an_edited_comment_are_stored_with_it(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await;
    let post = w.post(ada.id).await.id;
    let new = create(&db, w.new_comment(post, ada.id), 0, "#a").await;
    let id = new.comment.id;
    for (n, text) in (0..).zip(["#b", "plain", "#c #d", "#c #d", "#a"]) {
        let named = entities(text).unwrap();
        db.comments.update(id, &comment_text(text), &named, at(n)).await.unwrap();
        let comment = Comment { content: comment_text(text), updated_at: at(n), ..new.comment.clone() };
        let expected = NewComment { comment, reply: None, entities: Some(named), notices: vec![] };
        assert_eq!(found(&db, id, ada.id).await, untouched_comment(&expected, &ada), "{text}");
    }
    assert_eq!(db.texts.count().await.unwrap(), 0);
}

pub async fn a_like_of_a_comment_is_set_and_unset_any_number_of_times(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let comment = w.comment(w.post(ada).await.id, ada).await.id;
    for user in [ada, bob] {
        for _ in 0..2 {
            w.like_comment(comment, user).await;
        }
    }
    assert_eq!(found(&db, comment, ada).await.like_count, 2);
    for left in [1, 1] {
        db.comments.unset_like(comment, bob).await.unwrap();
        let seen = found(&db, comment, bob).await;
        assert_eq!((seen.like_count, seen.liked_by_viewer), (left, false));
    }
    w.like_comment(comment, bob).await;
    assert!(found(&db, comment, bob).await.liked_by_viewer);
}

pub async fn likers_of_a_comment_are_listed_newest_like_first(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob, cleo] = w.accounts().await;
    let post = w.post(ada.id).await.id;
    let (comment, other) = (w.comment(post, ada.id).await.id, w.comment(post, ada.id).await.id);
    for liker in [&bob, &ada, &cleo, &bob] {
        w.like_comment(comment, liker.id).await;
    }
    w.like_comment(other, cleo.id).await;
    for size in [1, 2, 100] {
        let listed = pages(size, async |page| db.comments.list_likers(comment, ANYBODY, page).await).await;
        assert_eq!(listed, [&cleo, &ada, &bob].map(preview), "setting it again keeps its place");
    }
}

pub async fn changes_to_a_deleted_comment_are_not_found(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let (post, doomed) = (w.post(ada).await.id, w.post(ada).await.id);
    let (deleted, with_its_post) = (w.comment(post, ada).await.id, w.comment(doomed, ada).await.id);
    let marked = w.post(ada).await.id;
    let with_a_marked_post = w.comment(marked, ada).await.id;
    for _ in 0..500 {
        w.comment(marked, ada).await;
    }
    db.comments.delete(deleted).await.unwrap();
    db.posts.delete(doomed, w.now()).await.unwrap();
    db.posts.delete(marked, w.now()).await.unwrap();
    for gone in [deleted, with_its_post, with_a_marked_post, w.id()] {
        let not_found = |outcome: agora_domain::Result<()>| {
            assert_fails!(outcome, Error::NotFound(Resource::Comment));
        };
        not_found(db.comments.set_like(gone, ada, w.new_relation()).await);
        not_found(db.comments.unset_like(gone, ada).await.map(drop));
        assert_eq!(db.comments.find_access(CommentTarget::Comment(gone), ada).await.unwrap(), None);
    }
}

pub async fn deleting_a_top_level_comment_deletes_its_thread(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let post = w.post(ada).await.id;
    let (thread, kept) = (w.comment(post, ada).await, w.comment(post, ada).await);
    let kept_reply = w.reply(&kept, bob).await;
    let mut gone = vec![thread.id];
    for _ in 0..5 {
        gone.push(w.reply(&thread, bob).await.id);
    }
    for comment in &gone {
        w.like_comment(*comment, bob).await;
    }
    assert_eq!(db.comments.delete(thread.id).await.unwrap(), Deletion::Done);
    for comment in gone {
        assert!(is_gone(&db, comment, ada).await);
    }
    assert!(replies(&db, thread.id, ada).await.is_empty());
    let left: Vec<_> = pages(9, async |page| db.comments.list(post, ANYBODY, page).await).await;
    assert_eq!(left.into_iter().map(|view| view.comment).collect::<Vec<_>>(), [kept.clone(), kept_reply]);
    assert_eq!((comment_count(&db, post, ada).await, found(&db, kept.id, ada).await.reply_count), (2, 1));
}

pub async fn deleting_a_reply_deletes_nothing_else(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let post = w.post(ada).await.id;
    let thread = w.comment(post, ada).await;
    let (deleted, kept) = (w.reply(&thread, bob).await, w.reply(&thread, bob).await);
    let answer = w.new_reply(&thread, deleted.id, ada);
    db.comments.create(&answer, None).await.unwrap();
    w.like_comment(deleted.id, ada).await;
    assert_eq!(db.comments.delete(deleted.id).await.unwrap(), Deletion::Done);
    assert!(is_gone(&db, deleted.id, ada).await);
    let left: Vec<_> = replies(&db, thread.id, ada).await.into_iter().map(|view| view.comment.id).collect();
    assert_eq!(left, [kept.id, answer.comment.id], "replies to it are kept");
    assert_eq!((comment_count(&db, post, ada).await, found(&db, thread.id, ada).await.reply_count), (3, 2));
}

pub async fn a_large_thread_is_deleted_in_batches(db: Repositories) {
    let w = World::new(&db);
    let users = w.users::<520>().await;
    let ada = users[0];
    let post = w.post(ada).await.id;
    let (thread, kept) = (w.comment(post, ada).await, w.comment(post, ada).await);
    for n in 0..600 {
        let reply = w.reply(&thread, ada).await;
        if n == 300 {
            for user in &users {
                w.like_comment(reply.id, *user).await;
            }
        }
    }
    for user in &users {
        w.like_comment(thread.id, *user).await;
    }
    let mut steps = 1;
    while db.comments.delete(thread.id).await.unwrap() == Deletion::InPart {
        steps += 1;
        let left = found(&db, thread.id, ada).await;
        assert_eq!(comment_count(&db, post, ada).await, 2 + left.reply_count, "the counts are correct after each step");
        assert_eq!(
            pages(100, async |page| db.comments.list_replies(thread.id, Viewer::ordinary(ada), page).await).await.len()
                as u64,
            left.reply_count
        );
        let likers = pages(100, async |page| db.comments.list_likers(thread.id, ANYBODY, page).await).await;
        assert_eq!(likers.len() as u64, left.like_count);
    }
    assert!((4..=8).contains(&steps), "{steps}");
    assert!(is_gone(&db, thread.id, ada).await);
    assert_eq!((comment_count(&db, post, ada).await, is_gone(&db, kept.id, ada).await), (1, false));
}

pub async fn a_post_with_many_comment_likes_disappears_at_once_and_is_erased_later(db: Repositories) {
    let w = World::new(&db);
    let users = w.users::<251>().await;
    let ada = users[0];
    let post = w.post(ada).await.id;
    let comments = [w.comment(post, ada).await.id, w.comment(post, ada).await.id];
    for comment in comments {
        for user in &users {
            w.like_comment(comment, *user).await;
        }
    }
    db.posts.delete(post, w.now()).await.unwrap();
    assert!(db.posts.find(post, Viewer::ordinary(ada)).await.unwrap().is_none());
    let mut steps = 0;
    while db.posts.erase_deleted().await.unwrap() > 0 {
        steps += 1;
    }
    assert!(steps >= 3, "{steps}");
    for comment in comments {
        assert!(is_gone(&db, comment, ada).await);
    }
}

pub async fn thread_counts_are_exact_under_concurrency(db: Repositories) {
    let w = World::new(&db);
    let users = w.users::<16>().await;
    let post = w.post(users[0]).await.id;
    let threads = [w.comment(post, users[0]).await, w.comment(post, users[0]).await];
    let work: Vec<_> = (0..16)
        .map(|n: usize| {
            let steps: Vec<_> = (0..30)
                .map(|step| (step, w.new_reply(&threads[step % 2], threads[step % 2].id, users[n]), w.new_relation()))
                .collect();
            (n, steps)
        })
        .collect();
    let victim = threads[1].id;
    concurrently(work.into_iter().map(|(n, steps)| {
        let (db, user) = (db.clone(), users[n]);
        async move {
            for (step, reply, like) in steps {
                let (id, thread) = (reply.comment.id, reply.reply.unwrap().thread);
                done_or_missing(db.comments.create(&reply, None).await).unwrap();
                done_or_missing(db.comments.set_like(thread, user, like).await).unwrap();
                match (n + step) % 4 {
                    0 => done_or_missing(db.comments.delete(id).await).unwrap(),
                    1 => done_or_missing(db.comments.unset_like(thread, user).await).unwrap(),
                    2 => done_or_missing(
                        db.comments.update(id, &comment_text("Changed"), &Entities::default(), at(0)).await,
                    )
                    .unwrap(),
                    _ if n == 7 && step == 20 => {
                        while db.comments.delete(victim).await.is_ok_and(|it| it == Deletion::InPart) {}
                    }
                    _ => {}
                }
            }
        }
    }))
    .await;
    assert!(is_gone(&db, victim, users[0]).await && replies(&db, victim, users[0]).await.is_empty());
    let [thread, _] = threads;
    let seen = found(&db, thread.id, users[0]).await;
    let listed = replies(&db, thread.id, users[0]).await.len() as u64;
    let likers = pages(100, async |page| db.comments.list_likers(thread.id, ANYBODY, page).await).await.len() as u64;
    assert_eq!((seen.reply_count, seen.like_count), (listed, likers));
    let all = pages(100, async |page| db.comments.list(post, ANYBODY, page).await).await.len() as u64;
    assert_eq!(comment_count(&db, post, users[0]).await, all);
}
