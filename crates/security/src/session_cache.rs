//! A short memory of sessions, so that not every request asks the database for one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agora_domain::Result;
use agora_domain::accounts::{PasswordHash, Session, SessionRepository, SessionState, SessionView, UserAgent};
use agora_domain::audit::AuditEntry;
use agora_domain::clock::{Clock, Timestamp};
use agora_domain::id::{SessionId, TicketId, UserId};
use agora_domain::page::{Page, PageRequest};
use async_trait::async_trait;
use quick_cache::sync::Cache;

/// A session repository that remembers for [`MAX_AGE_MILLIS`](Self::MAX_AGE_MILLIS) what another one found.
///
/// What changes through this one is seen at once; what changes on another node, once the memory of it has aged.
pub struct CachedSessions {
    inner: Arc<dyn SessionRepository>,
    clock: Arc<dyn Clock>,
    cache: Cache<SessionId, Entry>,
    changes: Mutex<u64>,
    /// The sessions that were used in another hour than they were before, until that is stored.
    seen: Mutex<HashMap<SessionId, Timestamp>>,
}

#[derive(Clone, Copy)]
struct Entry {
    state: SessionState,
    read_at: Timestamp,
}

impl CachedSessions {
    /// How old a remembered state may be. The port allows 5 seconds; one is left for clocks that are set back a little.
    pub const MAX_AGE_MILLIS: i64 = 4_000;

    /// About how many sessions are remembered.
    const CAPACITY: usize = 100_000;

    /// A memory in front of `inner`.
    pub fn new(inner: Arc<dyn SessionRepository>, clock: Arc<dyn Clock>) -> Self {
        let (changes, seen) = (Mutex::new(0), Mutex::new(HashMap::new()));
        Self { inner, clock, cache: Cache::new(Self::CAPACITY), changes, seen }
    }

    /// About how many sessions are remembered now.
    pub fn remembered_sessions(&self) -> usize {
        self.cache.len()
    }

    /// Stores which sessions were used since this was done last.
    ///
    /// # Errors
    /// Those of the repository. What was not stored is tried again the next time.
    pub async fn store_seen(&self) -> Result<()> {
        let seen: Vec<_> = self.seen().iter().map(|(id, hour)| (*id, *hour)).collect();
        if seen.is_empty() {
            return Ok(());
        }
        self.inner.set_seen(seen.clone()).await?;
        let mut kept = self.seen();
        for (id, hour) in seen {
            if kept.get(&id) == Some(&hour) {
                kept.remove(&id);
            }
        }
        Ok(())
    }

    fn seen(&self) -> MutexGuard<'_, HashMap<SessionId, Timestamp>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many changes were forgotten, locked. A lookup that read the database before a change must not enter what it read after
    /// that change was forgotten. So each change is counted, under the lock under which it is forgotten, and a lookup enters its result
    /// under the same lock, and only if none was counted since it began.
    fn changes(&self) -> MutexGuard<'_, u64> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, id: SessionId, entry: Entry, changes_before: u64) {
        let changes = self.changes();
        if *changes == changes_before {
            self.cache.insert(id, entry);
        }
    }

    fn forget(&self, forget: impl FnOnce(&Cache<SessionId, Entry>)) {
        let mut changes = self.changes();
        *changes += 1;
        forget(&self.cache);
    }

    /// Forgets when the result is dropped: also after a failed write, or one whose request was cancelled, since what it
    /// wanted may be written all the same.
    fn forget_at_end(&self, forget: impl Fn(&Cache<SessionId, Entry>)) -> impl Drop {
        Finally(move || self.forget(&forget))
    }

    fn forget_of(&self, account: UserId) -> impl Drop {
        self.forget_at_end(move |cache| cache.retain(|_, entry| entry.state.session.user != account))
    }

    fn remembered(&self, id: SessionId, now: Timestamp) -> Option<SessionState> {
        let Entry { state, read_at } = self.cache.get(&id)?;
        // An entry from the future was read before the clock was set back: its age is unknown.
        let is_fresh = read_at <= now && now < read_at.plus_millis(Self::MAX_AGE_MILLIS);
        is_fresh.then_some(state)
    }
}

/// Does something when dropped.
struct Finally<F: Fn()>(F);

impl<F: Fn()> Drop for Finally<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[async_trait]
impl SessionRepository for CachedSessions {
    async fn open(&self, session: &Session, verified: &PasswordHash, user_agent: Option<UserAgent>) -> Result<bool> {
        // Only what was found is remembered, so nothing is to be forgotten about a new session.
        self.inner.open(session, verified, user_agent).await
    }

    async fn find(&self, id: SessionId) -> Result<Option<SessionState>> {
        // Taken before the read: the state is at least as old as that.
        let read_at = self.clock.now();
        if let Some(state) = self.remembered(id, read_at) {
            return Ok(Some(state));
        }
        let changes_before = *self.changes();
        let found = self.inner.find(id).await?;
        if let Some(state) = found {
            self.remember(id, Entry { state, read_at }, changes_before);
        }
        Ok(found)
    }

    async fn find_all(&self, ids: Vec<SessionId>) -> Result<Vec<SessionState>> {
        self.inner.find_all(ids).await
    }

    async fn use_ticket(&self, id: TicketId, expires_at: Timestamp, now: Timestamp) -> Result<bool> {
        self.inner.use_ticket(id, expires_at, now).await
    }

    async fn list(&self, user: UserId, opened_after: Timestamp, page: PageRequest) -> Result<Page<SessionView>> {
        // Of those that the page shows, what is not stored yet is known here.
        let mut found = self.inner.list(user, opened_after, page).await?;
        let seen = self.seen();
        for view in &mut found.items {
            if let Some(hour) = seen.get(&view.session.id) {
                view.last_seen_at = view.last_seen_at.max(*hour);
            }
        }
        Ok(found)
    }

    async fn set_seen(&self, seen: Vec<(SessionId, Timestamp)>) -> Result<()> {
        self.inner.set_seen(seen).await
    }

    fn note_seen(&self, id: SessionId, hour: Timestamp) {
        let mut seen = self.seen();
        if seen.len() < Self::CAPACITY || seen.contains_key(&id) {
            seen.insert(id, hour);
        }
    }

    async fn revoke_of(&self, user: UserId, id: SessionId, at: Timestamp) -> Result<bool> {
        let _forget = self.forget_at_end(|cache| {
            cache.remove(&id);
        });
        self.inner.revoke_of(user, id, at).await
    }

    async fn revoke_others(&self, user: UserId, keep: SessionId, at: Timestamp) -> Result<()> {
        let _forget = self.forget_of(user);
        self.inner.revoke_others(user, keep, at).await
    }

    async fn revoke_all(&self, user: UserId, entry: &AuditEntry) -> Result<()> {
        let _forget = self.forget_of(user);
        self.inner.revoke_all(user, entry).await
    }

    async fn revoke(&self, id: SessionId, at: Timestamp) -> Result<()> {
        let _forget = self.forget_at_end(|cache| {
            cache.remove(&id);
        });
        self.inner.revoke(id, at).await
    }

    async fn delete_opened_before(&self, at: Timestamp) -> Result<usize> {
        let _forget = self.forget_at_end(|cache| cache.retain(|_, entry| entry.state.session.opened_at >= at));
        self.inner.delete_opened_before(at).await
    }

    fn account_changed(&self, account: UserId) {
        self.inner.account_changed(account);
        drop(self.forget_of(account));
    }
}

#[cfg(test)]
mod tests;
