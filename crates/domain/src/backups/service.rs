//! The use case of backups.

use std::sync::Arc;

use super::{BackupBytes, BackupSource};
use crate::accounts::Admin;
use crate::audit::{Action, Actor, AuditEntry, Target};
use crate::audit_log::AuditRepository;
use crate::clock::Clock;
use crate::error::Result;
use crate::id::IdGenerator;

/// Makes backups for administrators.
pub struct Backups {
    /// Makes the backups.
    pub source: Arc<dyn BackupSource>,
    /// Records each download.
    pub audit: Arc<dyn AuditRepository>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Generates the ids of audit entries.
    pub ids: Arc<dyn IdGenerator>,
}

impl Backups {
    /// Begins a backup, and records the download before it returns the first byte.
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable) while another backup is being made; those of the audit log.
    pub async fn begin(&self, admin: &Admin) -> Result<BackupBytes> {
        let bytes = self.source.begin()?;
        let actor = Actor::Account(admin.id());
        let (action, target) = (Action::BackupDownloaded, Target::Service);
        let entry = AuditEntry::new(&*self.ids, self.clock.now(), actor, action, target);
        self.audit.record(&entry).await?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::{StreamExt, stream};
    use uuid::Uuid;

    use super::*;
    use crate::Error;
    use crate::accounts::Roles;
    use crate::audit_log::MockAuditRepository;
    use crate::backups::MockBackupSource;
    use crate::clock::Timestamp;
    use crate::fixtures::{caller, clock, ids};
    use crate::id::UserId;

    const NOW: Timestamp = Timestamp::from_unix_millis(5_000);
    const ROOT: UserId = UserId::new(Uuid::from_u128(1));
    const NEW_ID: Uuid = Uuid::from_u128(4);

    fn root() -> Admin {
        caller(ROOT, Roles::ADMIN_AND_USER).admin().unwrap()
    }

    fn backups(source: MockBackupSource, audit: MockAuditRepository) -> Backups {
        Backups { source: Arc::new(source), audit: Arc::new(audit), clock: clock(NOW), ids: ids(NEW_ID) }
    }

    fn source() -> MockBackupSource {
        let mut source = MockBackupSource::new();
        source.expect_begin().once().returning(|| Ok(stream::iter([Ok(Bytes::from_static(b"bytes"))]).boxed()));
        source
    }

    #[tokio::test]
    async fn a_backup_is_recorded_before_its_first_byte_is_returned() {
        let mut audit = MockAuditRepository::new();
        let (actor, action, target) = (Actor::Account(ROOT), Action::BackupDownloaded, Target::Service);
        let expected = AuditEntry { id: NEW_ID.into(), at: NOW, actor, action, target, details: None };
        audit.expect_record().once().withf(move |entry| *entry == expected).returning(|_| Ok(()));
        let bytes: Vec<_> = backups(source(), audit).begin(&root()).await.unwrap().collect().await;
        assert_eq!(bytes.into_iter().map(Result::unwrap).collect::<Vec<_>>(), [Bytes::from_static(b"bytes")]);

        let mut audit = MockAuditRepository::new();
        audit.expect_record().once().returning(|_| Err(Error::unavailable("no route")));
        assert!(backups(source(), audit).begin(&root()).await.is_err());
    }

    #[tokio::test]
    async fn a_refused_backup_is_not_recorded() {
        let mut source = MockBackupSource::new();
        source.expect_begin().once().returning(|| Err(Error::unavailable("another one is made")));
        assert!(backups(source, MockAuditRepository::new()).begin(&root()).await.is_err());
    }
}
