//! The rules of deletion.

use std::sync::Arc;

use mockall::predicate::eq;
use uuid::Uuid;

use super::*;
use crate::accounts::{
    Account, Caller, ConfirmedPassword, MockAccountRepository, MockPasswordHasher, MockSessionRepository,
    PasswordAttempt, PasswordChecks, PasswordHash, Role, Roles,
};
use crate::clock::Timestamp;
use crate::error::{Disallowed, Error, FieldName};
use crate::fixtures::{account, caller, clock};
use crate::id::UserId;
use crate::limits::tests::CountersInMemory;
use crate::limits::{ClientAddress, Limits};
use crate::media::{ImageFormat, ImageKey, ImagePorts, MockImageCleaner, MockImageStore, MockUnreferencedImages};

const ALICE: UserId = UserId::new(Uuid::from_u128(1));
const NOW: Timestamp = Timestamp::from_unix_millis(5_000);

fn client() -> ClientAddress {
    ClientAddress::of(std::net::Ipv4Addr::new(192, 0, 2, 1).into())
}

/// Alice, who needs no role.
fn alice() -> Caller {
    caller(ALICE, Roles::NONE)
}

/// Ports of images that expect exactly these to be deleted.
fn images(dropped: &[ImageKey]) -> ImagePorts {
    let (mut store, mut unreferenced) = (MockImageStore::new(), MockUnreferencedImages::new());
    for key in dropped {
        store.expect_delete().once().with(eq(key.clone())).returning(|_| Ok(()));
    }
    unreferenced.expect_forget().times(dropped.len()).returning(|_| Ok(()));
    ImagePorts {
        cleaner: Arc::new(MockImageCleaner::new()),
        store: Arc::new(store),
        unreferenced: Arc::new(unreferenced),
    }
}

/// The use case with "right" as the password of every account; it expects exactly these images to be deleted.
fn deletion(deletions: MockDeletionRepository, sessions: MockSessionRepository, dropped: &[ImageKey]) -> Deletion {
    let (mut accounts, mut passwords) = (MockAccountRepository::new(), MockPasswordHasher::new());
    accounts.expect_find_password().returning(|_| Ok(Some(PasswordHash::new("hash".to_owned()))));
    passwords.expect_verify().returning(|attempt, _, _| Ok(attempt.expose() == "right"));
    let checks = PasswordChecks {
        accounts: Arc::new(accounts),
        passwords: Arc::new(passwords),
        limits: Limits { counters: Arc::new(CountersInMemory::default()), clock: clock(NOW) },
    };
    Deletion::new(Arc::new(deletions), Arc::new(sessions), checks, images(dropped), clock(NOW))
}

fn attempt(password: &str) -> PasswordAttempt {
    PasswordAttempt::parse(password).unwrap()
}

fn image(n: u128) -> ImageKey {
    ImageKey::parse(&format!("{n:032x}.{}", ImageFormat::Png.extension())).unwrap()
}

#[tokio::test]
async fn the_right_password_deletes_the_account_and_invalidates_cached_sessions() {
    let (mut deletions, mut sessions) = (MockDeletionRepository::new(), MockSessionRepository::new());
    let confirmed = ConfirmedPassword { user: ALICE, password: PasswordHash::new("hash".to_owned()) };
    deletions.expect_delete().once().with(eq(confirmed), eq(NOW)).returning(|_, _| Ok(Some(image(1))));
    sessions.expect_invalidate_account().once().with(eq(ALICE)).return_const(());
    let deletion = deletion(deletions, sessions, &[image(1)]);
    deletion.delete(&alice(), client(), &attempt("right")).await.unwrap();
}

#[tokio::test]
async fn a_deletion_is_repeated_once_if_the_hash_of_the_password_was_replaced_meanwhile() {
    for is_replaced_twice in [false, true] {
        let (mut deletions, mut sessions) = (MockDeletionRepository::new(), MockSessionRepository::new());
        deletions.expect_delete().once().returning(|_, _| Err(Error::Stale));
        let outcome = move |_: &_, _| if is_replaced_twice { Err(Error::Stale) } else { Ok(None) };
        deletions.expect_delete().once().returning(outcome);
        sessions.expect_invalidate_account().times(2).return_const(());
        match deletion(deletions, sessions, &[]).delete(&alice(), client(), &attempt("right")).await {
            Ok(()) => assert!(!is_replaced_twice),
            Err(Error::Invalid(fields)) => assert!(is_replaced_twice && fields.contains(FieldName::CurrentPassword)),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_wrong_password_deletes_nothing_and_attempts_are_limited() {
    let deletion = deletion(MockDeletionRepository::new(), MockSessionRepository::new(), &[]);
    for n in 0..20 {
        match deletion.delete(&alice(), client(), &attempt("wrong")).await {
            Err(Error::Invalid(fields)) if n < 10 => assert!(fields.contains(FieldName::CurrentPassword)),
            Err(Error::TooMany(_)) if n >= 10 => {}
            other => panic!("{n}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn erasing_posts_returns_their_images_to_be_deleted() {
    let mut deletions = MockDeletionRepository::new();
    let [from, next] = [2, 3].map(|step| ErasurePosition { step, after: None });
    let erased = Erased { count: 3, images: vec![image(1), image(2)], next, is_done: false };
    let found = erased.clone();
    deletions.expect_erase().once().with(eq(ALICE), eq(from), eq(NOW)).return_once(|_, _, _| Ok(found));
    let erasure = Erasure::new(Arc::new(deletions), images(&[image(1), image(2)]), clock(NOW));
    assert_eq!(erasure.erase(ALICE, from).await.unwrap(), erased);
    assert!(erasure.delete_images(erased.images).await);

    let mut store = MockImageStore::new();
    store.expect_delete().times(2).returning(|key| match *key == image(1) {
        true => Err(Error::unavailable("no answer")),
        false => Ok(()),
    });
    let mut unreferenced = MockUnreferencedImages::new();
    unreferenced.expect_forget().once().with(eq([image(2)])).returning(|_| Ok(()));
    let ports = ImagePorts { store: Arc::new(store), unreferenced: Arc::new(unreferenced), ..images(&[]) };
    let erasure = Erasure::new(Arc::new(MockDeletionRepository::new()), ports, clock(NOW));
    assert!(!erasure.delete_images(vec![image(1), image(2)]).await);
}

#[test]
fn the_last_enabled_admin_cannot_be_deleted() {
    let of = |role: Option<Role>, enabled| {
        let roles = role.map_or(Roles::NONE, |role| Roles::NONE.with(role, true));
        Account { roles, enabled, ..account(ALICE, "Alice") }
    };
    for (role, enabled, others, may) in [
        (Some(Role::Admin), true, 0, false),
        (Some(Role::Admin), true, 1, true),
        (Some(Role::Admin), false, 0, true),
        (Some(Role::User), true, 0, true),
        (None, true, 0, true),
    ] {
        let checked = of(role, enabled).ensure_deletable(others);
        assert_eq!(checked.is_ok(), may, "{role:?} {enabled} {others}");
        if let Err(error) = checked {
            assert!(matches!(error, Error::Disallowed(Disallowed::LastAdmin)), "{error:?}");
        }
    }
}
