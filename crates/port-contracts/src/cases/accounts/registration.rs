//! Creating accounts and finding them.

use agora_domain::Error;
use agora_domain::accounts::{Credentials, LoginIdentifier, PasswordHash, Roles};
use agora_domain::clock::Timestamp;
use agora_domain::error::Conflict;
use agora_domain::id::UserId;
use agora_domain::page::PageRequest;

use crate::Repositories;
use crate::run::{assert_fails, concurrently};
use crate::world::{INSTANTS, ODD_TEXTS, World, biography, email, picture_key, username};

/// Pairs of spellings that count as the same name.
const SAME: [(&str, &str); 5] =
    [("Alice", "aLICE"), ("ÉMILE", "émile"), ("ОЛЬГА", "ольга"), ("STRASSE", "straße"), ("ΟΔΥΣΣΕΥΣ", "οδυσσευς")];

fn identifier(text: &str) -> LoginIdentifier {
    LoginIdentifier::parse(text).unwrap()
}

pub async fn an_account_is_found_with_every_field_it_was_created_with(db: Repositories) {
    let w = World::new(&db);
    let full = w.new_account_with("Ada", |account| {
        account.biography = biography("Counts.\n\nAnd writes.");
        account.profile_picture = Some(w.new_picture());
        account.roles = Roles::ADMIN_AND_USER;
    });
    let bare = w.new_account_with("Bob", |account| {
        account.roles = Roles::NONE;
        account.enabled = false;
    });
    let usual = w.new_account("Cleo");
    for new in [full, bare, usual] {
        w.announce(picture_key(&new.account).as_ref()).await;
        db.accounts.create(&new, None).await.unwrap();
        assert_eq!(db.accounts.find(new.account.id).await.unwrap(), Some(new.account));
    }
}

pub async fn an_unknown_account_is_not_found(db: Repositories) {
    let w = World::new(&db);
    w.account("Ada").await;
    let nobody: UserId = w.id();
    assert_eq!(db.accounts.find(nobody).await.unwrap(), None);
    assert_eq!(db.accounts.find_password(nobody).await.unwrap(), None);
    for name in [identifier("Nobody"), identifier("nobody@example.org")] {
        assert_eq!(db.accounts.find_id(&name).await.unwrap(), None);
        assert!(db.accounts.find_credentials(&name).await.unwrap().is_none());
    }
}

pub async fn the_time_of_registration_is_stored_to_the_millisecond(db: Repositories) {
    let w = World::new(&db);
    for millis in INSTANTS {
        let at = Timestamp::from_unix_millis(millis);
        let account = w.account_with(&format!("Born {millis}"), |account| account.created_at = at).await;
        assert_eq!(db.accounts.find(account.id).await.unwrap().unwrap().created_at, at);
    }
}

pub async fn unusual_account_texts_are_stored_exactly(db: Repositories) {
    let w = World::new(&db);
    for text in ODD_TEXTS {
        let mut new = w.new_account_with(text, |account| account.biography = biography(&format!("{text}\r\n\t{text}")));
        new.password = PasswordHash::new(text.to_owned());
        db.accounts.create(&new, None).await.unwrap();
        let id = new.account.id;
        assert_eq!(db.accounts.find_password(id).await.unwrap(), Some(new.password));
        assert_eq!(db.accounts.find_id(&identifier(text)).await.unwrap(), Some(id));
        assert_eq!(db.accounts.find(id).await.unwrap(), Some(new.account));
    }
    for address in ["o'brien+%_tag@example.org", "!#$&*/=?^`{|}~-@example.org", "пётр@example.org"] {
        let account = w.account_with(address.trim_end_matches("@example.org"), |new| new.email = email(address)).await;
        assert_eq!(db.accounts.find_id(&identifier(address)).await.unwrap(), Some(account.id));
        assert_eq!(db.accounts.find(account.id).await.unwrap(), Some(account));
    }
}

pub async fn usernames_are_unique_in_any_letter_case(db: Repositories) {
    let w = World::new(&db);
    // Composed and decomposed accents are equal as well.
    for (one, other) in SAME.into_iter().chain([("Zoe\u{301}", "ZOÉ")]) {
        w.account(one).await;
        for name in [one, other] {
            assert_fails!(db.accounts.create(&w.new_account(name), None).await, Error::Conflict(Conflict::Username));
        }
    }
}

pub async fn email_addresses_are_unique_in_any_letter_case(db: Repositories) {
    let w = World::new(&db);
    for (n, (one, other)) in SAME.into_iter().enumerate() {
        let one = email(&format!("{one}@example.org"));
        w.account_with(&format!("first {n}"), |account| account.email = one.clone()).await;
        for taken in [one, email(&format!("{other}@EXAMPLE.org"))] {
            let late = w.new_account_with(&format!("late {n}"), |account| account.email = taken);
            assert_fails!(db.accounts.create(&late, None).await, Error::Conflict(Conflict::Email));
        }
    }
}

pub async fn names_that_differ_in_more_than_letter_case_are_available(db: Repositories) {
    let w = World::new(&db);
    for name in ["emile", "émile", "emilé", "emile ii", "emil", "emile_", "emile%"] {
        w.account(name).await;
    }
}

