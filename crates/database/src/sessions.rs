//! The session repository.

use agora_domain::Result;
use agora_domain::accounts::{PasswordHash, Session, SessionRepository, SessionState};
use agora_domain::clock::Timestamp;
use agora_domain::id::{SessionId, TicketId};
use async_trait::async_trait;

use crate::schema::SessionRecord;
use crate::sql_types::{DbId, DbInstant};
use crate::{Database, call};

/// How many sessions are deleted at once, so that other writes, and the time of a statement, do not suffer from many.
const BATCH: i64 = 1_000;

/// How long a used ticket is kept after it has expired: another node's clock may be behind.
const CLOCKS_DIFFER_MILLIS: i64 = 60_000;

#[async_trait]
impl SessionRepository for Database {
    async fn open(&self, session: &Session, verified: &PasswordHash) -> Result<bool> {
        let (id, user_id, opened_at) =
            (DbId(session.id.uuid()), DbId(session.user.uuid()), DbInstant(session.opened_at));
        let (session, verified) =
            (SessionRecord { id, user_id, opened_at, revoked_at: None }, verified.as_str().to_owned());
        call!(self, write sessions::open(session, verified))
    }

    async fn find(&self, id: SessionId) -> Result<Option<SessionState>> {
        call!(self, read sessions::find(DbId(id.uuid())))
    }

    async fn find_all(&self, ids: Vec<SessionId>) -> Result<Vec<SessionState>> {
        let ids: Vec<_> = ids.into_iter().map(|id| DbId(id.uuid())).collect();
        call!(self, list sessions::find_all(ids))
    }

    async fn use_ticket(&self, id: TicketId, expires_at: Timestamp, now: Timestamp) -> Result<bool> {
        let expired_before = DbInstant(now.plus_millis(-CLOCKS_DIFFER_MILLIS));
        call!(self, write sessions::use_ticket(DbId(id.uuid()), DbInstant(expires_at), expired_before))
    }

    async fn revoke(&self, id: SessionId, at: Timestamp) -> Result<()> {
        call!(self, write sessions::revoke(DbId(id.uuid()), DbInstant(at)))
    }

    async fn delete_opened_before(&self, at: Timestamp) -> Result<usize> {
        let mut deleted = 0;
        loop {
            let batch = call!(self, write sessions::delete_opened_before(DbInstant(at), BATCH))?;
            deleted += batch;
            if batch == 0 {
                return Ok(deleted);
            }
        }
    }
}
