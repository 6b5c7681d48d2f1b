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

/// A clock, and the milliseconds that it shows, for tests to set.
fn clock() -> (Arc<MockClock>, Arc<AtomicI64>) {
    let millis = Arc::new(AtomicI64::new(START));
    let mut clock = MockClock::new();
    let shown = Arc::clone(&millis);
    clock.expect_now().returning(move || Timestamp::from_unix_millis(shown.load(Ordering::SeqCst)));
    (Arc::new(clock), millis)
}

/// A cache in front of a repository in which every session below 100 is Alice's and every other Bob's, and which expects exactly
/// `lookups` calls of `find`.
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
async fn a_session_is_read_once_and_then_cached() {
    let sessions = cached(1, |_| ());
    for _ in 0..3 {
        assert_eq!(sessions.find(session(1)).await.unwrap(), Some(state(session(1), ALICE, false)));
    }
}

#[tokio::test]
async fn an_unknown_session_is_not_cached() {
    let mut inner = MockSessionRepository::new();
    inner.expect_find().times(2).returning(|_| Ok(None));
    let sessions = CachedSessions::new(Arc::new(inner), clock().0);
    for _ in 0..2 {
        assert_eq!(sessions.find(session(1)).await.unwrap(), None);
    }
}

#[tokio::test]
async fn a_failed_lookup_is_returned_and_not_cached() {
    let mut inner = MockSessionRepository::new();
    inner.expect_find().times(2).returning(|_| Err(Error::unavailable("no connection")));
    let sessions = CachedSessions::new(Arc::new(inner), clock().0);
    for _ in 0..2 {
        assert!(matches!(sessions.find(session(1)).await, Err(Error::Unavailable(_))));
    }
}

#[tokio::test]
async fn entries_expire_by_age_and_when_the_clock_is_set_back() {
    const { assert!(CachedSessions::MAX_AGE_MILLIS < 5_000) };
    for (later, lookups) in [(0, 1), (3_999, 1), (4_000, 2), (4_001, 2), (i64::MAX - START, 2), (-1, 2)] {
        let mut inner = MockSessionRepository::new();
        inner.expect_find().times(lookups).returning(|id| Ok(Some(state(id, ALICE, false))));
        let (clock, millis) = clock();
        let sessions = CachedSessions::new(Arc::new(inner), clock);
        sessions.find(session(1)).await.unwrap();
        millis.fetch_add(later, Ordering::SeqCst);
        sessions.find(session(1)).await.unwrap();
    }
}

