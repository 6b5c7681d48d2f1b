//! The use cases of notifications.

use std::sync::Arc;

use super::{Notification, NotificationPolicy, NotificationRepository, NotificationSettings, RETENTION_MILLIS};
use crate::accounts::{Member, UserPreview};
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, Resource, Result};
use crate::id::NotificationId;
use crate::notices::NotificationKind;
use crate::page::{Page, PageRequest};
use crate::posts::VisibleTo;

/// Lists users' notifications, marks them as read, and changes users' settings.
pub struct Notifications {
    /// Stores notifications.
    pub notifications: Arc<dyn NotificationRepository>,
}

impl Notifications {
    /// Returns the caller's notifications of these kinds, or of every kind if `kinds` is empty; the last changed first.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn list(
        &self,
        caller: &Member,
        kinds: &[NotificationKind],
        page: PageRequest,
    ) -> Result<Page<Notification>> {
        self.notifications.list(VisibleTo::of(caller), kinds, page).await
    }

    /// Returns how many of the caller's notifications are unread.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn count_unread(&self, caller: &Member) -> Result<u64> {
        self.notifications.count_unread(VisibleTo::of(caller)).await
    }

    /// Marks one of the caller's notifications and all older ones as read. `updated_at` is the time of its last change that the
    /// caller has seen, if known; what changed after it stays unread.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the caller has no such notification.
    pub async fn mark_read(&self, caller: &Member, up_to: NotificationId, updated_at: Option<Timestamp>) -> Result<()> {
        self.notifications.mark_read(caller.id(), up_to, updated_at).await
    }

    /// Returns the actors of one of the caller's notifications, newest act first.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the caller has no such notification.
    pub async fn list_actors(
        &self,
        caller: &Member,
        id: NotificationId,
        page: PageRequest,
    ) -> Result<Page<UserPreview>> {
        let actors = self.notifications.list_actors(VisibleTo::of(caller), id, page).await?;
        actors.ok_or(Error::NotFound(Resource::Notification))
    }

    /// Returns the caller's settings.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn settings(&self, caller: &Member) -> Result<NotificationSettings> {
        self.notifications.settings(caller.id()).await
    }

    /// Changes the caller's policies for some kinds, from now on; the others stay as they are.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn change_settings(
        &self,
        caller: &Member,
        changes: &[(NotificationKind, NotificationPolicy)],
    ) -> Result<NotificationSettings> {
        self.notifications.change_settings(caller.id(), changes).await
    }
}

/// Deletes notifications that are no longer kept.
pub struct NotificationSweep {
    /// Stores notifications.
    pub notifications: Arc<dyn NotificationRepository>,
    /// Determines their age.
    pub clock: Arc<dyn Clock>,
}

impl NotificationSweep {
    /// Deletes all of them, in batches; returns how many rows were deleted.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn run(&self) -> Result<usize> {
        let before = self.clock.now().plus_millis(-RETENTION_MILLIS);
        let mut deleted = 0;
        loop {
            match self.notifications.delete_created_before(before).await? {
                0 => break,
                rows => deleted += rows,
            }
        }
        let mut after = None;
        loop {
            let (rows, last) = self.notifications.trim(after).await?;
            deleted += rows;
            match last {
                None => return Ok(deleted),
                last => after = last,
            }
        }
    }
}