pub async fn when_name_and_email_are_both_taken_one_conflict_is_returned(db: Repositories) {
    let w = World::new(&db);
    let taken = w.account("Ada").await;
    let same = w.new_account_with("ADA", |account| account.email = taken.email);
    assert_fails!(db.accounts.create(&same, None).await, Error::Conflict(Conflict::Username | Conflict::Email));
    let bob = w.account("Bob").await;
    let mixed = w.new_account_with("ada", |account| account.email = bob.email);
    assert_fails!(db.accounts.create(&mixed, None).await, Error::Conflict(Conflict::Username | Conflict::Email));
}

pub async fn a_failed_registration_stores_nothing(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await;
    let by_name = w.new_account("ada");
    let by_email = w.new_account_with("Bob", |account| account.email = ada.email.clone());
    for refused in [&by_name, &by_email] {
        assert_fails!(db.accounts.create(refused, None).await, Error::Conflict(_));
        assert_eq!(db.accounts.find(refused.account.id).await.unwrap(), None);
    }
    assert_eq!(db.accounts.list(PageRequest::FIRST).await.unwrap().items, [ada]);
    w.account_with("Bob", |account| account.email = by_name.account.email).await;
}

pub async fn concurrent_registrations_of_one_name_succeed_once(db: Repositories) {
    let w = World::new(&db);
    let outcomes = concurrently((0..50).map(|n| {
        let (db, new) = (db.clone(), w.new_account(if n % 2 == 0 { "Émile" } else { "éMILE" }));
        async move { db.accounts.create(&new, None).await }
    }))
    .await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    for refused in outcomes.into_iter().filter(Result::is_err) {
        assert_fails!(refused, Error::Conflict(Conflict::Username));
    }
    assert_eq!(db.accounts.list(PageRequest::FIRST).await.unwrap().items.len(), 1);
}

pub async fn concurrent_registrations_of_one_email_succeed_once(db: Repositories) {
    let w = World::new(&db);
    let outcomes = concurrently((0..50).map(|n| {
        let address = email(if n % 2 == 0 { "Émile@example.org" } else { "éMILE@Example.ORG" });
        let (db, new) = (db.clone(), w.new_account_with(&format!("user {n}"), |account| account.email = address));
        async move { db.accounts.create(&new, None).await }
    }))
    .await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    for refused in outcomes.into_iter().filter(Result::is_err) {
        assert_fails!(refused, Error::Conflict(Conflict::Email));
    }
    assert_eq!(db.accounts.list(PageRequest::FIRST).await.unwrap().items.len(), 1);
}

pub async fn an_account_is_found_by_name_and_email_in_any_letter_case(db: Repositories) {
    let w = World::new(&db);
    for (one, other) in SAME {
        let new = w.new_account_with(one, |account| account.email = email(&format!("{one}@example.org")));
        db.accounts.create(&new, None).await.unwrap();
        let id = new.account.id;
        for text in [one, other, &format!("{one}@example.org"), &format!("{other}@EXAMPLE.ORG")] {
            let name = identifier(text);
            assert_eq!(db.accounts.find_id(&name).await.unwrap(), Some(id), "{text}");
            let Credentials { user, password, enabled } = db.accounts.find_credentials(&name).await.unwrap().unwrap();
            assert_eq!((user, password, enabled), (id, new.password.clone(), true), "{text}");
        }
        assert_eq!(db.accounts.find_password(id).await.unwrap(), Some(new.password));
    }
}

pub async fn the_ids_of_existing_names_are_found(db: Repositories) {
    let w = World::new(&db);
    let (ada, bob) = (w.account("Ada Ünïcode").await, w.account("bob").await);
    let cleo = w.account("cleo").await.id;
    let keys = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    for (asked, expected) in [
        (keys(&[]), vec![]),
        (keys(&["nobody", "%", "bo"]), vec![]),
        (keys(&["bob", "nobody", "ada ünïcode"]), vec![(ada.username.key(), ada.id), (bob.username.key(), bob.id)]),
    ] {
        assert_eq!(db.accounts.find_ids(&asked, cleo).await.unwrap(), expected.into_iter().collect());
    }
    let many: Vec<_> = (0..999).map(|n| format!("somebody{n}")).chain(["bob".to_owned()]).collect();
    assert_eq!(db.accounts.find_ids(&many, cleo).await.unwrap().len(), 1);
}

pub async fn an_identifier_matches_only_the_whole_username_or_email(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account_with("Ada", |account| account.email = email("ada@example.org")).await;
    w.account("Bob").await;
    let others = [
        LoginIdentifier::Username(ada.email.key()),
        LoginIdentifier::Email(ada.username.key()),
        identifier("Ad"),
        identifier("Ada L"),
        identifier("%"),
        identifier("_da"),
        identifier("A%"),
        identifier("%@example.org"),
        identifier("*"),
        identifier("' OR 1=1 --"),
    ];
    for name in others {
        assert_eq!(db.accounts.find_id(&name).await.unwrap(), None, "{name:?}");
        assert!(db.accounts.find_credentials(&name).await.unwrap().is_none(), "{name:?}");
    }
    assert_eq!(db.accounts.find_id(&LoginIdentifier::Username(username("ADA").key())).await.unwrap(), Some(ada.id));
}

pub async fn credentials_include_whether_the_account_is_enabled(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await;
    for enabled in [false, true] {
        db.accounts.set_enabled(ada.id, enabled, &w.entry()).await.unwrap();
        let found = db.accounts.find_credentials(&identifier("ada")).await.unwrap().unwrap();
        assert_eq!((found.user, found.enabled), (ada.id, enabled));
    }
}
