//! Sessions.

use std::sync::Arc;

use agora_domain::Error;
use agora_domain::accounts::{
    PasswordChange, PasswordHash, Role, RoleAction, RoleChange, Roles, Session, SessionState, SessionView, UserAgent,
};
use agora_domain::audit_log::AuditFilter;
use agora_domain::clock::Timestamp;
use agora_domain::id::{SessionId, TicketId};
use agora_domain::page::{PageRequest, Position};
use tokio::task::JoinSet;

use crate::Repositories;
use crate::run::{assert_fails, concurrently, pages};
use crate::world::{INSTANTS, World, at};

pub async fn revoking_all_sessions_of_an_account_is_recorded_once(db: Repositories) {
    let w = World::new(&db);
    let (ada, bob) = (w.account("Ada").await.id, w.account("Bob").await.id);
    let (sessions, other) = ([w.session(ada).await, w.session(ada).await], w.session(bob).await);
    let entry = w.entry();
    db.sessions.revoke_all(ada, &entry).await.unwrap();
    db.sessions.invalidate_account(ada);
    for session in sessions {
        assert!(db.sessions.find(session.id).await.unwrap().unwrap().revoked);
    }
    assert!(!db.sessions.find(other.id).await.unwrap().unwrap().revoked);
    // No session is left to revoke.
    db.sessions.revoke_all(ada, &w.entry()).await.unwrap();
    assert_fails!(db.sessions.revoke_all(w.id(), &w.entry()).await, Error::NotFound(_));
    let log = pages(2, async |page| db.audit.list(AuditFilter::default(), page).await).await;
    assert_eq!(log.into_iter().map(|view| view.entry).collect::<Vec<_>>(), [entry]);
}

pub async fn a_session_is_found_with_the_state_of_its_account(db: Repositories) {
    let w = World::new(&db);
    for (n, roles) in [Roles::NONE, Roles::USER, Roles::ADMIN_AND_USER].into_iter().enumerate() {
        let user = w.account_with(&format!("user {n}"), |new| new.roles = roles).await.id;
        let session = w.session(user).await;
        let state = SessionState { session, revoked: false, enabled: true, roles, last_seen_at: session.opened_at };
        assert_eq!(db.sessions.find(session.id).await.unwrap(), Some(state));
    }
}

pub async fn the_time_of_login_is_stored_to_the_millisecond(db: Repositories) {
    let w = World::new(&db);
    let user = w.account("Ada").await.id;
    for millis in INSTANTS {
        let session = Session { id: w.id(), user, opened_at: Timestamp::from_unix_millis(millis) };
        assert!(w.open(&session).await);
        assert_eq!(db.sessions.find(session.id).await.unwrap().unwrap().session, session);
    }
}

pub async fn a_session_is_not_found_until_it_is_opened(db: Repositories) {
    let w = World::new(&db);
    let session = Session { id: w.id(), user: w.account("Ada").await.id, opened_at: w.now() };
    assert_eq!(db.sessions.find(session.id).await.unwrap(), None);
    assert!(w.open(&session).await);
    assert!(db.sessions.find(session.id).await.unwrap().is_some(), "found at once, although an earlier lookup failed");
}

pub async fn many_sessions_are_found_in_one_call(db: Repositories) {
    let w = World::new(&db);
    let (ada, bob) = (w.account("Ada").await.id, w.admin("Bob").await.id);
    let sessions = [w.session(ada).await.id, w.session(bob).await.id, w.session(bob).await.id];
    db.sessions.revoke(sessions[1], w.now()).await.unwrap();
    let mut found = db.sessions.find_all(vec![sessions[2], w.id(), sessions[1], sessions[0]]).await.unwrap();
    found.sort_by_key(|state| state.session.id);
    for (state, id) in found.iter().zip(sessions) {
        assert_eq!(Some(*state), db.sessions.find(id).await.unwrap());
    }
    assert_eq!(found.len(), 3);
}

pub async fn a_ticket_can_be_used_only_once(db: Repositories) {
    let w = World::new(&db);
    let (begun, minute) = (w.now(), 60_000);
    let first: TicketId = w.id();
    let expires_at = begun.plus_millis(30_000);
    let mut tries = JoinSet::new();
    for _ in 0..8 {
        let sessions = Arc::clone(&db.sessions);
        tries.spawn(async move { sessions.use_ticket(first, expires_at, begun).await.unwrap() });
    }
    let used = tries.join_all().await;
    assert_eq!(used.into_iter().filter(|is_first| *is_first).count(), 1);
    assert!(db.sessions.use_ticket(w.id(), expires_at, begun).await.unwrap(), "another ticket works");
    // A ticket stays known for a minute after it expires, so that a node whose clock is behind by less does not accept it again.
    let later = expires_at.plus_millis(minute);
    assert!(!db.sessions.use_ticket(first, expires_at, later).await.unwrap());
}

