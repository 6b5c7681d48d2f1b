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
    let view =
        |n| SessionView { session: state(session(n), ALICE, false).session, last_seen_at: hour(1), user_agent: None };
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
