//! What a change tells others: who is told, and of what.
//!
//! The rules are those of the contract (`contract`: Notifications). A change carries its notices to the repository, which
//! stores them in the same transaction; [`notifications`](crate::notifications) shows them.

use crate::clock::Timestamp;
use crate::entities::Entities;
use crate::error::Result;
use crate::id::{CommentId, IdGenerator, NotificationId, PostId, UserId};
use crate::named::named;
use std::collections::BTreeSet;

named! {
    /// What kind of act somebody is told of.
    #[derive(PartialOrd, Ord)]
    NotificationKind "Type must be like, comment, reply, mention, follow, commentLike or report" {
        /// Somebody likes a post.
        Like = "like",
        /// Somebody commented on a post.
        Comment = "comment",
        /// Somebody answered a comment.
        Reply = "reply",
        /// Somebody mentioned an account in a post or a comment.
        Mention = "mention",
        /// Somebody follows an account.
        Follow = "follow",
        /// Somebody likes a comment.
        CommentLike = "commentLike",
        /// Somebody reported something, of which administrators are told.
        Report = "report",
    }
}

/// What an act was done to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// The recipient.
    Recipient,
    /// A post.
    Post(PostId),
    /// A comment, and the post it is on.
    Comment(PostId, CommentId),
}

/// Somebody who is told of an act, if that one wants to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notice {
    /// Names the notification, unless one that is there already tells of this act as well: a UUIDv7 of about [`at`](Self::at).
    pub id: NotificationId,
    /// What kind of act.
    pub kind: NotificationKind,
    /// Who is told.
    pub recipient: UserId,
    /// Whose act it is.
    pub actor: UserId,
    /// What it was done to.
    pub subject: Subject,
    /// When.
    pub at: Timestamp,
}

/// How many accounts are told that one text mentions them, the first ones: each takes a row in the transaction that stores the
/// text, for which others wait.
pub const MAX_MENTIONS_TOLD: usize = 50;

/// How many administrators are told of a report: each takes a row in the transaction that stores it.
pub const MAX_ADMINS_TOLD: usize = 50;

/// An act of which others are told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Act {
    /// Whose it is.
    pub(crate) actor: UserId,
    /// What it was done to.
    pub(crate) subject: Subject,
    /// When.
    pub(crate) at: Timestamp,
}

impl Act {
    /// Returns the notice of a like or a follow; nobody is told of their own.
    pub(crate) fn tell(self, ids: &dyn IdGenerator, recipient: UserId, kind: NotificationKind) -> Option<Notice> {
        self.tell_each(ids, [(recipient, kind)]).pop()
    }

    /// Returns the notices of a new post.
    pub(crate) fn tell_of_post(self, ids: &dyn IdGenerator, entities: &Entities) -> Vec<Notice> {
        self.tell_each(ids, mentioned(entities))
    }

    /// Returns the notices of a new comment: to the author of the comment that it answers, to those it mentions, to the
    /// author of the post.
    pub(crate) fn tell_of_comment(
        self,
        ids: &dyn IdGenerator,
        answered: Option<UserId>,
        entities: &Entities,
        post_author: UserId,
    ) -> Vec<Notice> {
        let answered = answered.map(|answered| (answered, NotificationKind::Reply)).into_iter();
        self.tell_each(ids, answered.chain(mentioned(entities)).chain([(post_author, NotificationKind::Comment)]))
    }

    /// Returns the notices of a new report, to the first of the administrators.
    pub(crate) fn tell_of_report(self, ids: &dyn IdGenerator, admins: impl Iterator<Item = UserId>) -> Vec<Notice> {
        self.tell_each(ids, admins.take(MAX_ADMINS_TOLD).map(|admin| (admin, NotificationKind::Report)))
    }

    /// Tells nobody twice, and nobody of their own: the first reason counts.
    fn tell_each(
        self,
        ids: &dyn IdGenerator,
        recipients: impl IntoIterator<Item = (UserId, NotificationKind)>,
    ) -> Vec<Notice> {
        let Self { actor, subject, at } = self;
        let mut told = BTreeSet::from([actor]);
        let first = recipients.into_iter().filter(|(recipient, _)| told.insert(*recipient));
        let notice = |(recipient, kind)| Notice { id: ids.generate().into(), kind, recipient, actor, subject, at };
        first.map(notice).collect()
    }
}

fn mentioned(entities: &Entities) -> impl Iterator<Item = (UserId, NotificationKind)> {
    let mentions = entities.mentions().into_iter().take(MAX_MENTIONS_TOLD);
    mentions.map(|id| (id, NotificationKind::Mention))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::NotificationKind::{Comment, Follow, Mention, Reply};
    use super::*;
    use crate::entities::{Entity, Named};
    use crate::id::MockIdGenerator;

    const ACT: Act = Act { actor: user(1), subject: Subject::Recipient, at: Timestamp::from_unix_millis(5) };

    const fn user(n: u128) -> UserId {
        UserId::new(Uuid::from_u128(n))
    }

    fn ids() -> MockIdGenerator {
        let mut ids = MockIdGenerator::new();
        ids.expect_generate().return_const(Uuid::from_u128(9));
        ids
    }

    fn mentioning(users: impl IntoIterator<Item = u128>) -> Entities {
        let entity = |(at, n)| Entity { start: at, end: at + 1, named: Named::Account(user(n)) };
        Entities::of(&users.into_iter().enumerate().map(entity).collect::<Vec<_>>())
    }

    fn told(notices: impl IntoIterator<Item = Notice>) -> Vec<(u128, NotificationKind)> {
        notices.into_iter().map(|notice| (notice.recipient.uuid().as_u128(), notice.kind)).collect()
    }

    #[test]
    fn a_notice_says_who_is_told_of_whose_act_and_when() {
        let id = Uuid::from_u128(9).into();
        let Act { actor, subject, at } = ACT;
        let expected = Notice { id, kind: Follow, recipient: user(2), actor, subject, at };
        assert_eq!(ACT.tell(&ids(), user(2), Follow), Some(expected));
    }

    #[test]
    fn nobody_is_told_of_their_own_acts() {
        assert_eq!(ACT.tell(&ids(), user(1), Follow), None);
        assert_eq!(ACT.tell_of_post(&ids(), &mentioning([1])), []);
        assert_eq!(ACT.tell_of_comment(&ids(), Some(user(1)), &mentioning([1]), user(1)), []);
    }

    #[test]
    fn a_comment_tells_each_person_once_and_an_answer_counts_before_a_mention() {
        for (answered, mentioned, post_author, expected) in [
            (None, vec![], 2, vec![(2, Comment)]),
            (Some(3), vec![], 2, vec![(3, Reply), (2, Comment)]),
            (Some(2), vec![2, 4, 4], 2, vec![(2, Reply), (4, Mention)]),
            (None, vec![2, 1], 2, vec![(2, Mention)]),
            (Some(3), vec![2, 3], 1, vec![(3, Reply), (2, Mention)]),
        ] {
            let notices = ACT.tell_of_comment(&ids(), answered.map(user), &mentioning(mentioned), user(post_author));
            assert_eq!(told(notices), expected);
        }
    }

    #[test]
    fn of_very_many_mentions_the_first_are_told() {
        let mentions = [100; 60].into_iter().chain(100..1_000);
        let notices = ACT.tell_of_post(&ids(), &mentioning(mentions));
        assert_eq!(told(notices), (100..150).map(|n| (n, Mention)).collect::<Vec<_>>());
    }

    #[test]
    fn kinds_are_named_as_clients_name_them() {
        for kind in NotificationKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        assert!("likes".parse::<NotificationKind>().is_err());
    }
}