pub async fn revoking_a_session_is_immediate_permanent_and_affects_no_other(db: Repositories) {
    let w = World::new(&db);
    let user = w.account("Ada").await.id;
    let (ended, other) = (w.session(user).await, w.session(user).await);
    let revoked = async |id: SessionId| db.sessions.find(id).await.unwrap().unwrap().revoked;
    assert!(!revoked(ended.id).await && !revoked(other.id).await);
    for _ in 0..2 {
        db.sessions.revoke(ended.id, w.now()).await.unwrap();
        assert!(revoked(ended.id).await && !revoked(other.id).await);
    }
    assert_eq!(db.sessions.find(ended.id).await.unwrap().unwrap().session, ended);
}

pub async fn revoking_an_unknown_session_is_no_error(db: Repositories) {
    let w = World::new(&db);
    let id = w.id();
    db.sessions.revoke(id, w.now()).await.unwrap();
    assert_eq!(db.sessions.find(id).await.unwrap(), None);
}

pub async fn a_session_shows_the_current_account_after_a_change_notification(db: Repositories) {
    let w = World::new(&db);
    w.admin("Root").await;
    let ada = w.account("Ada").await.id;
    let session = w.session(ada).await;
    let state = async || db.sessions.find(session.id).await.unwrap().unwrap();
    assert_eq!(state().await.roles, Roles::USER);
    let steps = [
        (Role::Admin, RoleAction::Add, Roles::ADMIN_AND_USER),
        (Role::Admin, RoleAction::Remove, Roles::USER),
        (Role::User, RoleAction::Remove, Roles::NONE),
    ];
    for (role, action, roles) in steps {
        db.accounts.change_role(ada, RoleChange { role, action }, &w.entry()).await.unwrap();
        db.sessions.invalidate_account(ada);
        assert_eq!(
            state().await,
            SessionState { session, revoked: false, enabled: true, roles, last_seen_at: session.opened_at }
        );
    }
    for enabled in [false, true] {
        db.accounts.set_enabled(ada, enabled, &w.entry()).await.unwrap();
        db.sessions.invalidate_account(ada);
        assert_eq!(
            state().await,
            SessionState { session, revoked: true, enabled, roles: Roles::NONE, last_seen_at: session.opened_at }
        );
    }
}

pub async fn sessions_opened_before_an_instant_are_deleted(db: Repositories) {
    let w = World::new(&db);
    let users = [w.account("Ada").await.id, w.account("Bob").await.id];
    let mut opened = Vec::new();
    for (n, millis) in [0, 10, 20, 29, 30, 31, 40].into_iter().enumerate() {
        let session = Session { id: w.id(), user: users[n % 2], opened_at: at(millis) };
        assert!(w.open(&session).await);
        // Read, so that a caching adapter has it in its cache.
        db.sessions.find(session.id).await.unwrap().unwrap();
        opened.push(session);
    }
    db.sessions.revoke(opened[0].id, w.now()).await.unwrap();
    assert_eq!(db.sessions.delete_opened_before(at(0)).await.unwrap(), 0);
    assert_eq!(db.sessions.delete_opened_before(at(30)).await.unwrap(), 4);
    assert_eq!(db.sessions.delete_opened_before(at(30)).await.unwrap(), 0);
    for session in opened {
        let found = db.sessions.find(session.id).await.unwrap();
        assert_eq!(found.map(|state| state.session), (session.opened_at >= at(30)).then_some(session));
    }
    for user in users {
        assert!(db.accounts.find(user).await.unwrap().is_some());
    }
}

pub async fn a_large_backlog_of_old_sessions_is_deleted_completely(db: Repositories) {
    let w = World::new(&db);
    let user = w.account("Ada").await.id;
    let sessions: Vec<_> = (0_i64..2_001).map(|n| Session { id: w.id(), user, opened_at: at(n / 100) }).collect();
    for session in &sessions {
        assert!(w.open(session).await);
    }
    let kept = Session { id: w.id(), user, opened_at: at(30) };
    assert!(w.open(&kept).await);
    assert_eq!(db.sessions.delete_opened_before(at(30)).await.unwrap(), 2_001);
    assert!(db.sessions.find(kept.id).await.unwrap().is_some());
}

pub async fn a_password_change_during_logins_revokes_every_older_session(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let (mut old, mut fresh) = (Vec::new(), Vec::new());
    for _ in 0..10 {
        old.push(w.session(ada).await.id);
        fresh.push(Session { id: w.id(), user: ada, opened_at: w.now() });
    }
    let password = db.accounts.find_password(ada).await.unwrap().unwrap();
    concurrently((0..20).map(|n| {
        let (db, password, session, old, at) = (db.clone(), password.clone(), fresh[n / 2], old[n / 2], w.now());
        // Changed to the same password, so that concurrent logins are not refused.
        let (verified, new) = (password.clone(), password.clone());
        let change = PasswordChange { user: ada, verified, new, keep: None, at, entry: None };
        async move {
            match n {
                0 => assert!(db.accounts.change_password(&change).await.unwrap()),
                n if n % 2 == 1 => assert!(db.sessions.open(&session, &password, None).await.unwrap()),
                _ => db.sessions.revoke(old, at).await.unwrap(),
            }
        }
    }))
    .await;
    db.sessions.invalidate_account(ada);
    for id in old {
        assert!(db.sessions.find(id).await.unwrap().unwrap().revoked);
    }
    for session in fresh {
        assert_eq!(db.sessions.find(session.id).await.unwrap().unwrap().session, session);
    }
}

