//! The session repository.

use agora_domain::{
    Result,
    accounts::{PasswordHash, Session, SessionRepository, SessionState},
    clock::Timestamp,
    id::SessionId,
};
use async_trait::async_trait;

use crate::{
    Database, read, rows,
    sql_types::{DbId, DbInstant},
    write,
};

#[async_trait]
impl SessionRepository for Database {
    async fn open(&self, session: &Session, verified: &PasswordHash) -> Result<Option<()>> {
        let (id, user) = (DbId(session.id.uuid()), DbId(session.user.uuid()));
        let (opened_at, verified) = (DbInstant(session.opened_at), verified.as_str().to_owned());
        Ok(write!(self, sessions::open(id, user, opened_at, verified))?.then_some(()))
    }

    async fn find(&self, id: SessionId) -> Result<Option<SessionState>> {
        let found = read!(self, sessions::find(DbId(id.uuid())))?;
        Ok(found.map(|(user, opened_at, revoked_at, enabled, is_admin, is_user)| SessionState {
            session: Session { id, user: user.0.into(), opened_at: opened_at.0 },
            revoked: revoked_at.is_some(),
            enabled,
            roles: rows::roles(is_admin, is_user),
        }))
    }

    async fn revoke(&self, id: SessionId, at: Timestamp) -> Result<()> {
        write!(self, sessions::revoke(DbId(id.uuid()), DbInstant(at)))
    }

    async fn delete_opened_before(&self, at: Timestamp) -> Result<usize> {
        write!(self, sessions::delete_opened_before(DbInstant(at)))
    }
}
