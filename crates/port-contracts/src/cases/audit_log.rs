//! The audit log, and the acts that leave entries on it.

use agora_domain::Error;
use agora_domain::accounts::{NewAccount, PasswordChange, PasswordHash, Role, RoleAction, RoleChange};
use agora_domain::audit::{Action, Actor, AuditEntry, Target};
use agora_domain::audit_log::{AuditFilter, AuditView};
use agora_domain::id::UserId;
use agora_domain::page::PageRequest;
use agora_domain::products::{CatalogChange, ProductEdit, ProductName};

use crate::Repositories;
use crate::run::{assert_fails, pages};
use crate::world::{World, preview};

async fn log(db: &Repositories, filter: AuditFilter) -> Vec<AuditView> {
    pages(3, async |page| db.audit.list(filter, page).await).await
}

async fn entries(db: &Repositories) -> Vec<AuditEntry> {
    log(db, AuditFilter::default()).await.into_iter().rev().map(|view| view.entry).collect()
}

pub async fn each_change_stores_one_entry_and_a_call_without_change_none(db: Repositories) {
    let w = World::new(&db);
    let mut expected = Vec::new();
    let mut act = |has_changed: bool| {
        let entry = w.entry();
        if has_changed {
            expected.push(entry.clone());
        }
        entry
    };
    let bob = w.account("Bob").await.id;
    let change = |action| RoleChange { role: Role::Admin, action };
    for (action, has_changed) in [(RoleAction::Add, true), (RoleAction::Add, false)] {
        db.accounts.change_role(bob, change(action), &act(has_changed)).await.unwrap();
    }
    assert_fails!(db.accounts.set_enabled(bob, false, &act(false)).await, Error::Disallowed(_));
    assert_fails!(db.accounts.change_role(w.id(), change(RoleAction::Add), &act(false)).await, Error::NotFound(_));
    w.admin("Root").await;
    for (enabled, has_changed) in [(true, false), (false, true), (false, false), (true, true)] {
        db.accounts.set_enabled(bob, enabled, &act(has_changed)).await.unwrap();
    }
    db.accounts.change_role(bob, change(RoleAction::Remove), &act(true)).await.unwrap();

    let (verified, new) =
        (db.accounts.find_password(bob).await.unwrap().unwrap(), PasswordHash::new("$new".to_owned()));
    for is_still_the_one in [true, false] {
        let (verified, new, entry) = (verified.clone(), new.clone(), Some(act(is_still_the_one)));
        let change = PasswordChange { user: bob, verified, new, keep: None, at: w.now(), entry };
        assert_eq!(db.accounts.change_password(&change).await.unwrap(), is_still_the_one);
    }
    for has_changed in [true, false] {
        let new = NewAccount { entry: Some(act(has_changed)), ..w.new_account("Made") };
        assert_eq!(db.accounts.create(&new, None).await.is_ok(), has_changed);
    }

    let product = w.new_product("SKU");
    db.products.create(&product, &act(true), None).await.unwrap();
    assert_fails!(db.products.create(&w.new_product("sku"), &act(false), None).await, Error::Conflict(_));
    let edit = ProductEdit { name: ProductName::parse("Another").ok(), ..ProductEdit::default() };
    for has_changed in [true, false] {
        db.products.edit(product.id, &edit, &act(has_changed)).await.unwrap();
    }
    db.products.delete(product.id, &act(true)).await.unwrap();
    assert_fails!(db.products.delete(product.id, &act(false)).await, Error::NotFound(_));

    for is_committed in [false, true] {
        let mut catalog = db.catalog.change().await.unwrap();
        catalog.store(vec![CatalogChange::Create(w.new_product("taken over"))]).await.unwrap();
        if is_committed {
            catalog.commit(Some(act(true))).await.unwrap();
        }
    }
    db.catalog.change().await.unwrap().commit(None).await.unwrap();
    assert_eq!(entries(&db).await, expected);
}

pub async fn entries_are_filtered_by_actor_target_and_action(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await;
    let gone: UserId = w.id();
    let (one, other) = (w.id(), w.id());
    let mut all = Vec::new();
    for actor in [Actor::CommandLine, Actor::Account(ada.id), Actor::Account(gone)] {
        for target in [Target::User(one), Target::Post(other), Target::Catalog] {
            for action in [Action::RoleAdded, Action::PostHidden] {
                let details = (action == Action::PostHidden).then(|| "It's \"so\"\n".to_owned());
                let entry = AuditEntry { actor, target, action, details, ..w.entry() };
                db.products.create(&w.new_product(&entry.id.to_string()), &entry, None).await.unwrap();
                all.push(entry);
            }
        }
    }
    all.reverse();
    let actors = [None, Some(Actor::CommandLine), Some(Actor::Account(ada.id)), Some(Actor::Account(w.id()))];
    for actor in actors {
        for target in [None, Some(one.uuid()), Some(w.id::<UserId>().uuid())] {
            for action in [None, Some(Action::PostHidden), Some(Action::RoleRemoved)] {
                let passes = |entry: &&AuditEntry| {
                    actor.is_none_or(|actor| entry.actor == actor)
                        && target.is_none_or(|target| entry.target.id() == Some(target))
                        && action.is_none_or(|action| entry.action == action)
                };
                let expected = all.iter().filter(passes).cloned().map(|entry| {
                    let actor = (entry.actor == Actor::Account(ada.id)).then(|| preview(&ada));
                    AuditView { entry, actor }
                });
                let filter = AuditFilter { actor, target, action };
                assert_eq!(log(&db, filter).await, expected.collect::<Vec<_>>(), "{filter:?}");
            }
        }
    }
    assert_eq!(db.audit.list(AuditFilter::default(), PageRequest::FIRST).await.unwrap().items.len(), all.len());
}

pub async fn every_action_and_target_is_stored_and_returned(db: Repositories) {
    let w = World::new(&db);
    let targets = [
        Target::User(w.id()),
        Target::Post(w.id()),
        Target::Comment(w.id()),
        Target::Report(w.id()),
        Target::Product(w.id()),
        Target::Catalog,
        Target::Service,
    ];
    let mut expected = Vec::new();
    for (n, action) in Action::ALL.into_iter().enumerate() {
        let entry = AuditEntry { action, target: targets[n % targets.len()], ..w.entry() };
        db.audit.record(&entry).await.unwrap();
        expected.push(entry);
    }
    assert_eq!(entries(&db).await, expected);
}
