//! The session repository.

use std::collections::BTreeMap;

use agora_domain::Result;
use agora_domain::accounts::{PasswordHash, Session, SessionRepository, SessionState, SessionView, UserAgent};
use agora_domain::audit::AuditEntry;
use agora_domain::clock::Timestamp;
use agora_domain::id::{SessionId, TicketId, UserId};
use agora_domain::page::{Page, PageRequest};
use async_trait::async_trait;

use crate::batches::{BATCH, until_none};
use crate::rows::{Slice, keyset, page_of};
use crate::schema::{AuditRecord, SessionRecord};
use crate::sql_types::{DbId, DbInstant};
use crate::{Database, call};

/// The number of sessions whose last use is stored in one write. A longer write would delay others.
const SEEN_BATCH: usize = 200;

/// How long a used ticket is kept after it has expired, since the clock of another node may be behind.
const CLOCK_SKEW_MILLIS: i64 = 60_000;

#[async_trait]
impl SessionRepository for Database {
    async fn open(&self, session: &Session, verified: &PasswordHash, user_agent: Option<UserAgent>) -> Result<bool> {
        let (id, user_id, opened_at) =
            (DbId(session.id.uuid()), DbId(session.user.uuid()), DbInstant(session.opened_at));
        let (revoked_at, last_seen_at) = (None, None);
        let (user_agent, verified) = (user_agent.map(|it| it.as_str().to_owned()), verified.as_str().to_owned());
        let session = SessionRecord { id, user_id, opened_at, revoked_at, last_seen_at, user_agent };
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
        let expired_before = DbInstant(now.plus_millis(-CLOCK_SKEW_MILLIS));
        call!(self, write sessions::use_ticket(DbId(id.uuid()), DbInstant(expires_at), expired_before))
    }

    async fn list(&self, user: UserId, opened_after: Timestamp, page: PageRequest) -> Result<Page<SessionView>> {
        let (user, slice) = (DbId(user.uuid()), Slice::newest_first(page));
        let rows = call!(self, list sessions::list(user, DbInstant(opened_after), slice))?;
        page_of(page, rows, |row: SessionRecord| {
            let session = Session { id: row.id.0.into(), user: row.user_id.0.into(), opened_at: row.opened_at.0 };
            let last_seen_at = row.last_seen_at.unwrap_or(row.opened_at).0;
            let user_agent = row.user_agent.map(UserAgent::restore);
            Ok((keyset(row.opened_at, row.id), SessionView { session, last_seen_at, user_agent }))
        })
    }

    async fn store_last_seen(&self, seen: Vec<(SessionId, Timestamp)>) -> Result<()> {
        let mut hours: BTreeMap<i64, Vec<DbId>> = BTreeMap::new();
        for (id, hour) in seen {
            hours.entry(hour.unix_millis()).or_default().push(DbId(id.uuid()));
        }
        for (hour, ids) in hours {
            let hour = DbInstant(Timestamp::from_unix_millis(hour));
            for some in ids.chunks(SEEN_BATCH) {
                let some = some.to_vec();
                call!(self, write sessions::store_last_seen(some, hour))?;
            }
        }
        Ok(())
    }

    async fn revoke_of(&self, user: UserId, id: SessionId, at: Timestamp) -> Result<bool> {
        call!(self, write sessions::revoke_of(DbId(user.uuid()), DbId(id.uuid()), DbInstant(at)))
    }

    async fn revoke_others(&self, user: UserId, keep: SessionId, at: Timestamp) -> Result<()> {
        let (user, keep) = (DbId(user.uuid()), Some(DbId(keep.uuid())));
        call!(self, write sessions::revoke_sessions(user, keep, DbInstant(at))).map(drop)
    }

    async fn revoke_all(&self, user: UserId, entry: &AuditEntry) -> Result<()> {
        let entry = AuditRecord::of(entry);
        call!(self, write sessions::revoke_all(DbId(user.uuid()), entry))
    }

    async fn revoke(&self, id: SessionId, at: Timestamp) -> Result<()> {
        call!(self, write sessions::revoke(DbId(id.uuid()), DbInstant(at)))
    }

    async fn delete_opened_before(&self, at: Timestamp) -> Result<usize> {
        until_none(|| async move { call!(self, write sessions::delete_opened_before(DbInstant(at), BATCH)) }).await
    }
}
