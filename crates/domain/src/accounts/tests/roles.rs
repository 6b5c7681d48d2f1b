//! What callers may do, and what administrators do to accounts.

use super::*;
use crate::audit::{Action, Actor, AuditEntry, Target};
use crate::error::Resource;
use crate::page::{Page, PageRequest};

const ADD_ADMIN: RoleChange = RoleChange { role: Role::Admin, action: RoleAction::Add };
const REMOVE_ADMIN: RoleChange = RoleChange { role: Role::Admin, action: RoleAction::Remove };
const ADD_USER: RoleChange = RoleChange { role: Role::User, action: RoleAction::Add };
const REMOVE_USER: RoleChange = RoleChange { role: Role::User, action: RoleAction::Remove };

fn admin() -> Admin {
    alice(ADMIN).admin().unwrap()
}

/// Returns the use cases, and Bob's account as the one to be changed.
async fn managing(mut ports: Ports) -> (Accounts, ManagedAccount) {
    ports.accounts.expect_find().withf(|id| *id == BOB).returning(|_| Ok(Some(account(Roles::USER, true))));
    let accounts = ports.accounts();
    let managed = accounts.managed(&admin(), BOB).await.unwrap();
    (accounts, managed)
}

#[test]
fn a_member_has_any_role_and_an_admin_has_admin() {
    for (roles, is_member, is_admin) in [
        (Roles::NONE, false, false),
        (Roles::USER, true, false),
        (ADMIN, true, true),
        (Roles::ADMIN_AND_USER, true, true),
    ] {
        let caller = alice(roles);
        match caller.member() {
            Ok(member) => {
                assert!(is_member, "{roles:?}");
                assert_eq!((member.id(), member.session(), member.is_admin()), (ALICE, caller.session, is_admin));
            }
            Err(error) => assert!(!is_member && matches!(error, Error::Forbidden(_)), "{roles:?}"),
        }
        match caller.admin() {
            Ok(admin) => assert!(is_admin && admin.id() == ALICE, "{roles:?}"),
            Err(error) => assert!(!is_admin && matches!(error, Error::Forbidden(_)), "{roles:?}"),
        }
    }
}

#[test]
fn roles_and_role_actions_are_parsed_from_their_names() {
    assert_eq!(("ADMIN".parse(), "USER".parse()), (Ok(Role::Admin), Ok(Role::User)));
    assert_eq!(("ADD".parse(), "REMOVE".parse()), (Ok(RoleAction::Add), Ok(RoleAction::Remove)));
    for name in ["ROOT", "ROLE_ADMIN", "admin", ""] {
        assert_eq!(name.parse::<Role>(), Err(Violation::new(ViolationKind::NotAllowed, "Role must be ADMIN or USER")));
    }
    for name in ["add", "SET", "", " "] {
        let violation = Violation::new(ViolationKind::NotAllowed, "Action must be ADD or REMOVE");
        assert_eq!(name.parse::<RoleAction>(), Err(violation), "{name}");
    }
}

