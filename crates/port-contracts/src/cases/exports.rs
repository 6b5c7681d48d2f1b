//! Exports of everything that an account has stored.

use agora_domain::export::{ExportedComment, RelationKind};
use agora_domain::id::UserId;
use agora_domain::reports::Report;
use uuid::Uuid;

use crate::Repositories;
use crate::run::pages;
use crate::world::World;

async fn relations(db: &Repositories, user: UserId, kind: RelationKind) -> Vec<Uuid> {
    let found = pages(2, async |page| db.exports.list_relations(user, kind, page).await).await;
    assert!(found.is_sorted_by_key(|relation| relation.key), "{kind:?}");
    found.into_iter().map(|relation| relation.to).collect()
}

pub async fn a_users_own_data_is_listed_oldest_first(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob, cleo, dan] = w.users().await;
    let mut posts = Vec::new();
    for _ in 0..3 {
        posts.push(w.post(cleo).await.id);
    }
    let (mut comments, mut reports) = (Vec::new(), Vec::new());
    for user in [bob, ada] {
        for post in &posts {
            db.posts.set_like(*post, user, w.new_relation()).await.unwrap();
            db.bookmarks.set(*post, user, w.new_relation()).await.unwrap();
            let comment = w.comment(*post, user).await;
            db.comments.set_like(comment.id, user, w.new_relation()).await.unwrap();
            let reply = w.new_reply(&comment, comment.id, user);
            db.comments.create(&reply, None).await.unwrap();
            let report = w.new_report(user);
            db.reports.create(&report, &[], None).await.unwrap();
            if user == ada {
                comments.push(ExportedComment { comment, reply: None });
                comments.push(ExportedComment { comment: reply.comment, reply: reply.reply });
                reports.push(report);
            }
        }
        w.follow(user, cleo).await;
        w.mute(user, cleo, None).await;
        w.block(user, dan).await;
    }
    // By another user.
    w.block(cleo, ada).await;
    let all: Vec<Uuid> = posts.iter().map(|post| post.uuid()).collect();
    let liked: Vec<Uuid> = comments.iter().step_by(2).map(|it| it.comment.id.uuid()).collect();
    for (kind, expected) in [
        (RelationKind::Like, &all[..]),
        (RelationKind::Bookmark, &all),
        (RelationKind::CommentLike, &liked),
        (RelationKind::Follow, &[]),
        (RelationKind::Mute, &[cleo.uuid()]),
        (RelationKind::Block, &[dan.uuid()]),
    ] {
        assert_eq!(relations(&db, ada, kind).await, expected, "{kind:?}");
    }
    assert_eq!(relations(&db, bob, RelationKind::Follow).await, [cleo.uuid()]);
    assert_eq!(pages(2, async |page| db.exports.list_comments(ada, page).await).await, comments);
    let found: Vec<Report> = pages(2, async |page| db.exports.list_reports(ada, page).await).await;
    assert_eq!(found, reports);
    for kind in RelationKind::ALL {
        assert!(relations(&db, dan, kind).await.is_empty(), "{kind:?}");
    }
    db.posts.delete(posts[0], w.now()).await.unwrap();
    assert_eq!(pages(2, async |page| db.exports.list_comments(ada, page).await).await, comments[2..]);
}
