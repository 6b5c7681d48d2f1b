//! Fixtures that the tests of accounts share.

mod guessing;
mod passwords;
mod registration;
mod roles;
mod sessions;

use std::sync::Arc;

use uuid::Uuid;

use super::*;
use crate::clock::{MockClock, Timestamp};
use crate::error::{Disallowed, Error, FieldErrors, FieldName, Result, Violation, ViolationKind};
use crate::fixtures;
use crate::id::{MockIdGenerator, SessionId, UserId};
use crate::limits::tests::CountersInMemory;
use crate::limits::{ClientAddress, Counted, Counters, Limits, Requester};
use crate::media::{ImagePorts, MockImageCleaner, MockImageStore, MockUnreferencedImages};

const ALICE: UserId = UserId::new(Uuid::from_u128(1));
const BOB: UserId = UserId::new(Uuid::from_u128(2));
const SESSION: SessionId = SessionId::new(Uuid::from_u128(3));
const NEW_ID: Uuid = Uuid::from_u128(4);
const OPENED: Timestamp = Timestamp::from_unix_millis(1_000);
const NOW: Timestamp = Timestamp::from_unix_millis(5_000);
const ADMIN: Roles = Roles::NONE.with(Role::Admin, true);

fn alice(roles: Roles) -> Caller {
    Caller { user: ALICE, session: Session { id: SESSION, user: ALICE, opened_at: OPENED }, roles }
}

fn member() -> Member {
    alice(Roles::USER).member().unwrap()
}

fn account(roles: Roles, enabled: bool) -> Account {
    Account { roles, enabled, ..fixtures::account(BOB, "Bob") }
}

fn hash(notation: &str) -> PasswordHash {
    PasswordHash::new(notation.to_owned())
}

/// Returns the address of the caller.
fn client() -> ClientAddress {
    ClientAddress::of(std::net::Ipv4Addr::LOCALHOST.into())
}

fn elsewhere() -> ClientAddress {
    ClientAddress::of(std::net::Ipv4Addr::new(192, 0, 2, 1).into())
}

/// Returns Alice, calling from [`client`], as the requester of expensive work.
fn requester() -> Requester {
    Requester { account: Some(ALICE), address: client() }
}

/// How long tokens are valid.
const LIFETIME: TokenLifetime = TokenLifetime::of_millis(60_000);

/// The mocked ports; a call that is not expected fails the test. The time is `NOW`, and every new id `NEW_ID`.
#[derive(Default)]
struct Ports {
    accounts: MockAccountRepository,
    sessions: MockSessionRepository,
    passwords: MockPasswordHasher,
    counters: Arc<CountersInMemory>,
    tokens: MockTokenIssuer,
    cleaner: MockImageCleaner,
    images: MockImageStore,
    unreferenced: MockUnreferencedImages,
}

impl Ports {
    fn authentication_at(self, now: Timestamp) -> Authentication {
        Authentication {
            checks: PasswordChecks {
                accounts: Arc::new(self.accounts),
                passwords: Arc::new(self.passwords),
                limits: Limits { counters: self.counters as Arc<dyn Counters>, clock: Arc::new(clock(now)) },
            },
            sessions: Arc::new(self.sessions),
            tokens: Arc::new(self.tokens),
            token_lifetime: LIFETIME,
            clock: Arc::new(clock(now)),
            ids: Arc::new(ids()),
        }
    }

    fn authentication(self) -> Authentication {
        self.authentication_at(NOW)
    }

    fn accounts(self) -> Accounts {
        Accounts::new(
            Arc::new(self.accounts),
            Arc::new(self.sessions),
            Arc::new(self.passwords),
            ImagePorts {
                cleaner: Arc::new(self.cleaner),
                store: Arc::new(self.images),
                unreferenced: Arc::new(self.unreferenced),
            },
            LIFETIME,
            Arc::new(clock(NOW)),
            Arc::new(ids()),
        )
    }
}

fn clock(now: Timestamp) -> MockClock {
    let mut clock = MockClock::new();
    clock.expect_now().return_const(now);
    clock
}

fn ids() -> MockIdGenerator {
    let mut ids = MockIdGenerator::new();
    ids.expect_generate().return_const(NEW_ID);
    ids
}

fn attempt(identifier: &str, password: &str) -> Login {
    let identifier = LoginIdentifier::parse(identifier).unwrap();
    Login { identifier, password: PasswordAttempt::parse(password).unwrap(), user_agent: UserAgent::of("a client") }
}

fn listed(errors: &FieldErrors) -> Vec<(FieldName, String)> {
    let text = |violations: &[Violation]| violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    errors.iter().map(|(field, violations)| (field, text(violations))).collect()
}

/// Returns the invalid fields that a use case reports.
fn invalid<T>(result: Result<T>) -> Vec<(FieldName, String)> {
    match result {
        Err(Error::Invalid(errors)) => listed(&errors),
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("valid"),
    }
}
