//! Posts and comments that administrators hide.

use std::collections::BTreeMap;
use std::sync::Arc;

use agora_domain::Error;
use agora_domain::accounts::Viewer;
use agora_domain::audit_log::AuditFilter;
use agora_domain::comments::{Comment, CommentOrder, CommentTarget, Deletion};
use agora_domain::entities::{Entities, Hashtag};
use agora_domain::error::{Forbidden, Resource};
use agora_domain::events::CommentState;
use agora_domain::id::{CommentId, PostId, UserId};
use agora_domain::notices::NotificationKind;
use agora_domain::page::PageRequest;
use agora_domain::posts::{FeedRequest, Post, PostEdit, PostHiding, PostView, Visibility, VisibleTo};
use agora_domain::search::{Needles, PostSearch, Query};

use super::notifications::{Scenario, member};
use crate::Repositories;
use crate::run::assert_fails;
use crate::world::{ANYBODY, World, attached, comment_text, entities, post_text, pseudo_random};

const ADMIN: Viewer = Viewer { sees_all: true, ..ANYBODY };

async fn set(db: &Repositories, w: &World, post: PostId, hidden: bool) -> bool {
    let hiding = PostHiding { hidden, before: Vec::new(), after: Vec::new() };
    db.posts.set_hidden(post, &hiding, &w.entry()).await.unwrap()
}

async fn acts(db: &Repositories) -> usize {
    db.audit.list(AuditFilter::default(), PageRequest::FIRST).await.unwrap().items.len()
}

pub async fn a_hidden_post_is_listed_only_to_its_author_and_administrators(db: Repositories) {
    let w = World::new(&db);
    let [author, fan, stranger] = w.users().await;
    w.follow(fan, author).await;
    for visibility in Visibility::ALL {
        let words = format!("hidden #{}", visibility.as_str());
        let post = w.post_with(author, |post| {
            (post.visibility, post.text, post.entities) = (visibility, post_text(&words), entities(&words));
        });
        let post = post.await;
        for user in [author, fan, stranger] {
            db.bookmarks.set(post.id, user, w.new_relation()).await.unwrap();
        }
        db.search_index.pack().await.unwrap();
        let has = |views: Vec<PostView>| {
            let found = views.into_iter().find(|view| view.post.id == post.id);
            found.map(|view| (view.post.is_hidden, view.post.visibility))
        };
        // The lists of a viewer: the author's posts, the public timeline, the feed, the hashtag, a search, bookmarks.
        let lists = async |viewer: Viewer, own: &'static [Visibility], others: &'static [Visibility]| {
            let first = PageRequest::FIRST;
            let (followed, all) =
                (if own.len() == 1 { &own[..1] } else { own }, VisibleTo { viewer, followed: own, others });
            let feed = FeedRequest { created_before: None, page: first };
            let tag = Hashtag::parse(visibility.as_str()).unwrap();
            let needles = Needles::of(&Query::parse(&words).unwrap(), None);
            [
                has(db.posts.list_by_author(author, own, viewer, first).await.unwrap().items),
                has(db.posts.list_public(viewer, first).await.unwrap().items),
                has(db.posts.list_followed(viewer, followed, feed).await.unwrap().items),
                has(db.posts.list_by_tag(&tag, all, first).await.unwrap().items),
                has(db.search.find_posts(&PostSearch { needles, viewer }, first).await.unwrap().items),
                has(db.bookmarks.list(all, first).await.unwrap().items),
            ]
        };
        let everybody = async || {
            let to_fans: &[Visibility] = &[Visibility::Public, Visibility::Followers];
            let public: &[Visibility] = &[Visibility::Public];
            [
                lists(Viewer::ordinary(author), &Visibility::ALL, public).await,
                lists(Viewer::ordinary(fan), to_fans, public).await,
                lists(Viewer::ordinary(stranger), public, public).await,
            ]
        };
        let counts = async || db.people.find(author, stranger).await.unwrap().unwrap().posts;
        let (before, counted, recorded) = (everybody().await, counts().await, acts(&db).await);
        let access = db.posts.find_access(post.id, stranger).await.unwrap().unwrap();
        for changes in [true, false] {
            assert_eq!(set(&db, &w, post.id, true).await, changes);
        }
        let found = db.posts.find_access(post.id, stranger).await.unwrap().unwrap();
        assert_eq!(found, agora_domain::posts::PostAccess { is_hidden: true, ..access });
        let view = db.posts.find(post.id, ANYBODY).await.unwrap().unwrap();
        assert_eq!(view.view.post, Post { is_hidden: true, ..post.clone() });
        assert_eq!(view.access(), agora_domain::posts::PostAccess { standing: view.standing, ..found });
        let hidden = everybody().await;
        for (viewer, found) in hidden.iter().enumerate() {
            let [own, public, feed, tag, _, bookmark] = found;
            let mine = (viewer == 0).then_some((true, visibility));
            assert_eq!(
                [own, public, feed, tag, bookmark],
                [&mine, &None, &None, &mine, &mine],
                "{viewer} {visibility:?}"
            );
        }
        let all = db.posts.list_all(ADMIN, PageRequest::FIRST).await.unwrap().items;
        assert!(all.iter().any(|view| view.post.id == post.id && view.post.is_hidden));
        assert_eq!(counts().await.public, counted.public - u64::from(visibility == Visibility::Public));
        for changes in [true, false] {
            assert_eq!(set(&db, &w, post.id, false).await, changes);
        }
        assert_eq!((everybody().await, counts().await), (before, counted), "{visibility:?}");
        assert_eq!(acts(&db).await, recorded + 2, "a change without effect is not recorded");
        assert_eq!(db.posts.find(post.id, ANYBODY).await.unwrap().unwrap().view.post, post);
    }
}

