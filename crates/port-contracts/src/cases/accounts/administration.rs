//! Roles, and enabling and disabling accounts.

use agora_domain::accounts::{Account, Role, RoleAction, RoleChange, Roles, Session, SessionState};
use agora_domain::error::Resource;
use agora_domain::id::{SessionId, UserId};
use agora_domain::{Error, Result};

use crate::Repositories;
use crate::run::{assert_fails, concurrently};
use crate::world::{World, at};

const ADMIN_ONLY: Roles = Roles::NONE.with(Role::Admin, true);

const fn change(role: Role, action: RoleAction) -> RoleChange {
    RoleChange { role, action }
}

const DEMOTION: RoleChange = change(Role::Admin, RoleAction::Remove);

async fn find(db: &Repositories, id: UserId) -> Account {
    db.accounts.find(id).await.unwrap().unwrap()
}

/// Returns the state of a session, after notifying the repository of a change of its account.
async fn session(db: &Repositories, user: UserId, id: SessionId) -> SessionState {
    db.sessions.invalidate_account(user);
    db.sessions.find(id).await.unwrap().unwrap()
}

pub async fn has_admin_returns_whether_any_account_has_the_role(db: Repositories) {
    let w = World::new(&db);
    assert!(!db.accounts.has_admin().await.unwrap());
    let ada = w.account("Ada").await;
    assert!(!db.accounts.has_admin().await.unwrap());
    db.accounts.change_role(ada.id, change(Role::Admin, RoleAction::Add), &w.entry()).await.unwrap();
    assert!(db.accounts.has_admin().await.unwrap());
}

pub async fn administrators_are_listed_oldest_first_including_disabled_ones(db: Repositories) {
    let w = World::new(&db);
    assert_eq!(db.accounts.list_admins().await.unwrap(), []);
    let root = w.admin("Root").await;
    w.account("Ada").await;
    let ben = w.account_with("Ben", |account| account.roles = ADMIN_ONLY).await;
    let cat = w.admin("Cat").await;
    db.accounts.set_enabled(cat.id, false, &w.entry()).await.unwrap();
    let listed = db.accounts.list_admins().await.unwrap();
    assert_eq!(listed, [root, ben, Account { enabled: false, ..cat }]);
}

pub async fn open_sessions_are_counted_from_an_instant(db: Repositories) {
    let w = World::new(&db);
    let (ada, bob) = (w.account("Ada").await.id, w.account("Bob").await.id);
    let count = async |user, millis| db.accounts.count_sessions(user, at(millis)).await.unwrap();
    assert_eq!((count(ada, 0).await, count(w.id(), 0).await), (0, 0));
    let mut opened = Vec::new();
    for (user, millis) in [(ada, 10), (ada, 20), (bob, 25), (ada, 30)] {
        let session = Session { id: w.id(), user, opened_at: at(millis) };
        assert!(w.open(&session).await);
        opened.push(session.id);
    }
    assert_eq!((count(ada, 9).await, count(ada, 10).await, count(ada, 30).await, count(bob, 9).await), (3, 2, 0, 1));
    db.sessions.revoke(opened[3], w.now()).await.unwrap();
    assert_eq!((count(ada, 9).await, count(ada, 10).await), (2, 1));
    db.accounts.set_enabled(ada, false, &w.entry()).await.unwrap();
    assert_eq!((count(ada, 9).await, count(bob, 9).await), (0, 1));
}

pub async fn granting_and_revoking_a_role_changes_nothing_else(db: Repositories) {
    let w = World::new(&db);
    w.admin("Root").await;
    let table = [
        (Roles::NONE, change(Role::User, RoleAction::Add), Roles::USER),
        (Roles::NONE, change(Role::Admin, RoleAction::Add), ADMIN_ONLY),
        (Roles::NONE, change(Role::User, RoleAction::Remove), Roles::NONE),
        (Roles::NONE, change(Role::Admin, RoleAction::Remove), Roles::NONE),
        (Roles::USER, change(Role::User, RoleAction::Add), Roles::USER),
        (Roles::USER, change(Role::User, RoleAction::Remove), Roles::NONE),
        (Roles::USER, change(Role::Admin, RoleAction::Add), Roles::ADMIN_AND_USER),
        (Roles::USER, change(Role::Admin, RoleAction::Remove), Roles::USER),
        (ADMIN_ONLY, change(Role::User, RoleAction::Add), Roles::ADMIN_AND_USER),
        (ADMIN_ONLY, change(Role::Admin, RoleAction::Add), ADMIN_ONLY),
        (ADMIN_ONLY, change(Role::Admin, RoleAction::Remove), Roles::NONE),
        (Roles::ADMIN_AND_USER, change(Role::User, RoleAction::Remove), ADMIN_ONLY),
        (Roles::ADMIN_AND_USER, change(Role::Admin, RoleAction::Remove), Roles::USER),
        (Roles::ADMIN_AND_USER, change(Role::Admin, RoleAction::Add), Roles::ADMIN_AND_USER),
    ];
    for (n, (before, change, after)) in table.into_iter().enumerate() {
        let account = w.account_with(&format!("user {n}"), |account| account.roles = before).await;
        db.accounts.change_role(account.id, change, &w.entry()).await.unwrap();
        assert_eq!(find(&db, account.id).await, Account { roles: after, ..account }, "{before:?} {change:?}");
    }
}

