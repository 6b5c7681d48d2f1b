use std::sync::Arc;

use uuid::Uuid;

use super::*;
use crate::accounts::{Member, Role, Roles};
use crate::clock::Timestamp;
use crate::error::{Disallowed, Error, Resource};
use crate::fixtures::{clock, ids, member};
use crate::id::{NotificationId, RelationId, UserId};
use crate::idempotency::{Attempt, AttemptId, Outcome};
use crate::notices::{Notice, NotificationKind, Subject};
use crate::page::{Page, PageRequest};
use crate::relation::{NewRelation, Standing};

const ALICE: UserId = UserId::new(Uuid::from_u128(1));
const BOB: UserId = UserId::new(Uuid::from_u128(2));
const ID: Uuid = Uuid::from_u128(10);
const NOW: Timestamp = Timestamp::from_unix_millis(1_000);
/// The relation that is stored when Alice follows Bob, with the notification for Bob.
const RELATION: NewRelation = NewRelation {
    id: RelationId::new(ID),
    at: NOW,
    notice: Some(Notice {
        id: NotificationId::new(ID),
        kind: NotificationKind::Follow,
        recipient: BOB,
        actor: ALICE,
        subject: Subject::Recipient,
        at: NOW,
    }),
};
const ADMIN: Roles = Roles::NONE.with(Role::Admin, true);

fn alice() -> Member {
    member(ALICE, Roles::USER)
}

fn follows(expect: impl FnOnce(&mut MockFollowRepository)) -> Follows {
    let mut follows = MockFollowRepository::new();
    expect(&mut follows);
    Follows { follows: Arc::new(follows), clock: clock(NOW), ids: ids(ID) }
}

#[tokio::test]
async fn a_toggle_returns_whether_the_relation_is_on_now() {
    for on in [true, false] {
        let follows = follows(|follows| {
            follows
                .expect_toggle()
                .once()
                .withf(|follower, followed, relation, _| (*follower, *followed, *relation) == (ALICE, BOB, RELATION))
                .returning(move |_, _, _, _| Ok(on));
        });
        assert_eq!(follows.toggle(&alice(), BOB, Attempt::Unnamed).await.unwrap(), on);
    }
}

#[tokio::test]
async fn a_repeated_toggle_returns_the_first_outcome_and_does_nothing() {
    let attempt = AttemptId::new(Uuid::from_u128(9));
    let first = follows(|follows| {
        let is_part = move |_: &_, _: &_, _: &_, part_of: &_| *part_of == Some(attempt);
        follows.expect_toggle().once().withf(is_part).returning(|_, _, _, _| Ok(true));
    });
    assert!(first.toggle(&alice(), BOB, Attempt::First(attempt)).await.unwrap());
    for on in [true, false] {
        let again = Attempt::Replay(Outcome::FollowToggled(on));
        assert_eq!(follows(|_| ()).toggle(&alice(), BOB, again).await.unwrap(), on);
    }
}

#[tokio::test]
async fn following_and_unfollowing_set_the_relation() {
    let follows = follows(|follows| {
        follows
            .expect_set()
            .once()
            .withf(|follower, followed, relation| (*follower, *followed, *relation) == (ALICE, BOB, RELATION))
            .returning(|_, _, _| Ok(()));
        follows
            .expect_unset()
            .once()
            .withf(|follower, followed| (*follower, *followed) == (ALICE, BOB))
            .returning(|_, _| Ok(()));
    });
    follows.follow(&alice(), BOB).await.unwrap();
    follows.unfollow(&alice(), BOB).await.unwrap();
}

#[tokio::test]
async fn nobody_follows_themselves() {
    let follows = follows(|_| ());
    let refused = [
        follows.toggle(&alice(), ALICE, Attempt::Unnamed).await.map(drop),
        follows.follow(&alice(), ALICE).await,
        follows.unfollow(&alice(), ALICE).await,
    ];
    for (i, refused) in refused.into_iter().enumerate() {
        assert!(matches!(refused, Err(Error::Disallowed(Disallowed::FollowSelf))), "operation {i}");
    }
}

#[tokio::test]
async fn an_unknown_user_cannot_be_followed() {
    let follows = follows(|follows| {
        follows.expect_toggle().returning(|_, _, _, _| Err(Error::NotFound(Resource::User)));
        follows.expect_set().returning(|_, _, _| Err(Error::NotFound(Resource::User)));
        follows.expect_unset().returning(|_, _| Err(Error::NotFound(Resource::User)));
    });
    let refused = [
        follows.toggle(&alice(), BOB, Attempt::Unnamed).await.map(drop),
        follows.follow(&alice(), BOB).await,
        follows.unfollow(&alice(), BOB).await,
    ];
    for (i, refused) in refused.into_iter().enumerate() {
        assert!(matches!(refused, Err(Error::NotFound(Resource::User))), "operation {i}");
    }
}

#[tokio::test]
async fn follow_lists_are_for_the_user_the_followers_and_admin() {
    let page = || Page { items: Vec::new(), keys: vec![], prev: None, next: None };
    for (who, caller, standing, expected) in [
        ("the user", member(BOB, Roles::USER), Some(Standing::Stranger), "shown"),
        ("a follower", member(ALICE, Roles::USER), Some(Standing::Follower), "shown"),
        ("ADMIN", member(ALICE, Roles::ADMIN_AND_USER), Some(Standing::Stranger), "shown"),
        ("ADMIN without USER", member(ALICE, ADMIN), Some(Standing::Stranger), "shown"),
        ("a stranger", member(ALICE, Roles::USER), Some(Standing::Stranger), "forbidden"),
        ("a blocked member", member(ALICE, Roles::USER), Some(Standing::Blocked), "not found"),
        ("blocked ADMIN", member(ALICE, ADMIN), Some(Standing::Blocked), "shown"),
        ("anybody, of an unknown user", member(ALICE, Roles::USER), None, "not found"),
        ("ADMIN, of an unknown user", member(ALICE, ADMIN), None, "not found"),
    ] {
        let shown = usize::from(expected == "shown");
        let follows = follows(|follows| {
            follows
                .expect_find_standing()
                .times(2)
                .withf(move |follower, followed| (*follower, *followed) == (caller.id(), BOB))
                .returning(move |_, _| Ok(standing));
            follows
                .expect_list_followers()
                .times(shown)
                .withf(move |user, by, request| (*user, *by, *request) == (BOB, caller.viewer(), PageRequest::FIRST))
                .returning(move |_, _, _| Ok(page()));
            follows
                .expect_list_followed()
                .times(shown)
                .withf(move |user, by, request| (*user, *by, *request) == (BOB, caller.viewer(), PageRequest::FIRST))
                .returning(move |_, _, _| Ok(page()));
        });
        for list in [
            follows.list_followers(&caller, BOB, PageRequest::FIRST).await,
            follows.list_followed(&caller, BOB, PageRequest::FIRST).await,
        ] {
            let outcome = match list {
                Ok(_) => "shown",
                Err(Error::Forbidden(_)) => "forbidden",
                Err(Error::NotFound(Resource::User)) => "not found",
                Err(other) => panic!("{who}: {other:?}"),
            };
            assert_eq!(outcome, expected, "{who}");
        }
    }
}
