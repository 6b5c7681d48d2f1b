//! The use cases of notifications.

use std::sync::Arc;

use super::{KEPT_MILLIS, Notification, NotificationPolicy, NotificationRepository, NotificationSettings};
use crate::accounts::{Member, UserPreview};
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, Resource, Result};
use crate::id::NotificationId;
use crate::notices::NotificationKind;
use crate::page::{Page, PageRequest};
use crate::posts::VisibleTo;

/// Shows users what they were told.
pub struct Notifications {
    /// Where notifications are kept.
    pub notifications: Arc<dyn NotificationRepository>,
}

impl Notifications {
    /// Returns the caller's notifications of some kinds, of every kind when none is named; the one that last changed first.
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

    /// Marks one of the caller's notifications and all older ones as read; with the instant at which it had last changed when the
    /// caller saw it, nothing that changed after it.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the caller has no such notification.
    pub async fn mark_read(&self, caller: &Member, up_to: NotificationId, updated_at: Option<Timestamp>) -> Result<()> {
        self.notifications.mark_read(caller.id(), up_to, updated_at).await
    }

    /// Returns those of whose acts one of the caller's notifications tells, newest act first.
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

    /// Returns what the caller is told of.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn settings(&self, caller: &Member) -> Result<NotificationSettings> {
        self.notifications.settings(caller.id()).await
    }

    /// Changes what the caller is told of from now on; kinds that are not named stay as they are.
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
    /// Where notifications are kept.
    pub notifications: Arc<dyn NotificationRepository>,
    /// What they are old by.
    pub clock: Arc<dyn Clock>,
}

impl NotificationSweep {
    /// Deletes all of them, some at a time; returns how many rows.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn run(&self) -> Result<usize> {
        let before = self.clock.now().plus_millis(-KEPT_MILLIS);
        let mut deleted = 0;
        loop {
            match self.notifications.delete_made_before(before).await? {
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