#[test]
fn roles_are_added_and_removed_but_the_last_enabled_admin_keeps_theirs() {
    const ENABLED: bool = true;
    const DISABLED: bool = false;
    for (before, enabled, other_admins, change, after) in [
        (Roles::USER, ENABLED, 1, ADD_ADMIN, Some(Roles::ADMIN_AND_USER)),
        (Roles::USER, ENABLED, 0, ADD_ADMIN, Some(Roles::ADMIN_AND_USER)),
        (ADMIN, ENABLED, 0, ADD_ADMIN, Some(ADMIN)),
        (Roles::NONE, ENABLED, 1, ADD_USER, Some(Roles::USER)),
        (Roles::USER, ENABLED, 1, ADD_USER, Some(Roles::USER)),
        (ADMIN, ENABLED, 0, ADD_USER, Some(Roles::ADMIN_AND_USER)),
        (Roles::ADMIN_AND_USER, ENABLED, 1, REMOVE_ADMIN, Some(Roles::USER)),
        (ADMIN, ENABLED, 1, REMOVE_ADMIN, Some(Roles::NONE)),
        (Roles::ADMIN_AND_USER, ENABLED, 0, REMOVE_ADMIN, None),
        (ADMIN, ENABLED, 0, REMOVE_ADMIN, None),
        // A disabled account is no enabled ADMIN to begin with.
        (Roles::ADMIN_AND_USER, DISABLED, 0, REMOVE_ADMIN, Some(Roles::USER)),
        // There is nothing to remove.
        (Roles::USER, ENABLED, 0, REMOVE_ADMIN, Some(Roles::USER)),
        (Roles::NONE, ENABLED, 0, REMOVE_ADMIN, Some(Roles::NONE)),
        (ADMIN, ENABLED, 0, REMOVE_USER, Some(ADMIN)),
        (Roles::USER, ENABLED, 1, REMOVE_USER, Some(Roles::NONE)),
        (Roles::ADMIN_AND_USER, ENABLED, 0, REMOVE_USER, Some(ADMIN)),
    ] {
        let case = format!("{before:?}, enabled: {enabled}, {other_admins} others, {change:?}");
        match account(before, enabled).with_role_change(change, other_admins) {
            Ok(changed) => assert_eq!(Some(changed), after.map(|roles| account(roles, enabled)), "{case}"),
            Err(error) => assert!(after.is_none() && matches!(error, Error::Disallowed(_)), "{case}: {error:?}"),
        }
    }
}

#[test]
fn accounts_are_enabled_and_disabled_but_the_last_enabled_admin_stays_enabled() {
    for (roles, before, other_admins, after, allowed) in [
        (Roles::USER, true, 0, false, true),
        (Roles::USER, false, 0, true, true),
        (Roles::USER, false, 0, false, true),
        (ADMIN, true, 1, false, true),
        (ADMIN, true, 0, false, false),
        (Roles::ADMIN_AND_USER, true, 0, false, false),
        (ADMIN, true, 0, true, true),
        (ADMIN, false, 0, true, true),
        (ADMIN, false, 0, false, true),
    ] {
        let case = format!("{roles:?}, {before} to {after}, {other_admins} others");
        match account(roles, before).with_enabled(after, other_admins) {
            Ok(changed) => assert!(allowed && changed == account(roles, after), "{case}"),
            Err(error) => assert!(!allowed && matches!(error, Error::Disallowed(_)), "{case}: {error:?}"),
        }
    }
}

/// Returns the entry for the audit log of an act on Bob's account.
fn entry_by(actor: Actor, action: Action) -> AuditEntry {
    AuditEntry { id: NEW_ID.into(), at: NOW, actor, action, target: Target::User(BOB), details: None }
}

#[tokio::test]
async fn a_change_of_role_or_state_takes_effect_with_the_next_request() {
    let mut ports = Ports::default();
    ports
        .accounts
        .expect_change_role()
        .once()
        .withf(|id, change, entry| {
            let recorded = entry_by(Actor::Account(ALICE), Action::RoleAdded).with_details("ADMIN");
            (*id, *change) == (BOB, ADD_ADMIN) && *entry == recorded
        })
        .returning(|_, _, _| Ok(()));
    ports
        .accounts
        .expect_set_enabled()
        .once()
        .withf(|id, enabled, entry| {
            (*id, *enabled) == (BOB, false) && *entry == entry_by(Actor::Account(ALICE), Action::AccountDisabled)
        })
        .returning(|_, _, _| Ok(()));
    ports.sessions.expect_invalidate_account().times(2).withf(|id| *id == BOB).return_const(());
    let (accounts, bob) = managing(ports).await;
    accounts.change_role(bob, ADD_ADMIN).await.unwrap();
    accounts.set_enabled(bob, false).await.unwrap();
}

