//! A cache of sessions, so that not every request reads one from the database.

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

/// A session repository that caches what another one found for [`MAX_AGE_MILLIS`](Self::MAX_AGE_MILLIS).
///
/// Changes through this repository are visible at once; changes on another node, once the cached entry has expired.
pub struct CachedSessions {
    inner: Arc<dyn SessionRepository>,
    clock: Arc<dyn Clock>,
    cache: Cache<SessionId, Entry>,
    /// The number of invalidations so far; see [`invalidations`](Self::invalidations).
    invalidations: Mutex<u64>,
    /// The hour of last use of sessions, if it has changed and is not stored yet.
    seen: Mutex<HashMap<SessionId, Timestamp>>,
}

#[derive(Clone, Copy)]
struct Entry {
    state: SessionState,
    read_at: Timestamp,
}

impl CachedSessions {
    /// How old a cached state may be. The port allows 5 seconds; one is left for clocks that are set back a little.
    pub const MAX_AGE_MILLIS: i64 = 4_000;

    /// The approximate capacity of the cache, in sessions.
    const CAPACITY: usize = 100_000;

    /// Creates an empty cache in front of `inner`.
    pub fn new(inner: Arc<dyn SessionRepository>, clock: Arc<dyn Clock>) -> Self {
        let (invalidations, seen) = (Mutex::new(0), Mutex::new(HashMap::new()));
        Self { inner, clock, cache: Cache::new(Self::CAPACITY), invalidations, seen }
    }

    /// Returns the approximate number of cached sessions.
    pub fn cached_sessions(&self) -> usize {
        self.cache.len()
    }

    /// Stores when sessions were last used, as far as it has changed since the last call.
    ///
    /// # Errors
    /// Those of the repository. What could not be stored is retried by the next call.
    pub async fn flush_last_seen(&self) -> Result<()> {
        let seen: Vec<_> = self.seen().iter().map(|(id, hour)| (*id, *hour)).collect();
        if seen.is_empty() {
            return Ok(());
        }
        self.inner.store_last_seen(seen.clone()).await?;
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

    /// Locks and returns the number of invalidations so far.
    ///
    /// A lookup that read the database before a change must not insert its result after the invalidation of that change. So
    /// each invalidation is counted under the lock that it holds, and a lookup inserts its result under the same lock, only if
    /// there was no invalidation since it began.
    fn invalidations(&self) -> MutexGuard<'_, u64> {
        self.invalidations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Inserts an entry, unless there was an invalidation since the count was `invalidations_before`.
    fn insert(&self, id: SessionId, entry: Entry, invalidations_before: u64) {
        let invalidations = self.invalidations();
        if *invalidations == invalidations_before {
            self.cache.insert(id, entry);
        }
    }

    fn invalidate(&self, remove: impl FnOnce(&Cache<SessionId, Entry>)) {
        let mut invalidations = self.invalidations();
        *invalidations += 1;
        remove(&self.cache);
    }

    /// Invalidates entries when the result is dropped, and so also after a write that failed or whose request was cancelled,
    /// since its change may have been stored all the same.
    fn invalidate_on_drop(&self, remove: impl Fn(&Cache<SessionId, Entry>)) -> impl Drop {
        OnDrop(move || self.invalidate(&remove))
    }

    fn invalidate_account_on_drop(&self, account: UserId) -> impl Drop {
        self.invalidate_on_drop(move |cache| cache.retain(|_, entry| entry.state.session.user != account))
    }

    fn cached(&self, id: SessionId, now: Timestamp) -> Option<SessionState> {
        let Entry { state, read_at } = self.cache.get(&id)?;
        // An entry from the future was read before the clock was set back, so its age is unknown.
        let is_fresh = read_at <= now && now < read_at.plus_millis(Self::MAX_AGE_MILLIS);
        is_fresh.then_some(state)
    }
}

/// Calls a function when dropped.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[async_trait]
impl SessionRepository for CachedSessions {
    async fn open(&self, session: &Session, verified: &PasswordHash, user_agent: Option<UserAgent>) -> Result<bool> {
        // Only sessions that were found are cached, so a new one needs no invalidation.
        self.inner.open(session, verified, user_agent).await
    }

    async fn find(&self, id: SessionId) -> Result<Option<SessionState>> {
        // Taken before the read, so that the entry never counts as younger than its state.
        let read_at = self.clock.now();
        if let Some(state) = self.cached(id, read_at) {
            return Ok(Some(state));
        }
        let invalidations_before = *self.invalidations();
        let found = self.inner.find(id).await?;
        if let Some(state) = found {
            self.insert(id, Entry { state, read_at }, invalidations_before);
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
        // Times of last use that are not stored yet are only known here.
        let mut found = self.inner.list(user, opened_after, page).await?;
        let seen = self.seen();
        for view in &mut found.items {
            if let Some(hour) = seen.get(&view.session.id) {
                view.last_seen_at = view.last_seen_at.max(*hour);
            }
        }
        Ok(found)
    }

    async fn store_last_seen(&self, seen: Vec<(SessionId, Timestamp)>) -> Result<()> {
        self.inner.store_last_seen(seen).await
    }

    fn record_last_seen(&self, id: SessionId, hour: Timestamp) {
        let mut seen = self.seen();
        if seen.len() < Self::CAPACITY || seen.contains_key(&id) {
            seen.insert(id, hour);
        }
    }

    async fn revoke_of(&self, user: UserId, id: SessionId, at: Timestamp) -> Result<bool> {
        let _invalidate = self.invalidate_on_drop(|cache| {
            cache.remove(&id);
        });
        self.inner.revoke_of(user, id, at).await
    }

    async fn revoke_others(&self, user: UserId, keep: SessionId, at: Timestamp) -> Result<()> {
        let _invalidate = self.invalidate_account_on_drop(user);
        self.inner.revoke_others(user, keep, at).await
    }

    async fn revoke_all(&self, user: UserId, entry: &AuditEntry) -> Result<()> {
        let _invalidate = self.invalidate_account_on_drop(user);
        self.inner.revoke_all(user, entry).await
    }

    async fn revoke(&self, id: SessionId, at: Timestamp) -> Result<()> {
        let _invalidate = self.invalidate_on_drop(|cache| {
            cache.remove(&id);
        });
        self.inner.revoke(id, at).await
    }

    async fn delete_opened_before(&self, at: Timestamp) -> Result<usize> {
        let _invalidate = self.invalidate_on_drop(|cache| cache.retain(|_, entry| entry.state.session.opened_at >= at));
        self.inner.delete_opened_before(at).await
    }

    fn invalidate_account(&self, account: UserId) {
        self.inner.invalidate_account(account);
        drop(self.invalidate_account_on_drop(account));
    }
}

#[cfg(test)]
mod tests;