pub async fn changing_an_unknown_account_fails(db: Repositories) {
    let w = World::new(&db);
    w.admin("Root").await;
    for action in [RoleAction::Add, RoleAction::Remove] {
        assert_fails!(
            db.accounts.change_role(w.id(), change(Role::Admin, action), &w.entry()).await,
            Error::NotFound(Resource::User)
        );
    }
    for enabled in [true, false] {
        assert_fails!(db.accounts.set_enabled(w.id(), enabled, &w.entry()).await, Error::NotFound(Resource::User));
    }
}

pub async fn the_last_enabled_admin_keeps_the_role_and_stays_enabled(db: Repositories) {
    let w = World::new(&db);
    let root = w.admin("Root").await;
    let opened = w.session(root.id).await;
    w.account("User").await;
    w.account_with("Disabled", |account| (account.roles, account.enabled) = (Roles::ADMIN_AND_USER, false)).await;
    assert_fails!(db.accounts.change_role(root.id, DEMOTION, &w.entry()).await, Error::Disallowed(_));
    assert_fails!(db.accounts.set_enabled(root.id, false, &w.entry()).await, Error::Disallowed(_));
    assert_eq!(find(&db, root.id).await, root);
    assert!(!session(&db, root.id, opened.id).await.revoked);
    // Changes that keep the ADMIN role and the account enabled are allowed.
    db.accounts.change_role(root.id, change(Role::User, RoleAction::Remove), &w.entry()).await.unwrap();
    db.accounts.set_enabled(root.id, true, &w.entry()).await.unwrap();
    // Everything is allowed once there is another administrator.
    w.admin("Second").await;
    db.accounts.change_role(root.id, DEMOTION, &w.entry()).await.unwrap();
    assert_eq!(find(&db, root.id).await.roles, Roles::NONE);
}

pub async fn a_disabled_admin_may_lose_the_role(db: Repositories) {
    let w = World::new(&db);
    let old = w.account_with("Old", |account| (account.roles, account.enabled) = (ADMIN_ONLY, false)).await;
    db.accounts.set_enabled(old.id, false, &w.entry()).await.unwrap();
    db.accounts.change_role(old.id, DEMOTION, &w.entry()).await.unwrap();
    assert_eq!(find(&db, old.id).await, Account { roles: Roles::NONE, ..old });
}

pub async fn admins_who_demote_each_other_concurrently_leave_one_admin(db: Repositories) {
    let w = World::new(&db);
    let (one, other) = (w.admin("One").await, w.admin("Other").await);
    let outcomes = concurrently([one.id, other.id].map(|id| {
        let (db, entry) = (db.clone(), w.entry());
        async move { db.accounts.change_role(id, DEMOTION, &entry).await }
    }))
    .await;
    leaves_one_of_all(outcomes);
    let admins = [find(&db, one.id).await, find(&db, other.id).await];
    assert_eq!(admins.iter().filter(|account| account.roles.contains(Role::Admin)).count(), 1);
}

pub async fn concurrent_demotions_and_disablings_leave_one_admin(db: Repositories) {
    let w = World::new(&db);
    let mut admins = Vec::new();
    for n in 0..12 {
        admins.push(w.admin(&format!("admin {n}")).await.id);
    }
    let outcomes = concurrently(admins.iter().enumerate().map(|(n, &id)| {
        let (db, entry) = (db.clone(), w.entry());
        async move {
            match n % 2 {
                0 => db.accounts.change_role(id, DEMOTION, &entry).await,
                _ => db.accounts.set_enabled(id, false, &entry).await,
            }
        }
    }))
    .await;
    leaves_one_of_all(outcomes);
    let mut left = 0;
    for id in admins {
        let account = find(&db, id).await;
        left += usize::from(account.enabled && account.roles.contains(Role::Admin));
    }
    assert_eq!(left, 1);
}

fn leaves_one_of_all(outcomes: Vec<Result<()>>) {
    let done = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(done, outcomes.len() - 1);
    for refused in outcomes.into_iter().filter(Result::is_err) {
        assert_fails!(refused, Error::Disallowed(_));
    }
}

pub async fn disabling_and_enabling_an_account_changes_nothing_else(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await;
    for enabled in [true, false, false, true] {
        db.accounts.set_enabled(ada.id, enabled, &w.entry()).await.unwrap();
        assert_eq!(find(&db, ada.id).await, Account { enabled, ..ada.clone() });
    }
}

pub async fn disabling_an_account_revokes_its_sessions_permanently(db: Repositories) {
    let w = World::new(&db);
    let (ada, bob) = (w.account("Ada").await.id, w.account("Bob").await.id);
    let hers = [w.session(ada).await.id, w.session(ada).await.id];
    let his = w.session(bob).await.id;
    for id in hers {
        assert!(!session(&db, ada, id).await.revoked);
    }
    db.accounts.set_enabled(ada, true, &w.entry()).await.unwrap();
    for id in hers {
        assert!(!session(&db, ada, id).await.revoked, "enabling an enabled account ends nothing");
    }
    for enabled in [false, true] {
        db.accounts.set_enabled(ada, enabled, &w.entry()).await.unwrap();
        for id in hers {
            let state = session(&db, ada, id).await;
            assert_eq!((state.revoked, state.enabled), (true, enabled));
        }
    }
    assert!(!session(&db, bob, his).await.revoked);
    let again = w.session(ada).await.id;
    assert!(!session(&db, ada, again).await.revoked, "a later login is a new session");
}