pub async fn a_hidden_post_can_be_deleted_but_not_edited(db: Repositories) {
    let w = World::new(&db);
    let [author] = w.users().await;
    let post = w.post(author).await;
    set(&db, &w, post.id, true).await;
    let edit = PostEdit { visibility: Some(Visibility::Followers), ..PostEdit::default() };
    assert_fails!(db.posts.edit(post.id, ANYBODY, &edit, w.now()).await, Error::Forbidden(Forbidden::Hidden));
    assert_eq!(db.posts.delete(post.id, w.now()).await.unwrap(), Post { is_hidden: true, ..post.clone() });
    assert_eq!(db.posts.find(post.id, ANYBODY).await.unwrap(), None);
    let hiding = PostHiding { hidden: true, before: Vec::new(), after: Vec::new() };
    assert_fails!(db.posts.set_hidden(post.id, &hiding, &w.entry()).await, Error::NotFound(Resource::Post));
}

pub async fn hiding_a_post_replaces_its_image_by_a_copy(db: Repositories) {
    let w = World::new(&db);
    let [author] = w.users().await;
    let (shown, copy, other) = (w.new_image(), w.image().await, w.image().await);
    let post = w.post_with(author, |post| post.attachments = attached(Some(shown.clone()))).await;
    let hide = async |before: Option<_>, after: Option<_>| {
        let hiding = PostHiding { hidden: true, before: attached(before), after: attached(after) };
        db.posts.set_hidden(post.id, &hiding, &w.entry()).await
    };
    for image in [None, Some(other.clone())] {
        assert_fails!(hide(image, Some(copy.clone())).await, Error::Stale);
    }
    assert_fails!(hide(Some(shown.clone()), Some(w.new_image())).await, Error::Unavailable(_));
    assert_eq!(db.posts.find(post.id, ANYBODY).await.unwrap().unwrap().view.post, post, "nothing has changed");
    assert!(hide(Some(shown.clone()), Some(copy.clone())).await.unwrap());
    assert_eq!(
        w.mark_recorded_images().await,
        [shown, other].into(),
        "images that must not be served are marked for deletion"
    );
    let hidden = db.posts.find(post.id, ANYBODY).await.unwrap().unwrap().view.post;
    assert_eq!(hidden, Post { is_hidden: true, attachments: attached(Some(copy.clone())), ..post });
    assert_eq!(hidden.shown_attachments(), []);
    let has = attached(Some(copy));
    let showing = PostHiding { hidden: false, before: has.clone(), after: has.clone() };
    assert!(db.posts.set_hidden(hidden.id, &showing, &w.entry()).await.unwrap());
    assert_eq!(db.posts.find(hidden.id, ANYBODY).await.unwrap().unwrap().view.post.shown_attachments(), has);
}

/// The comments on a post: author, the top of the thread (`None` at the top level), and whether the comment is hidden.
type Model = BTreeMap<CommentId, (UserId, Option<CommentId>, bool)>;

/// Returns whether a viewer sees a comment.
fn is_shown(model: &Model, id: CommentId, viewer: Viewer) -> bool {
    let shows = |id: CommentId| {
        let (author, _, is_hidden) = model[&id];
        !is_hidden || author == viewer.id || viewer.sees_all
    };
    shows(id) && model[&id].1.is_none_or(shows)
}

