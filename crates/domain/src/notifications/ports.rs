//! The port of notifications.

use async_trait::async_trait;

use super::{Notification, NotificationPolicy, NotificationSettings, NotificationState};
use crate::accounts::UserPreview;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::id::{NotificationId, UserId};
use crate::notices::NotificationKind;
use crate::page::{Page, PageRequest};
use crate::posts::VisibleTo;

/// Stores notifications. Each method is one atomic change or one consistent read, and the number of queries of a read does not
/// depend on how many notifications there are.
///
/// The repositories of posts, comments and follows store [`Notice`](crate::notices::Notice)s in the transaction of the change
/// that they belong to, unless the recipient's settings, a mute or a block exclude them at that time:
///
/// - Likes and follows are grouped: one notification per recipient, kind, subject and day (UTC) of the act, created by the first
///   act. Each further act raises its count, marks it unread and sets its time of change. When an act is undone, its actor is
///   removed and nothing else changes; the notification disappears with its last actor. An actor who repeats an undone act on
///   the same day is counted again, and nothing else changes.
/// - Every other notice becomes a notification of its own.
///
/// A user's notifications are taken from the newest [`MAX_NOTIFICATIONS`](super::MAX_NOTIFICATIONS) of that recipient. Of these,
/// they are the ones that have an actor, whose post the user may view, and whose post and comment still exist. They are ordered
/// by [`Notification::updated_at`], then by id, newest first.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait NotificationRepository: Send + Sync {
    /// Returns a viewer's notifications of these kinds; of every kind if `kinds` is empty.
    async fn list(
        &self,
        visible: VisibleTo,
        kinds: &[NotificationKind],
        page: PageRequest,
    ) -> Result<Page<Notification>>;

    /// Returns how many of a viewer's notifications are unread.
    async fn count_unread(&self, visible: VisibleTo) -> Result<u64>;

    /// Returns which of some notifications, which were just created or changed, the viewer sees, and, if there are any, how many
    /// of the viewer's notifications are unread.
    async fn find_state(&self, visible: VisibleTo, ids: Vec<NotificationId>) -> Result<NotificationState>;

    /// Marks a notification of a recipient and all older ones as read, including those that the recipient does not see.
    ///
    /// `updated_at`, if given, is the [`Notification::updated_at`] that the recipient has seen: if the notification has changed
    /// since, it stays as it is, and so does everything that changed after that instant. Without it, the present one counts.
    ///
    /// MUST fail with [`Error::NotFound`](crate::Error::NotFound) when the recipient has no such notification (any more).
    async fn mark_read(&self, recipient: UserId, up_to: NotificationId, updated_at: Option<Timestamp>) -> Result<()>;

    /// Returns the actors of one of a viewer's notifications, newest act first; `None` when there is no such notification.
    async fn list_actors(
        &self,
        visible: VisibleTo,
        id: NotificationId,
        page: PageRequest,
    ) -> Result<Option<Page<UserPreview>>>;

    /// Returns the settings of a user.
    async fn settings(&self, user: UserId) -> Result<NotificationSettings>;

    /// Changes some policies, and returns the settings after that.
    async fn change_settings(
        &self,
        user: UserId,
        changes: &[(NotificationKind, NotificationPolicy)],
    ) -> Result<NotificationSettings>;

    /// Deletes a batch of notifications that were created before an instant, and whose ids are from before it as well. The batch
    /// is small enough that other writes need not wait long. Returns how many rows were deleted, 0 when nothing is left.
    async fn delete_created_before(&self, at: Timestamp) -> Result<usize>;

    /// Deletes the notifications beyond the newest [`MAX_NOTIFICATIONS`](super::MAX_NOTIFICATIONS) of the next few recipients
    /// after one, in an order that the adapter chooses. Returns how many rows were deleted and the last of these recipients,
    /// `None` at the end.
    async fn trim(&self, after: Option<UserId>) -> Result<(usize, Option<UserId>)>;
}
