//! The use cases of deletion.

use std::sync::Arc;

use super::{DeletionRepository, Erased, ErasurePosition};
use crate::accounts::{Caller, InvalidateSessionsOnDrop, PasswordAttempt, PasswordChecks, SessionRepository};
use crate::clock::Clock;
use crate::error::Result;
use crate::id::UserId;
use crate::limits::{ClientAddress, Counted};
use crate::media::{ImageKey, ImagePorts, Images};

/// Deletes accounts.
pub struct Deletion {
    deletions: Arc<dyn DeletionRepository>,
    sessions: Arc<dyn SessionRepository>,
    checks: PasswordChecks,
    images: Images,
    clock: Arc<dyn Clock>,
}

impl Deletion {
    /// Creates the use case over these ports.
    pub fn new(
        deletions: Arc<dyn DeletionRepository>,
        sessions: Arc<dyn SessionRepository>,
        checks: PasswordChecks,
        images: ImagePorts,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { deletions, sessions, checks, images: Images::new(images, Arc::clone(&clock)), clock }
    }

    /// Deletes the caller's account permanently.
    ///
    /// # Errors
    /// As for [`Authentication::change_password`](crate::accounts::Authentication::change_password), and
    /// [`Error::Disallowed`](crate::Error::Disallowed) for the last enabled ADMIN.
    pub async fn delete(&self, caller: &Caller, client: ClientAddress, current: &PasswordAttempt) -> Result<()> {
        let user = caller.user;
        self.checks.limits.count(&Counted::PasswordChanges(user, client))?;
        let delete = async |confirmed| {
            let _invalidate = InvalidateSessionsOnDrop(self.sessions.as_ref(), user);
            self.deletions.delete(&confirmed, self.clock.now()).await
        };
        let picture = self.checks.change_with_password(user, client, current, delete).await?;
        self.images.delete_unreferenced(picture).await;
        Ok(())
    }
}

/// Erases what belonged to deleted accounts.
pub struct Erasure {
    deletions: Arc<dyn DeletionRepository>,
    images: Images,
    clock: Arc<dyn Clock>,
}

impl Erasure {
    /// Creates the use cases over these ports.
    pub fn new(deletions: Arc<dyn DeletionRepository>, images: ImagePorts, clock: Arc<dyn Clock>) -> Self {
        Self { deletions, images: Images::new(images, Arc::clone(&clock)), clock }
    }

    /// Returns a deleted account that is not erased completely yet.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn next_unerased(&self) -> Result<Option<UserId>> {
        self.deletions.next_unerased().await
    }

    /// Erases a batch of what belonged to a deleted account, except its images, and continues from a position.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn erase(&self, user: UserId, from: ErasurePosition) -> Result<Erased> {
        self.deletions.erase(user, from, self.clock.now()).await
    }

    /// Deletes the images of an erased batch. Returns whether the store has deleted all of them; the others are left to the sweep.
    pub async fn delete_images(&self, images: Vec<ImageKey>) -> bool {
        self.images.delete_unreferenced(images).await
    }

    /// Forgets the names of deleted accounts that are no longer reserved; returns how many.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn sweep(&self) -> Result<usize> {
        self.deletions.forget_names(self.clock.now()).await
    }
}
