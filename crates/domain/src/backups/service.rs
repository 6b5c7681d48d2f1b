//! The use case of backups.

use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt};

use super::{BackupBytes, BackupSource};
use crate::accounts::{Admin, Caller, SessionRepository};
use crate::audit::{Action, Actor, AuditEntry, Target};
use crate::audit_log::AuditRepository;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::id::IdGenerator;

/// Makes backups for administrators.
pub struct Backups {
    /// Makes the backups.
    pub source: Arc<dyn BackupSource>,
    /// Checks that the administrator's session is still valid.
    pub sessions: Arc<dyn SessionRepository>,
    /// Records each download.
    pub audit: Arc<dyn AuditRepository>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Generates the ids of audit entries.
    pub ids: Arc<dyn IdGenerator>,
}

impl Backups {
    /// Begins a backup, and records the download before it returns the first byte. The bytes end with [`Error::InvalidToken`] once
    /// the session has ended, or with [`Error::Forbidden`] once the account no longer has the role.
    ///
    /// # Errors
    /// [`Error::Unavailable`] while another backup is being made; those of the audit log.
    pub async fn begin(&self, admin: &Admin) -> Result<BackupBytes> {
        let bytes = self.source.begin()?;
        let actor = Actor::Account(admin.id());
        let (action, target) = (Action::BackupDownloaded, Target::Service);
        let entry = AuditEntry::new(&*self.ids, self.clock.now(), actor, action, target);
        self.audit.record(&entry).await?;
        let (sessions, session) = (Arc::clone(&self.sessions), admin.session().id);
        let checked = bytes.and_then(move |part| {
            // A download may last hours if the client reads slowly.
            let sessions = Arc::clone(&sessions);
            async move {
                match sessions.find(session).await {
                    // Checked again with the next part: hours of work are not to be lost.
                    Err(Error::Unavailable(_)) => {}
                    state => drop(state?.and_then(Caller::of).ok_or(Error::InvalidToken)?.admin()?),
                }
                Ok(part)
            }
        });
        Ok(checked.boxed())
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::stream;
    use uuid::Uuid;

    use super::*;
    use crate::accounts::{MockSessionRepository, Roles, Session, SessionState};
    use crate::audit_log::MockAuditRepository;
    use crate::backups::MockBackupSource;
    use crate::clock::Timestamp;
    use crate::error::Forbidden;
    use crate::fixtures::{caller, clock, ids};
    use crate::id::{SessionId, UserId};

    const NOW: Timestamp = Timestamp::from_unix_millis(5_000);
    const ROOT: UserId = UserId::new(Uuid::from_u128(1));
    const NEW_ID: Uuid = Uuid::from_u128(4);
    const SESSION: Session = Session { id: SessionId::new(Uuid::nil()), user: ROOT, opened_at: NOW };
    const STATE: SessionState = SessionState {
        session: SESSION,
        revoked: false,
        enabled: true,
        roles: Roles::ADMIN_AND_USER,
        last_seen_at: NOW,
    };

    fn root() -> Admin {
        caller(ROOT, Roles::ADMIN_AND_USER).admin().unwrap()
    }

    fn backups(source: MockBackupSource, audit: MockAuditRepository) -> Backups {
        let mut sessions = MockSessionRepository::new();
        sessions.expect_find().returning(|_| Ok(Some(STATE)));
        let (source, sessions) = (Arc::new(source), Arc::new(sessions));
        Backups { source, sessions, audit: Arc::new(audit), clock: clock(NOW), ids: ids(NEW_ID) }
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
    async fn a_backup_ends_with_the_session_and_with_the_role() {
        for (state, is_expected) in [
            (None, (|error| matches!(error, Error::InvalidToken)) as fn(&Error) -> bool),
            (Some(SessionState { enabled: false, ..STATE }), |error| matches!(error, Error::InvalidToken)),
            (Some(SessionState { roles: Roles::USER, ..STATE }), |error| {
                matches!(error, Error::Forbidden(Forbidden::NotAdmin))
            }),
        ] {
            let mut source = MockBackupSource::new();
            let part = || Ok(Bytes::from_static(b"part"));
            source.expect_begin().once().returning(move || Ok(stream::iter([part(), part(), part()]).boxed()));
            let mut audit = MockAuditRepository::new();
            audit.expect_record().returning(|_| Ok(()));
            let mut sessions = MockSessionRepository::new();
            sessions.expect_find().once().returning(|_| Ok(Some(STATE)));
            sessions.expect_find().once().returning(|_| Err(Error::unavailable("no route")));
            sessions.expect_find().once().returning(move |_| Ok(state));
            let backups = Backups { sessions: Arc::new(sessions), ..backups(source, audit) };
            let mut bytes = backups.begin(&root()).await.unwrap();
            assert_eq!(bytes.next().await.unwrap().unwrap(), "part");
            assert_eq!(bytes.next().await.unwrap().unwrap(), "part", "the session is checked again with the next part");
            assert!(is_expected(&bytes.next().await.unwrap().unwrap_err()));
        }
    }

    #[tokio::test]
    async fn a_refused_backup_is_not_recorded() {
        let mut source = MockBackupSource::new();
        source.expect_begin().once().returning(|| Err(Error::unavailable("another one is made")));
        assert!(backups(source, MockAuditRepository::new()).begin(&root()).await.is_err());
    }
}