async fn compare(db: &Repositories, post: PostId, model: &Model, viewers: &[Viewer]) {
    let page = PageRequest::FIRST;
    let ids = |comments: Vec<CommentId>| comments.into_iter().collect::<std::collections::BTreeSet<_>>();
    let counted = model.keys().filter(|id| is_shown(model, **id, ANYBODY)).count() as u64;
    assert_eq!(db.posts.find(post, ANYBODY).await.unwrap().unwrap().view.comment_count, counted);
    for viewer in viewers {
        let shown = |thread: Option<Option<CommentId>>| {
            let of_thread = model.iter().filter(|(_, (_, of, _))| thread.is_none_or(|thread| *of == thread));
            of_thread.map(|(id, _)| *id).filter(|id| is_shown(model, *id, *viewer)).collect::<Vec<_>>()
        };
        let flat = db.comments.list(post, *viewer, page).await.unwrap().items;
        assert_eq!(ids(flat.iter().map(|view| view.comment.id).collect()), ids(shown(None)));
        assert!(flat.iter().all(|view| view.comment.is_hidden == model[&view.comment.id].2));
        let top = db.comments.list_top_level(post, *viewer, CommentOrder::Oldest, page).await.unwrap().items;
        assert_eq!(ids(top.iter().map(|view| view.comment.id).collect()), ids(shown(Some(None))));
        for view in top {
            let (thread, counted) = (view.comment.id, view.reply_count);
            let replies = model.iter().filter(|(_, (_, of, is_hidden))| *of == Some(thread) && !is_hidden).count();
            assert_eq!(counted, replies as u64, "hidden replies are not counted");
            let listed = db.comments.list_replies(thread, *viewer, page).await.unwrap().items;
            assert_eq!(ids(listed.iter().map(|view| view.comment.id).collect()), ids(shown(Some(Some(thread)))));
        }
    }
}

pub async fn hidden_comments_are_neither_listed_nor_counted(db: Repositories) {
    let w = World::new(&db);
    let users: [UserId; 3] = w.users().await;
    let post = w.post(users[0]).await.id;
    let viewers = [Viewer::ordinary(users[0]), Viewer::ordinary(users[1]), ANYBODY, ADMIN];
    let (mut model, mut roll): (Model, _) = (Model::new(), pseudo_random());
    for _ in 0..150 {
        let author = users[usize::try_from(roll(3)).unwrap()];
        let any = (!model.is_empty()).then(|| {
            let nth = usize::try_from(roll(i64::try_from(model.len()).unwrap())).unwrap();
            *model.keys().nth(nth).unwrap()
        });
        match (roll(10), any) {
            (0..3, _) | (_, None) => {
                let comment = w.comment(post, author).await;
                model.insert(comment.id, (author, None, false));
            }
            (3..6, Some(to)) => {
                let thread = model[&to].1.unwrap_or(to);
                let (id, is_answerable) = (thread, !model[&thread].2 && !model[&to].2);
                let thread = Comment { id, post, author, ..w.new_comment(post, author).comment };
                let reply = w.new_reply(&thread, to, author);
                match db.comments.create(&reply, None).await {
                    Ok(()) if is_answerable => _ = model.insert(reply.comment.id, (author, Some(id), false)),
                    Err(Error::NotFound(Resource::Comment)) if !is_answerable => {}
                    other => panic!("{other:?} for {is_answerable}"),
                }
            }
            (6..9, Some(id)) => {
                let hidden = roll(2) == 0;
                let recorded = acts(&db).await;
                db.comments.set_hidden(id, hidden, &w.entry()).await.unwrap();
                let was = std::mem::replace(&mut model.get_mut(&id).unwrap().2, hidden);
                assert_eq!(acts(&db).await, recorded + usize::from(was != hidden));
            }
            (_, Some(id)) => {
                while db.comments.delete(id).await.unwrap() == Deletion::InPart {}
                model.retain(|other, (_, thread, _)| *other != id && *thread != Some(id));
            }
        }
        compare(&db, post, &model, &viewers).await;
    }
}