#[tokio::test]
async fn sessions_of_an_account_are_listed_and_ended() {
    let mut ports = Ports::default();
    let oldest = LIFETIME.oldest_session(NOW);
    ports
        .sessions
        .expect_list()
        .once()
        .withf(move |user, opened_after, page| (*user, *opened_after, *page) == (BOB, oldest, PageRequest::FIRST))
        .returning(|_, _, page| Ok(page.page_of(vec![], |_| unreachable!("there is none"))));
    ports
        .sessions
        .expect_revoke_all()
        .once()
        .withf(|id, entry| *id == BOB && *entry == entry_by(Actor::Account(ALICE), Action::SessionsEnded))
        .returning(|_, _| Err(Error::NotFound(Resource::User)));
    let (accounts, bob) = managing(ports).await;
    assert!(accounts.list_sessions(bob, PageRequest::FIRST).await.unwrap().items.is_empty());
    assert!(matches!(accounts.end_sessions(bob).await, Err(Error::NotFound(Resource::User))));
}

#[tokio::test]
async fn a_refused_change_is_reported() {
    let mut ports = Ports::default();
    ports.accounts.expect_change_role().returning(|_, _, _| Err(Error::Disallowed(Disallowed::LastAdmin)));
    ports.accounts.expect_set_enabled().returning(|_, _, _| Err(Error::Disallowed(Disallowed::LastAdmin)));
    // Sessions are invalidated whatever the outcome: an acknowledgement may have been lost.
    ports.sessions.expect_invalidate_account().times(2).return_const(());
    let (accounts, bob) = managing(ports).await;
    assert!(matches!(accounts.change_role(bob, REMOVE_ADMIN).await, Err(Error::Disallowed(_))));
    assert!(matches!(accounts.set_enabled(bob, false).await, Err(Error::Disallowed(_))));
}

#[tokio::test]
async fn an_account_deleted_meanwhile_is_not_found() {
    let mut ports = Ports::default();
    ports.accounts.expect_change_role().returning(|_, _, _| Err(Error::NotFound(Resource::User)));
    ports.accounts.expect_set_enabled().returning(|_, _, _| Err(Error::NotFound(Resource::User)));
    // Sessions are invalidated whatever the outcome: an acknowledgement may have been lost.
    ports.sessions.expect_invalidate_account().times(2).return_const(());
    let (accounts, bob) = managing(ports).await;
    assert!(matches!(accounts.change_role(bob, ADD_USER).await, Err(Error::NotFound(Resource::User))));
    assert!(matches!(accounts.set_enabled(bob, true).await, Err(Error::NotFound(Resource::User))));
}

#[tokio::test]
async fn an_unknown_account_is_not_found() {
    let mut ports = Ports::default();
    ports.accounts.expect_find().returning(|_| Ok(None));
    ports.accounts.expect_find_id().returning(|_| Ok(None));
    let accounts = ports.accounts();
    let identifier = LoginIdentifier::parse("bob").unwrap();
    for missing in [
        accounts.get(&admin(), BOB).await.map(drop),
        accounts.managed(&admin(), BOB).await.map(drop),
        accounts.me(&alice(Roles::NONE)).await.map(drop),
        accounts.managed_by_operator(&identifier).await.map(drop),
    ] {
        assert!(matches!(missing, Err(Error::NotFound(Resource::User))));
    }
}

#[tokio::test]
async fn admins_see_every_account_and_other_callers_their_own() {
    let mut ports = Ports::default();
    ports.accounts.expect_find().times(2).returning(|id| Ok(Some(Account { id, ..account(Roles::USER, true) })));
    let page = Page { items: vec![account(Roles::USER, false)], keys: vec![], prev: None, next: None };
    let listed = page.clone();
    ports
        .accounts
        .expect_list()
        .once()
        .withf(|request| *request == PageRequest::FIRST)
        .returning(move |_| Ok(listed.clone()));
    let accounts = ports.accounts();
    assert_eq!(accounts.get(&admin(), BOB).await.unwrap().id, BOB);
    assert_eq!(accounts.me(&alice(Roles::NONE)).await.unwrap().id, ALICE);
    assert_eq!(accounts.list(&admin(), PageRequest::FIRST).await.unwrap(), page);
}