#[tokio::test]
async fn revoking_a_session_invalidates_it_and_no_other() {
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
async fn revoking_the_sessions_of_an_account_invalidates_them_and_no_others() {
    let sessions = cached(7, |inner| {
        inner.expect_revoke_others().once().returning(|_, _, _| Ok(()));
        inner.expect_revoke_all().once().returning(|_, _| Err(Error::unavailable("lost acknowledgement")));
    });
    let find_each = async || {
        for id in [1, 2, 100] {
            sessions.find(session(id)).await.unwrap();
        }
    };
    find_each().await;
    sessions.revoke_others(ALICE, session(1), Timestamp::from_unix_millis(START)).await.unwrap();
    find_each().await;
    let (id, actor, at) = (AuditId::new(Uuid::nil()), Actor::CommandLine, Timestamp::from_unix_millis(START));
    let (action, target, details) = (Action::SessionsEnded, Target::User(ALICE), None);
    assert!(sessions.revoke_all(ALICE, &AuditEntry { id, at, actor, action, target, details }).await.is_err());
    find_each().await;
}

#[tokio::test]
async fn a_failed_revocation_invalidates_the_session_too() {
    let sessions = cached(2, |inner| {
        inner.expect_revoke().once().returning(|_, _| Err(Error::unavailable("lost acknowledgement")));
    });
    sessions.find(session(1)).await.unwrap();
    assert!(sessions.revoke(session(1), Timestamp::from_unix_millis(START)).await.is_err());
    sessions.find(session(1)).await.unwrap();
}

#[tokio::test]
async fn a_changed_account_invalidates_its_sessions_and_no_others() {
    let sessions = cached(5, |inner| {
        inner.expect_invalidate_account().once().withf(|account| *account == ALICE).return_const(());
    });
    for id in [1, 2, 100] {
        sessions.find(session(id)).await.unwrap();
    }
    sessions.invalidate_account(ALICE);
    for id in [1, 2, 100] {
        sessions.find(session(id)).await.unwrap();
    }
}

#[tokio::test]
async fn deleting_sessions_invalidates_them() {
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
async fn opening_a_session_is_delegated() {
    let opened = state(session(1), ALICE, false).session;
    let sessions = cached(0, |inner| {
        inner.expect_open().once().withf(move |session, _, _| *session == opened).returning(|_, _, _| Ok(true));
    });
    sessions.open(&opened, &PasswordHash::new(String::new()), None).await.unwrap();
}

/// A repository whose first lookup waits for `resume` after it has read, as does each revocation after it has written.
#[derive(Default)]
struct PausingRepository {
    revoked: AsyncMutex<bool>,
    lookups: AtomicI64,
    reached: Notify,
    resume: Notify,
}

#[async_trait]
impl SessionRepository for PausingRepository {
    async fn open(&self, _: &Session, _: &PasswordHash, _: Option<UserAgent>) -> Result<bool> {
        Ok(true)
    }

    async fn list(&self, _: UserId, _: Timestamp, page: PageRequest) -> Result<Page<SessionView>> {
        Ok(page.page_of(Vec::new(), |_| unreachable!("there is none")))
    }

    async fn store_last_seen(&self, _: Vec<(SessionId, Timestamp)>) -> Result<()> {
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
            self.resume.notified().await;
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
        self.resume.notified().await;
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
async fn a_lookup_that_read_before_an_invalidation_does_not_cache_its_result() {
    let pausing = Arc::new(PausingRepository::default());
    let sessions = Arc::new(CachedSessions::new(Arc::clone(&pausing) as Arc<dyn SessionRepository>, clock().0));
    let lookup = tokio::spawn({
        let sessions = Arc::clone(&sessions);
        async move { is_revoked(&sessions).await }
    });
    pausing.reached.notified().await;
    *pausing.revoked.lock().await = true;
    sessions.invalidate_account(ALICE);
    pausing.resume.notify_one();
    assert!(!lookup.await.unwrap(), "the lookup itself read the state before the change");
    assert!(is_revoked(&sessions).await);
}

#[tokio::test]
async fn a_cancelled_revocation_invalidates_the_session_too() {
    let pausing = Arc::new(PausingRepository { lookups: AtomicI64::new(1), ..PausingRepository::default() });
    let sessions = Arc::new(CachedSessions::new(Arc::clone(&pausing) as Arc<dyn SessionRepository>, clock().0));
    assert!(!is_revoked(&sessions).await);
    let revocation = tokio::spawn({
        let sessions = Arc::clone(&sessions);
        async move { sessions.revoke(session(1), Timestamp::from_unix_millis(START)).await }
    });
    pausing.reached.notified().await;
    revocation.abort();
    assert!(revocation.await.unwrap_err().is_cancelled());
    assert!(is_revoked(&sessions).await);
}

#[tokio::test]
async fn revoking_a_users_own_session_invalidates_it() {
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
async fn last_use_is_listed_before_it_is_stored_and_is_stored_once() {
    let view =
        |n| SessionView { session: state(session(n), ALICE, false).session, last_seen_at: hour(1), user_agent: None };
    let mut inner = MockSessionRepository::new();
    inner.expect_list().once().returning(move |_, _, page| {
        let key = |view: &SessionView| Keyset { at: view.session.opened_at, id: view.session.id.uuid() };
        Ok(page.page_of(vec![view(1), view(2)], key))
    });
    inner.expect_store_last_seen().once().withf(|seen| *seen == [(session(1), hour(3))]).returning(|_| Ok(()));
    let sessions = CachedSessions::new(Arc::new(inner), clock().0);
    sessions.record_last_seen(session(1), hour(2));
    sessions.record_last_seen(session(1), hour(3));
    let listed = sessions.list(ALICE, hour(0), PageRequest::FIRST).await.unwrap();
    assert_eq!(listed.items.iter().map(|view| view.last_seen_at).collect::<Vec<_>>(), [hour(3), hour(1)]);
    for _ in 0..2 {
        sessions.flush_last_seen().await.unwrap();
    }
}

#[tokio::test]
async fn last_use_that_could_not_be_stored_is_retried_with_later_ones() {
    let mut inner = MockSessionRepository::new();
    inner.expect_store_last_seen().once().returning(|_| Err(Error::unavailable("no connection")));
    inner.expect_store_last_seen().once().withf(|seen| seen.len() == 2).returning(|_| Ok(()));
    let sessions = CachedSessions::new(Arc::new(inner), clock().0);
    sessions.record_last_seen(session(1), hour(1));
    assert!(sessions.flush_last_seen().await.is_err());
    sessions.record_last_seen(session(2), hour(1));
    sessions.flush_last_seen().await.unwrap();
}
