//! What the use cases of notifications need of an adapter.

use async_trait::async_trait;

use super::{Notification, NotificationPolicy, NotificationSettings, NotificationState};
use crate::accounts::UserPreview;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::id::{NotificationId, UserId};
use crate::notices::NotificationKind;
use crate::page::{Page, PageRequest};
use crate::posts::VisibleTo;

/// Keeps what users are told. Each method is one atomic change or one consistent read, and a read takes a number of queries
/// that does not depend on how many notifications there are.
///
/// The repositories of posts, comments and follows store [`Notice`](crate::notices::Notice)s in the transaction of the change
/// that they tell of, unless the recipient's settings exclude them then:
///
/// - those of likes and follows are gathered: one notification per recipient, kind, subject and day (UTC) of the act, made
///   with the first of them. Each more raises its count and makes it unread and updated. Where the act is taken back, the
///   actor is taken out and nothing else changes; with the last actor, the notification is gone. One who acts again on
///   the day of the same notification is counted again and changes nothing else;
/// - each other is a notification of its own.
///
/// A user's notifications are those with an actor whose post the user may view and whose post and comment are there, of the
/// newest [`MAX_NOTIFICATIONS`](super::MAX_NOTIFICATIONS) of all of the user's. They are ordered by
/// [`Notification::updated_at`], then by id, newest first.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait NotificationRepository: Send + Sync {
    /// Returns a viewer's notifications of some kinds; of every kind when none is named.
    async fn list(
        &self,
        visible: VisibleTo,
        kinds: &[NotificationKind],
        page: PageRequest,
    ) -> Result<Page<Notification>>;

    /// Returns how many of a viewer's notifications are unread.
    async fn count_unread(&self, visible: VisibleTo) -> Result<u64>;

    /// Returns which of some notifications, that were just made or changed, the viewer sees, and, if there are any, how many of
    /// the viewer's are unread.
    async fn find_state(&self, visible: VisibleTo, ids: Vec<NotificationId>) -> Result<NotificationState>;

    /// Marks a recipient's notification and all older ones as read, those out of sight as well; with the instant at which it had last
    /// changed when it was seen, as it was then: one that has changed since stays as it is, and so does what came in between.
    ///
    /// MUST fail with [`Error::NotFound`](crate::Error::NotFound) when the recipient was never told so, or it is no longer kept.
    async fn mark_read(&self, recipient: UserId, up_to: NotificationId, updated_at: Option<Timestamp>) -> Result<()>;

    /// Returns those of whose acts one of a viewer's notifications tells, newest act first; `None` when there is none.
    async fn list_actors(
        &self,
        visible: VisibleTo,
        id: NotificationId,
        page: PageRequest,
    ) -> Result<Option<Page<UserPreview>>>;

    /// Returns what a user has chosen.
    async fn settings(&self, user: UserId) -> Result<NotificationSettings>;

    /// Changes some policies, and returns what the user has chosen then.
    async fn change_settings(
        &self,
        user: UserId,
        changes: &[(NotificationKind, NotificationPolicy)],
    ) -> Result<NotificationSettings>;

    /// Deletes some notifications that were made before an instant, by their ids as well, no more at a time than others can wait for; returns how
    /// many rows, 0 when nothing is left.
    async fn delete_made_before(&self, at: Timestamp) -> Result<usize>;

    /// Deletes some of what some recipients have beyond the newest [`MAX_NOTIFICATIONS`](super::MAX_NOTIFICATIONS), those that
    /// come after one in an order of its own; returns how many rows and the last recipient, `None` at the end of all.
    async fn trim(&self, after: Option<UserId>) -> Result<(usize, Option<UserId>)>;
}