#[tokio::test]
async fn the_operator_manages_accounts_by_name() {
    let mut ports = Ports::default();
    ports
        .accounts
        .expect_find_id()
        .once()
        .withf(|identifier| *identifier == LoginIdentifier::Email("bob@example.com".to_owned()))
        .returning(|_| Ok(Some(BOB)));
    ports
        .accounts
        .expect_change_role()
        .once()
        .withf(|id, change, entry| {
            let recorded = entry_by(Actor::CommandLine, Action::RoleAdded).with_details("ADMIN");
            (*id, *change) == (BOB, ADD_ADMIN) && *entry == recorded
        })
        .returning(|_, _, _| Ok(()));
    ports.sessions.expect_invalidate_account().once().withf(|id| *id == BOB).return_const(());
    let identifier = LoginIdentifier::parse("Bob@example.com").unwrap();
    let accounts = ports.accounts();
    let bob = accounts.managed_by_operator(&identifier).await.unwrap();
    accounts.change_role(bob, ADD_ADMIN).await.unwrap();
}

#[tokio::test]
async fn the_operator_sees_an_account_with_the_number_of_its_active_sessions() {
    for found in [Some(account(Roles::USER, false)), None] {
        let mut ports = Ports::default();
        ports.accounts.expect_find_id().returning(|_| Ok(Some(BOB)));
        let stored = found.clone();
        ports.accounts.expect_find().once().withf(|id| *id == BOB).returning(move |_| Ok(stored.clone()));
        // A token of a session that was opened then, renewed at the last moment, has just expired.
        let oldest = LIFETIME.oldest_session(NOW);
        let renewed = |at| Session { id: SESSION, user: BOB, opened_at: oldest }.is_renewable(at);
        assert!(!renewed(NOW.plus_millis(-60_000)) && renewed(NOW.plus_millis(-60_001)));
        ports
            .accounts
            .expect_count_sessions()
            .times(usize::from(found.is_some()))
            .withf(move |id, opened_after| (*id, *opened_after) == (BOB, oldest))
            .returning(|_, _| Ok(2));
        let accounts = ports.accounts();
        let bob = accounts.managed_by_operator(&LoginIdentifier::parse("bob").unwrap()).await.unwrap();
        match (accounts.details(bob).await, found) {
            (Ok(details), Some(account)) => assert_eq!(details, AccountDetails { account, sessions: 2 }),
            (Err(Error::NotFound(Resource::User)), None) => {}
            (other, _) => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn the_operator_resets_a_password_and_ends_every_session() {
    for is_unchanged in [true, false] {
        let mut ports = Ports::default();
        ports.accounts.expect_find_id().returning(|_| Ok(Some(BOB)));
        ports.passwords.expect_hash().once().withf(|_, by| *by == Requester::local()).returning(|_, _| Ok(hash("new")));
        ports.accounts.expect_find_password().once().withf(|id| *id == BOB).returning(|_| Ok(Some(hash("old"))));
        let (verified, new, entry) =
            (hash("old"), hash("new"), Some(entry_by(Actor::CommandLine, Action::PasswordReset)));
        let expected = PasswordChange { user: BOB, verified, new, keep: None, at: NOW, entry };
        ports
            .accounts
            .expect_change_password()
            .once()
            .withf(move |change| *change == expected)
            .returning(move |_| Ok(is_unchanged));
        ports.sessions.expect_invalidate_account().once().withf(|id| *id == BOB).return_const(());
        let accounts = ports.accounts();
        let bob = accounts.managed_by_operator(&LoginIdentifier::parse("bob").unwrap()).await.unwrap();
        let reset = accounts.reset_password(bob, &Password::parse("correct horse").unwrap()).await;
        assert!(matches!((is_unchanged, &reset), (true, Ok(())) | (false, Err(Error::Conflict(_)))), "{reset:?}");
    }
}
