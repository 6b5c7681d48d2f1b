//! Fixtures that the tests of several features share.

use std::sync::Arc;

use uuid::Uuid;

use crate::accounts::{Account, Caller, Email, Member, Privacy, Roles, Session, Username};
use crate::clock::{MockClock, Timestamp};
use crate::id::{MockIdGenerator, SessionId, UserId};
use crate::people::{Person, PostCounts, Relationship};

/// Returns a clock that always shows `now`.
pub(crate) fn clock(now: Timestamp) -> Arc<MockClock> {
    let mut clock = MockClock::new();
    clock.expect_now().return_const(now);
    Arc::new(clock)
}

/// Returns a generator that always returns `id`.
pub(crate) fn ids(id: Uuid) -> Arc<MockIdGenerator> {
    let mut ids = MockIdGenerator::new();
    ids.expect_generate().return_const(id);
    Arc::new(ids)
}

/// Returns a caller with these roles.
pub(crate) fn caller(user: UserId, roles: Roles) -> Caller {
    let session = Session { id: SessionId::new(Uuid::nil()), user, opened_at: Timestamp::from_unix_millis(0) };
    Caller { user, session, roles }
}

/// Returns a member with these roles, of which there must be at least one.
pub(crate) fn member(user: UserId, roles: Roles) -> Member {
    caller(user, roles).member().unwrap()
}

/// Returns an enabled account with USER, whose address is not verified.
pub(crate) fn account(id: UserId, username: &str) -> Account {
    Account {
        id,
        username: Username::parse(username).unwrap(),
        email: Email::parse(&format!("{}@example.com", username.to_lowercase())).unwrap(),
        display_name: None,
        biography: None,
        profile_picture: None,
        privacy: Privacy::default(),
        roles: Roles::USER,
        enabled: true,
        email_verified: false,
        created_at: Timestamp::from_unix_millis(0),
    }
}

/// Returns a user as others see them, without any relationship to the viewer.
pub(crate) fn person(id: UserId, username: &str) -> Person {
    Person {
        id,
        username: Username::parse(username).unwrap(),
        display_name: None,
        biography: None,
        profile_picture: None,
        created_at: Timestamp::from_unix_millis(5),
        enabled: true,
        discoverable: true,
        hide_counts: false,
        posts: PostCounts { public: 1, followers: 10, private: 100 },
        follower_count: 7,
        followed_count: 8,
        relationship: Relationship::default(),
        blocks_viewer: false,
    }
}
