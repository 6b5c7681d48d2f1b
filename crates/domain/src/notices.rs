//! Notices: whom a change notifies, and of what.
//!
//! The rules are those of the contract (`contract`: Notifications). A use case hands the notices to the repository together with
//! the change. The repository stores both in one transaction; [`notifications`](crate::notifications) lists them.

use crate::clock::Timestamp;
use crate::entities::Entities;
use crate::error::Result;
use crate::id::{CommentId, IdGenerator, NotificationId, PostId, UserId};
use crate::string_enum::string_enum;
use std::collections::BTreeSet;

string_enum! {
    /// The kinds of acts that users are notified of.
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
        /// Somebody reported something; administrators are notified.
        Report = "report",
    }
}

/// The object of an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// The recipient of the notice.
    Recipient,
    /// A post.
    Post(PostId),
    /// A comment, and the post it is on.
    Comment(PostId, CommentId),
}

/// A request to notify one recipient of an act, subject to the recipient's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notice {
    /// The id of the new notification, unless the act is added to an existing one: a UUIDv7 of about [`at`](Self::at).
    pub id: NotificationId,
    /// The kind of act.
    pub kind: NotificationKind,
    /// Who is notified.
    pub recipient: UserId,
    /// Who acted.
    pub actor: UserId,
    /// The object of the act.
    pub subject: Subject,
    /// When the act happened.
    pub at: Timestamp,
}

/// How many of the accounts that a text mentions are notified, the first ones: each takes a row in the transaction that stores
/// the text, and other transactions wait for that one.
pub const MAX_MENTION_NOTICES: usize = 50;

/// How many administrators are notified of a report: each takes a row in the transaction that stores it.
pub const MAX_REPORT_NOTICES: usize = 50;

/// An act that others are notified of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Act {
    /// Who acted.
    pub(crate) actor: UserId,
    /// The object of the act.
    pub(crate) subject: Subject,
    /// When the act happened.
    pub(crate) at: Timestamp,
}

impl Act {
    /// Returns the notice of a like or a follow; `None` if the recipient is the actor.
    pub(crate) fn notice(self, ids: &dyn IdGenerator, recipient: UserId, kind: NotificationKind) -> Option<Notice> {
        self.notices_to_each(ids, [(recipient, kind)]).pop()
    }

    /// Returns the notices of a new post, to those it mentions.
    pub(crate) fn post_notices(self, ids: &dyn IdGenerator, entities: &Entities) -> Vec<Notice> {
        self.notices_to_each(ids, mentioned(entities))
    }

    /// Returns the notices of a new comment: to the author of the comment that it answers, to those it mentions, and to the
    /// author of the post.
    pub(crate) fn comment_notices(
        self,
        ids: &dyn IdGenerator,
        answered: Option<UserId>,
        entities: &Entities,
        post_author: UserId,
    ) -> Vec<Notice> {
        let answered = answered.map(|answered| (answered, NotificationKind::Reply)).into_iter();
        self.notices_to_each(ids, answered.chain(mentioned(entities)).chain([(post_author, NotificationKind::Comment)]))
    }

    /// Returns the notices of a new report, to the first [`MAX_REPORT_NOTICES`] administrators.
    pub(crate) fn report_notices(self, ids: &dyn IdGenerator, admins: impl Iterator<Item = UserId>) -> Vec<Notice> {
        self.notices_to_each(ids, admins.take(MAX_REPORT_NOTICES).map(|admin| (admin, NotificationKind::Report)))
    }

    /// Returns one notice for each distinct recipient, with the first kind given for it. The actor gets none.
    fn notices_to_each(
        self,
        ids: &dyn IdGenerator,
        recipients: impl IntoIterator<Item = (UserId, NotificationKind)>,
    ) -> Vec<Notice> {
        let Self { actor, subject, at } = self;
        let mut seen = BTreeSet::from([actor]);
        let first = recipients.into_iter().filter(|(recipient, _)| seen.insert(*recipient));
        let notice = |(recipient, kind)| Notice { id: ids.generate().into(), kind, recipient, actor, subject, at };
        first.map(notice).collect()
    }
}

fn mentioned(entities: &Entities) -> impl Iterator<Item = (UserId, NotificationKind)> {
    let mentions = entities.mentions().into_iter().take(MAX_MENTION_NOTICES);
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

    fn recipients(notices: impl IntoIterator<Item = Notice>) -> Vec<(u128, NotificationKind)> {
        notices.into_iter().map(|notice| (notice.recipient.uuid().as_u128(), notice.kind)).collect()
    }

    #[test]
    fn a_notice_has_the_recipient_and_the_details_of_the_act() {
        let id = Uuid::from_u128(9).into();
        let Act { actor, subject, at } = ACT;
        let expected = Notice { id, kind: Follow, recipient: user(2), actor, subject, at };
        assert_eq!(ACT.notice(&ids(), user(2), Follow), Some(expected));
    }

    #[test]
    fn actors_are_not_notified_of_their_own_acts() {
        assert_eq!(ACT.notice(&ids(), user(1), Follow), None);
        assert_eq!(ACT.post_notices(&ids(), &mentioning([1])), []);
        assert_eq!(ACT.comment_notices(&ids(), Some(user(1)), &mentioning([1]), user(1)), []);
    }

    #[test]
    fn a_comment_notifies_each_user_once_and_a_reply_takes_precedence_over_a_mention() {
        for (answered, mentioned, post_author, expected) in [
            (None, vec![], 2, vec![(2, Comment)]),
            (Some(3), vec![], 2, vec![(3, Reply), (2, Comment)]),
            (Some(2), vec![2, 4, 4], 2, vec![(2, Reply), (4, Mention)]),
            (None, vec![2, 1], 2, vec![(2, Mention)]),
            (Some(3), vec![2, 3], 1, vec![(3, Reply), (2, Mention)]),
        ] {
            let notices = ACT.comment_notices(&ids(), answered.map(user), &mentioning(mentioned), user(post_author));
            assert_eq!(recipients(notices), expected);
        }
    }

    #[test]
    fn only_the_first_fifty_mentioned_accounts_are_notified() {
        let mentions = [100; 60].into_iter().chain(100..1_000);
        let notices = ACT.post_notices(&ids(), &mentioning(mentions));
        assert_eq!(recipients(notices), (100..150).map(|n| (n, Mention)).collect::<Vec<_>>());
    }

    #[test]
    fn kinds_parse_their_names() {
        for kind in NotificationKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        assert!("likes".parse::<NotificationKind>().is_err());
    }
}
