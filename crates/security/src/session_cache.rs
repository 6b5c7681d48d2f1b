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
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use agora_domain::Error;
    use agora_domain::accounts::{MockSessionRepository, Roles};
    use agora_domain::audit::{Action, Actor, Target};
    use agora_domain::clock::MockClock;
    use agora_domain::id::AuditId;
    use agora_domain::page::Keyset;
    use tokio::sync::{Mutex as AsyncMutex, Notify};
    use uuid::Uuid;

    use super::*;

    const ALICE: UserId = UserId::new(Uuid::from_u128(1));
    const BOB: UserId = UserId::new(Uuid::from_u128(2));
    const START: i64 = 1_000_000;

    fn session(n: u128) -> SessionId {
        SessionId::new(Uuid::from_u128(n))
    }

    fn state(id: SessionId, user: UserId, revoked: bool) -> SessionState {
        let session = Session { id, user, opened_at: Timestamp::from_unix_millis(START) };
        SessionState { session, revoked, enabled: true, roles: Roles::USER, last_seen_at: session.opened_at }
    }

    /// A clock, and the hand that sets it.
    fn clock() -> (Arc<MockClock>, Arc<AtomicI64>) {
        let hand = Arc::new(AtomicI64::new(START));
        let mut clock = MockClock::new();
        let shown = Arc::clone(&hand);
        clock.expect_now().returning(move || Timestamp::from_unix_millis(shown.load(Ordering::SeqCst)));
        (Arc::new(clock), hand)
    }

    /// A cache in front of a repository where every session is Alice's, or Bob's from 100 on, and may be looked up so
    /// many times.
    fn cached(lookups: usize, expect: impl FnOnce(&mut MockSessionRepository)) -> CachedSessions {
        let mut inner = MockSessionRepository::new();
        inner.expect_find().times(lookups).returning(|id| {
            let user = if id < session(100) { ALICE } else { BOB };
            Ok(Some(state(id, user, false)))
        });
        expect(&mut inner);
        CachedSessions::new(Arc::new(inner), clock().0)
    }

    #[tokio::test]
    async fn a_session_is_looked_up_once() {
        let sessions = cached(1, |_| ());
        for _ in 0..3 {
            assert_eq!(sessions.find(session(1)).await.unwrap(), Some(state(session(1), ALICE, false)));
        }
    }

    #[tokio::test]
    async fn an_unknown_session_is_looked_up_every_time() {
        let mut inner = MockSessionRepository::new();
        inner.expect_find().times(2).returning(|_| Ok(None));
        let sessions = CachedSessions::new(Arc::new(inner), clock().0);
        for _ in 0..2 {
            assert_eq!(sessions.find(session(1)).await.unwrap(), None);
        }
    }

    #[tokio::test]
    async fn a_failed_lookup_is_reported_and_not_remembered() {
        let mut inner = MockSessionRepository::new();
        inner.expect_find().times(2).returning(|_| Err(Error::unavailable("no connection")));
        let sessions = CachedSessions::new(Arc::new(inner), clock().0);
        for _ in 0..2 {
            assert!(matches!(sessions.find(session(1)).await, Err(Error::Unavailable(_))));
        }
    }

    #[tokio::test]
    async fn memory_ends_with_its_age_and_when_the_clock_is_set_back() {
        const { assert!(CachedSessions::MAX_AGE_MILLIS < 5_000) };
        for (later, lookups) in [(0, 1), (3_999, 1), (4_000, 2), (4_001, 2), (i64::MAX - START, 2), (-1, 2)] {
            let mut inner = MockSessionRepository::new();
            inner.expect_find().times(lookups).returning(|id| Ok(Some(state(id, ALICE, false))));
            let (clock, hand) = clock();
            let sessions = CachedSessions::new(Arc::new(inner), clock);
            sessions.find(session(1)).await.unwrap();
            hand.fetch_add(later, Ordering::SeqCst);
            sessions.find(session(1)).await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_revoked_session_is_forgotten_at_once_and_no_other() {
        let sessions = cached(3, |inner| {
            inner.expect_revoke().once().withf(|id, _| *id == session(1)).returning(|_, _| Ok(()));
        });
        sessions.find(session(1)).await.unwrap();
        sessions.find(session(2)).await.unwrap();
        sessions.revoke(session(1), Timestamp::from_unix_millis(START)).await.unwrap();
        sessions.find(session(1)).await.unwrap();
        sessions.find(session(2)).await.unwrap();
    }

    #[tokio::test]
    async fn the_sessions_of_an_account_that_are_ended_are_forgotten_at_once_and_no_others() {
        let sessions = cached(7, |inner| {
            inner.expect_revoke_others().once().returning(|_, _, _| Ok(()));
            inner.expect_revoke_all().once().returning(|_, _| Err(Error::unavailable("lost acknowledgement")));
        });
        let look = async || {
            for id in [1, 2, 100] {
                sessions.find(session(id)).await.unwrap();
            }
        };
        look().await;
        sessions.revoke_others(ALICE, session(1), Timestamp::from_unix_millis(START)).await.unwrap();
        look().await;
        let (id, actor, at) = (AuditId::new(Uuid::nil()), Actor::CommandLine, Timestamp::from_unix_millis(START));
        let (action, target, details) = (Action::SessionsEnded, Target::User(ALICE), None);
        assert!(sessions.revoke_all(ALICE, &AuditEntry { id, at, actor, action, target, details }).await.is_err());
        look().await;
    }

    #[tokio::test]
    async fn a_failed_revocation_is_forgotten_too() {
        let sessions = cached(2, |inner| {
            inner.expect_revoke().once().returning(|_, _| Err(Error::unavailable("lost acknowledgement")));
        });
        sessions.find(session(1)).await.unwrap();
        assert!(sessions.revoke(session(1), Timestamp::from_unix_millis(START)).await.is_err());
        sessions.find(session(1)).await.unwrap();
    }

    #[tokio::test]
    async fn a_changed_account_is_forgotten_at_once_and_no_other() {
        let sessions = cached(5, |inner| {
            inner.expect_account_changed().once().withf(|account| *account == ALICE).return_const(());
        });
        for id in [1, 2, 100] {
            sessions.find(session(id)).await.unwrap();
        }
        sessions.account_changed(ALICE);
        for id in [1, 2, 100] {
            sessions.find(session(id)).await.unwrap();
        }
    }

    #[tokio::test]
    async fn deleted_sessions_are_forgotten_at_once() {
        for (cutoff, lookups) in [(START, 1), (START + 1, 2)] {
            let sessions = cached(lookups, |inner| {
                inner.expect_delete_opened_before().once().returning(|_| Ok(7));
            });
            sessions.find(session(1)).await.unwrap();
            assert_eq!(sessions.delete_opened_before(Timestamp::from_unix_millis(cutoff)).await.unwrap(), 7);
            sessions.find(session(1)).await.unwrap();
        }
    }

    #[tokio::test]
    async fn opening_is_passed_on() {
        let opened = state(session(1), ALICE, false).session;
        let sessions = cached(0, |inner| {
            inner.expect_open().once().withf(move |session, _, _| *session == opened).returning(|_, _, _| Ok(true));
        });
        sessions.open(&opened, &PasswordHash::new(String::new()), None).await.unwrap();
    }

    /// A repository whose first lookup, after it has read, waits to be let go; so does each revocation, after it has
    /// written.
    #[derive(Default)]
    struct Slow {
        revoked: AsyncMutex<bool>,
        lookups: AtomicI64,
        reached: Notify,
        let_go: Notify,
    }

    #[async_trait]
    impl SessionRepository for Slow {
        async fn open(&self, _: &Session, _: &PasswordHash, _: Option<UserAgent>) -> Result<bool> {
            Ok(true)
        }

        async fn list(&self, _: UserId, _: Timestamp, page: PageRequest) -> Result<Page<SessionView>> {
            Ok(page.page_of(Vec::new(), |_| unreachable!("there is none")))
        }

        async fn set_seen(&self, _: Vec<(SessionId, Timestamp)>) -> Result<()> {
            Ok(())
        }

        async fn revoke_of(&self, _: UserId, id: SessionId, at: Timestamp) -> Result<bool> {
            self.revoke(id, at).await.map(|()| true)
        }

        async fn revoke_others(&self, _: UserId, _: SessionId, _: Timestamp) -> Result<()> {
            Ok(())
        }

        async fn revoke_all(&self, _: UserId, _: &AuditEntry) -> Result<()> {
            Ok(())
        }

        async fn find(&self, id: SessionId) -> Result<Option<SessionState>> {
            let revoked = *self.revoked.lock().await;
            if self.lookups.fetch_add(1, Ordering::SeqCst) == 0 {
                self.reached.notify_one();
                self.let_go.notified().await;
            }
            Ok(Some(state(id, ALICE, revoked)))
        }

        async fn find_all(&self, _: Vec<SessionId>) -> Result<Vec<SessionState>> {
            Ok(Vec::new())
        }

        async fn use_ticket(&self, _: TicketId, _: Timestamp, _: Timestamp) -> Result<bool> {
            Ok(false)
        }

        async fn revoke(&self, _: SessionId, _: Timestamp) -> Result<()> {
            *self.revoked.lock().await = true;
            self.reached.notify_one();
            self.let_go.notified().await;
            Ok(())
        }

        async fn delete_opened_before(&self, _: Timestamp) -> Result<usize> {
            Ok(0)
        }
    }

    async fn is_revoked(sessions: &CachedSessions) -> bool {
        sessions.find(session(1)).await.unwrap().unwrap().revoked
    }

    #[tokio::test]
    async fn a_lookup_that_read_before_a_change_does_not_enter_what_it_read() {
        let slow = Arc::new(Slow::default());
        let sessions = Arc::new(CachedSessions::new(Arc::clone(&slow) as Arc<dyn SessionRepository>, clock().0));
        let lookup = tokio::spawn({
            let sessions = Arc::clone(&sessions);
            async move { is_revoked(&sessions).await }
        });
        slow.reached.notified().await;
        *slow.revoked.lock().await = true;
        sessions.account_changed(ALICE);
        slow.let_go.notify_one();
        assert!(!lookup.await.unwrap(), "the lookup itself read the state before the change");
        assert!(is_revoked(&sessions).await);
    }

    #[tokio::test]
    async fn a_cancelled_revocation_is_forgotten_too() {
        let slow = Arc::new(Slow { lookups: AtomicI64::new(1), ..Slow::default() });
        let sessions = Arc::new(CachedSessions::new(Arc::clone(&slow) as Arc<dyn SessionRepository>, clock().0));
        assert!(!is_revoked(&sessions).await);
        let revocation = tokio::spawn({
            let sessions = Arc::clone(&sessions);
            async move { sessions.revoke(session(1), Timestamp::from_unix_millis(START)).await }
        });
        slow.reached.notified().await;
        revocation.abort();
        assert!(revocation.await.unwrap_err().is_cancelled());
        assert!(is_revoked(&sessions).await);
    }

    #[tokio::test]
    async fn a_session_that_is_ended_by_its_user_is_forgotten() {
        let sessions = cached(2, |inner| {
            inner.expect_revoke_of().once().returning(|_, _, _| Ok(true));
        });
        sessions.find(session(1)).await.unwrap();
        assert!(sessions.revoke_of(ALICE, session(1), Timestamp::from_unix_millis(START)).await.unwrap());
        sessions.find(session(1)).await.unwrap();
    }

    fn hour(n: i64) -> Timestamp {
        Timestamp::from_unix_millis(n * 3_600_000)
    }

    #[tokio::test]
    async fn what_was_used_is_stored_once_and_shown_before() {
        let view = |n| SessionView {
            session: state(session(n), ALICE, false).session,
            last_seen_at: hour(1),
            user_agent: None,
        };
        let mut inner = MockSessionRepository::new();
        inner.expect_list().once().returning(move |_, _, page| {
            let key = |view: &SessionView| Keyset { at: view.session.opened_at, id: view.session.id.uuid() };
            Ok(page.page_of(vec![view(1), view(2)], key))
        });
        inner.expect_set_seen().once().withf(|seen| *seen == [(session(1), hour(3))]).returning(|_| Ok(()));
        let sessions = CachedSessions::new(Arc::new(inner), clock().0);
        sessions.note_seen(session(1), hour(2));
        sessions.note_seen(session(1), hour(3));
        let listed = sessions.list(ALICE, hour(0), PageRequest::FIRST).await.unwrap();
        assert_eq!(listed.items.iter().map(|view| view.last_seen_at).collect::<Vec<_>>(), [hour(3), hour(1)]);
        for _ in 0..2 {
            sessions.store_seen().await.unwrap();
        }
    }

    #[tokio::test]
    async fn what_could_not_be_stored_is_tried_again_with_what_came_meanwhile() {
        let mut inner = MockSessionRepository::new();
        inner.expect_set_seen().once().returning(|_| Err(Error::unavailable("no connection")));
        inner.expect_set_seen().once().withf(|seen| seen.len() == 2).returning(|_| Ok(()));
        let sessions = CachedSessions::new(Arc::new(inner), clock().0);
        sessions.note_seen(session(1), hour(1));
        assert!(sessions.store_seen().await.is_err());
        sessions.note_seen(session(2), hour(1));
        sessions.store_seen().await.unwrap();
    }
}