pub async fn a_login_that_races_a_password_change_or_disabling_opens_no_session(db: Repositories) {
    let w = World::new(&db);
    let (ada, bob) = (w.account("Ada").await.id, w.account("Bob").await.id);
    let verified = db.accounts.find_password(ada).await.unwrap().unwrap();
    let session = Session { id: w.id(), user: ada, opened_at: w.now() };
    let new = PasswordHash::new("$new".to_owned());
    let change = PasswordChange {
        user: ada,
        verified: verified.clone(),
        new: new.clone(),
        keep: None,
        at: w.now(),
        entry: None,
    };
    assert!(db.accounts.change_password(&change).await.unwrap());
    assert!(!db.sessions.open(&session, &verified, None).await.unwrap());
    assert_eq!(db.sessions.find(session.id).await.unwrap(), None);
    assert!(db.sessions.open(&session, &new, None).await.unwrap());
    assert!(!db.accounts.change_password(&change).await.unwrap(), "the old password was verified");
    assert_eq!(db.accounts.find_password(ada).await.unwrap(), Some(new));
    assert!(!db.sessions.find(session.id).await.unwrap().unwrap().revoked);

    let his = Session { id: w.id(), user: bob, opened_at: w.now() };
    db.accounts.set_enabled(bob, false, &w.entry()).await.unwrap();
    assert!(!w.open(&his).await);
    db.accounts.set_enabled(bob, true, &w.entry()).await.unwrap();
    assert_eq!(db.sessions.find(his.id).await.unwrap(), None);
    assert!(w.open(&his).await);
}

pub async fn sessions_are_listed_with_user_agent_and_last_use(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let verified = db.accounts.find_password(ada).await.unwrap().unwrap();
    let mut opened = Vec::new();
    for client in [Some("Agora for Android 1.0"), None, Some("'; DROP TABLE sessions; --")] {
        let session = Session { id: w.id(), user: ada, opened_at: w.now() };
        let user_agent = client.and_then(UserAgent::of);
        assert!(db.sessions.open(&session, &verified, user_agent.clone()).await.unwrap());
        opened.push(SessionView { session, last_seen_at: session.opened_at, user_agent });
    }
    let of_bob = w.session(bob).await;
    let before = opened[0].session.opened_at.plus_millis(-1);
    let list = async |after| pages(2, async |page| db.sessions.list(ada, after, page).await).await;
    opened.reverse();
    assert_eq!(list(before).await, opened);
    assert_eq!(list(opened[2].session.opened_at).await, opened[..2], "sessions opened after an instant");
    let from_end = PageRequest { from: Position::End, ..PageRequest::FIRST };
    let last = db.sessions.list(ada, opened[2].session.opened_at, from_end).await.unwrap();
    assert_eq!(last.items, opened[..2], "from the end");

    let hour = |n: i64| at(n * 3_600_000);
    let ids: Vec<SessionId> = opened.iter().map(|view| view.session.id).collect();
    db.sessions.store_last_seen(vec![(ids[0], hour(2)), (ids[1], hour(1)), (w.id(), hour(1))]).await.unwrap();
    db.sessions.store_last_seen(vec![(ids[0], hour(1)), (ids[1], hour(2)), (ids[2], hour(1))]).await.unwrap();
    db.sessions.store_last_seen(vec![]).await.unwrap();
    for (view, hour) in opened.iter_mut().zip([hour(2), hour(2), hour(1)]) {
        view.last_seen_at = hour;
        assert_eq!(db.sessions.find(view.session.id).await.unwrap().unwrap().last_seen_at, hour);
    }
    assert_eq!(list(before).await, opened);

    assert!(!db.sessions.revoke_of(bob, ids[0], w.now()).await.unwrap(), "a session of another account");
    assert!(!db.sessions.revoke_of(ada, w.id(), w.now()).await.unwrap());
    for there_is in [true, false] {
        assert_eq!(db.sessions.revoke_of(ada, ids[0], w.now()).await.unwrap(), there_is);
    }
    assert_eq!(list(before).await, opened[1..]);
    db.sessions.revoke_others(ada, ids[2], w.now()).await.unwrap();
    db.sessions.invalidate_account(ada);
    assert_eq!(list(before).await, opened[2..]);
    assert!(db.sessions.find(ids[1]).await.unwrap().unwrap().revoked);
    assert!(!db.sessions.find(of_bob.id).await.unwrap().unwrap().revoked);
}
