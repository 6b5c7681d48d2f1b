//! Acts that one recipient is notified of.

use std::sync::Arc;

use agora_domain::accounts::Viewer;
use agora_domain::clock::Timestamp;
use agora_domain::comments::{Comment, NewComment, Reply as Answer};
use agora_domain::id::{NotificationId, PostId, UserId};
use agora_domain::notices::{Notice, NotificationKind, Subject};
use agora_domain::posts::{Visibility, VisibleTo};
use agora_domain::relation::NewRelation;

use crate::Repositories;
use crate::world::{World, comment_text, entities};

/// Returns what a user without ADMIN may view.
pub(in crate::cases) fn member(viewer: UserId) -> VisibleTo {
    VisibleTo {
        viewer: Viewer::ordinary(viewer),
        followed: &[Visibility::Public, Visibility::Followers],
        others: &[Visibility::Public],
    }
}

/// A post with a comment by the recipient, and acts of others that the recipient is notified of.
#[derive(Clone)]
pub(in crate::cases) struct Scenario {
    db: Repositories,
    w: Arc<World>,
    pub(in crate::cases) recipient: UserId,
    pub(in crate::cases) post: PostId,
    comment: Comment,
}

/// The kinds of notifications for everybody: all except reports, which are for administrators.
pub(in crate::cases) const KINDS: [NotificationKind; 6] = [
    NotificationKind::Like,
    NotificationKind::Comment,
    NotificationKind::Reply,
    NotificationKind::Mention,
    NotificationKind::Follow,
    NotificationKind::CommentLike,
];

impl Scenario {
    /// Creates the scenario with a post of the recipient.
    pub(in crate::cases) async fn new(db: &Repositories, w: &Arc<World>, recipient: UserId) -> Self {
        let post = w.post(recipient).await.id;
        Self::on(db, w, recipient, post).await
    }

    pub(in crate::cases) async fn on(db: &Repositories, w: &Arc<World>, recipient: UserId, post: PostId) -> Self {
        let comment = w.comment(post, recipient).await;
        Self { db: db.clone(), w: Arc::clone(w), recipient, post, comment }
    }

    fn notice(&self, kind: NotificationKind, actor: UserId, at: Timestamp, id: NotificationId) -> Notice {
        let subject = match kind {
            NotificationKind::Follow => Subject::Recipient,
            NotificationKind::CommentLike => Subject::Comment(self.post, self.comment.id),
            _ => Subject::Post(self.post),
        };
        Notice { id, kind, recipient: self.recipient, actor, subject, at }
    }

    fn relation(&self, kind: NotificationKind, actor: UserId, at: Timestamp, id: NotificationId) -> NewRelation {
        NewRelation { id: self.w.id(), at, notice: Some(self.notice(kind, actor, at, id)) }
    }

    /// Performs an act that the recipient is notified of: a like, a follow or a comment.
    pub(in crate::cases) async fn act(&self, kind: NotificationKind, actor: UserId, at: Timestamp) {
        self.act_as(kind, actor, at, self.w.id()).await;
    }

    /// Performs an act, with this id for a new notification.
    pub(in crate::cases) async fn act_as(
        &self,
        kind: NotificationKind,
        actor: UserId,
        at: Timestamp,
        id: NotificationId,
    ) {
        let relation = self.relation(kind, actor, at, id);
        let Self { db, recipient, post, comment, .. } = self;
        match kind {
            NotificationKind::Like => db.posts.set_like(*post, actor, relation).await.unwrap(),
            NotificationKind::CommentLike => db.comments.set_like(comment.id, actor, relation).await.unwrap(),
            NotificationKind::Follow => db.follows.set(actor, *recipient, relation).await.unwrap(),
            NotificationKind::Comment | NotificationKind::Reply | NotificationKind::Mention => {
                let made = self.w.id();
                let subject = Subject::Comment(*post, made);
                let notices = vec![Notice { subject, ..self.notice(kind, actor, at, id) }];
                let content = comment_text("Indeed");
                let (created_at, updated_at, is_hidden) = (at, at, false);
                let new = Comment { id: made, post: *post, author: actor, content, created_at, updated_at, is_hidden };
                let reply = (kind == NotificationKind::Reply).then_some(Answer { thread: comment.id, to: comment.id });
                let new = NewComment { comment: new, reply, entities: entities(""), notices };
                db.comments.create(&new, None).await.unwrap();
            }
            NotificationKind::Report => unreachable!("KINDS does not contain it"),
        }
    }

    /// Toggles a like of the post or a follow. Likes of comments cannot be toggled; they are set and unset.
    pub(in crate::cases) async fn toggle(&self, kind: NotificationKind, actor: UserId, at: Timestamp) {
        let relation = self.relation(kind, actor, at, self.w.id());
        match kind {
            NotificationKind::Like => {
                self.db.posts.toggle_like(self.post, actor, relation, None).await.unwrap();
            }
            NotificationKind::Follow => {
                self.db.follows.toggle(actor, self.recipient, relation, None).await.unwrap();
            }
            _ => {
                self.act(kind, actor, at).await;
                self.undo(kind, actor).await;
            }
        }
    }

    /// Undoes a like or a follow. Comments stay.
    pub(in crate::cases) async fn undo(&self, kind: NotificationKind, actor: UserId) {
        match kind {
            NotificationKind::Like => self.db.posts.unset_like(self.post, actor).await.map(drop).unwrap(),
            NotificationKind::CommentLike => {
                self.db.comments.unset_like(self.comment.id, actor).await.map(drop).unwrap()
            }
            NotificationKind::Follow => self.db.follows.unset(actor, self.recipient).await.unwrap(),
            NotificationKind::Comment | NotificationKind::Reply | NotificationKind::Mention => {}
            NotificationKind::Report => unreachable!("KINDS does not contain it"),
        }
    }

    /// Mentions the recipient in a post.
    pub(in crate::cases) async fn mention(&self, actor: UserId, at: Timestamp) -> PostId {
        let mut post = self.w.new_post(actor);
        (post.created_at, post.updated_at) = (at, at);
        let notice = self.notice(NotificationKind::Mention, actor, at, self.w.id());
        let notice = Notice { subject: Subject::Post(post.id), ..notice };
        self.db.posts.create(&post, &[notice], None).await.unwrap();
        post.id
    }
}