pub async fn the_access_state_of_a_comment_includes_what_is_hidden(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let post = w.post(ada).await.id;
    let top = w.comment(post, ada).await;
    let reply = w.reply(&top, bob).await;
    let access = async |id| db.comments.find_access(CommentTarget::Comment(id), bob).await.unwrap().unwrap();
    db.comments.set_hidden(top.id, true, &w.entry()).await.unwrap();
    assert_eq!((access(top.id).await.is_hidden, access(top.id).await.hidden_thread), (true, None));
    assert_eq!((access(reply.id).await.is_hidden, access(reply.id).await.hidden_thread), (false, Some(ada)));
    let mut states = db.event_audience.find_comments(vec![top.id, reply.id, w.id()]).await.unwrap();
    states.sort_by_key(|state| state.id);
    let state =
        |id, author, parent, is_hidden, hidden_thread| CommentState { id, author, parent, is_hidden, hidden_thread };
    assert_eq!(states, [state(top.id, ada, None, true, None), state(reply.id, bob, Some(top.id), false, Some(ada))]);
    let edited = db.comments.update(top.id, &comment_text("Edited"), &Entities::default(), w.now()).await;
    assert_fails!(edited, Error::NotFound(Resource::Comment));
    set(&db, &w, post, true).await;
    let states = db.event_audience.find_posts(vec![post]).await.unwrap();
    assert!(states[0].is_hidden && states[0].visibility == Visibility::Public);
    assert!(access(reply.id).await.post.is_hidden);
    assert_eq!(access(reply.id).await.post.visibility, Visibility::Public);
    assert_fails!(db.comments.set_hidden(w.id(), true, &w.entry()).await, Error::NotFound(Resource::Comment));
    db.posts.delete(post, w.now()).await.unwrap();
    assert_fails!(db.comments.set_hidden(top.id, false, &w.entry()).await, Error::NotFound(Resource::Comment));
}

pub async fn notifications_about_hidden_content_are_not_shown(db: Repositories) {
    let w = Arc::new(World::new(&db));
    let [recipient, other] = w.users().await;
    let scenario = Scenario::new(&db, &w, recipient).await;
    for kind in [NotificationKind::Comment, NotificationKind::Reply, NotificationKind::CommentLike] {
        scenario.act(kind, other, w.now()).await;
    }
    let mention = scenario.mention(other, w.now()).await;
    let shown = async || {
        let page = PageRequest::FIRST;
        let mut kinds: Vec<_> = db.notifications.list(member(recipient), &[], page).await.unwrap().items;
        assert_eq!(db.notifications.count_unread(member(recipient)).await.unwrap(), kinds.len() as u64);
        kinds.sort_unstable_by_key(|it| it.kind);
        kinds.into_iter().map(|it| (it.kind, it.comment.map(|comment| comment.id))).collect::<Vec<_>>()
    };
    let all = shown().await;
    assert_eq!(all.len(), 4);
    // The recipient's own comment, which has a reply and a like.
    let own = all.iter().find(|(kind, _)| *kind == NotificationKind::CommentLike).unwrap().1.unwrap();
    for (kind, comment) in all.iter().filter(|(kind, _)| *kind != NotificationKind::CommentLike) {
        match comment {
            Some(comment) => db.comments.set_hidden(*comment, true, &w.entry()).await.unwrap(),
            None => assert!(set(&db, &w, mention, true).await),
        }
        let rest: Vec<_> = all.iter().filter(|(other, _)| other != kind).copied().collect();
        assert_eq!(shown().await, rest, "{kind:?}");
        match comment {
            Some(comment) => db.comments.set_hidden(*comment, false, &w.entry()).await.unwrap(),
            None => assert!(set(&db, &w, mention, false).await),
        }
        assert_eq!(shown().await, all);
    }
    db.comments.set_hidden(own, true, &w.entry()).await.unwrap();
    assert_eq!(shown().await, all, "the author of a hidden comment sees it, with its thread");
}

pub async fn a_post_with_many_hidden_comments_is_erased_in_batches(db: Repositories) {
    let w = World::new(&db);
    let [author] = w.users().await;
    let post = w.post(author).await.id;
    let top = w.comment(post, author).await;
    for _ in 0..510 {
        w.reply(&top, author).await;
    }
    db.comments.set_hidden(top.id, true, &w.entry()).await.unwrap();
    assert_eq!(db.posts.find(post, ANYBODY).await.unwrap().unwrap().view.comment_count, 0);
    db.posts.delete(post, w.now()).await.unwrap();
    assert_eq!(db.posts.find(post, ANYBODY).await.unwrap(), None);
    let (mut parts, mut erased) = (0, 0);
    loop {
        match db.posts.erase_deleted().await.unwrap() {
            0 => break,
            some => (parts, erased) = (parts + 1, erased + some),
        }
    }
    assert!(parts > 1 && erased > 500, "{parts} {erased}");
}
