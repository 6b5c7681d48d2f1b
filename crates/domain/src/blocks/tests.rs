use std::sync::Arc;

use mockall::predicate::eq;
use uuid::Uuid;

use super::*;
use crate::accounts::{Member, Role, Roles};
use crate::clock::Timestamp;
use crate::error::{Disallowed, Error, Resource, Result};
use crate::fixtures::{clock, ids, member, person};
use crate::id::{RelationId, UserId};
use crate::page::{Keyset, Page, PageRequest};
use crate::people::{MockPeopleRepository, Person, Relationship};

const ALICE: UserId = UserId::new(Uuid::from_u128(1));
const BOB: UserId = UserId::new(Uuid::from_u128(2));
const ID: RelationId = RelationId::new(Uuid::from_u128(9));
const NOW: Timestamp = Timestamp::from_unix_millis(7);

fn alice(roles: Roles) -> Member {
    member(ALICE, roles)
}

fn bob() -> Person {
    person(BOB, "bob")
}

/// Returns situations of Alice and Bob: the name of each, Bob as the repository finds him, and whether he is there for Alice.
fn worlds() -> [(&'static str, Option<Person>, bool); 5] {
    let blocking = Relationship { blocking: true, ..Relationship::default() };
    [
        ("strangers", Some(bob()), true),
        ("Alice blocks Bob", Some(Person { relationship: blocking, ..bob() }), true),
        ("Bob blocks Alice", Some(Person { blocks_viewer: true, ..bob() }), false),
        ("Bob is disabled", Some(Person { enabled: false, ..bob() }), true),
        ("there is no Bob", None, false),
    ]
}

fn blocks(found: Option<Person>, expect: impl FnOnce(&mut MockBlockRepository)) -> Blocks {
    let (mut blocks, mut people) = (MockBlockRepository::new(), MockPeopleRepository::new());
    expect(&mut blocks);
    people.expect_find().with(eq(BOB), eq(ALICE)).returning(move |_, _| Ok(found.clone()));
    let (clock, ids) = (clock(NOW), ids(ID.uuid()));
    Blocks { blocks: Arc::new(blocks), people: Arc::new(people), clock, ids }
}

fn is_done(outcome: Result<()>) -> bool {
    match outcome {
        Ok(()) => true,
        Err(Error::NotFound(Resource::User)) => false,
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn a_mute_lasts_1_to_8760_hours() {
    for (hours, expected) in [(0, None), (1, Some(3_600_007)), (8_760, Some(31_536_000_007)), (8_761, None), (-1, None)]
    {
        let ends = MuteHours::parse(hours).ok().map(|hours| hours.after(NOW).unix_millis());
        assert_eq!(ends, expected, "{hours}");
    }
}

#[tokio::test]
async fn nobody_blocks_or_mutes_themselves() {
    let (blocks, caller) = (blocks(None, |_| ()), alice(Roles::USER));
    for outcome in [
        blocks.block(&caller, ALICE).await,
        blocks.unblock(&caller, ALICE).await,
        blocks.to_mute(&caller, ALICE).await.map(drop),
        blocks.unmute(&caller, ALICE).await,
    ] {
        assert!(matches!(outcome, Err(Error::Disallowed(Disallowed::BlockSelf | Disallowed::MuteSelf))));
    }
}

#[tokio::test]
async fn blocking_does_not_depend_on_whether_the_user_is_there_for_the_caller() {
    let blocks = blocks(None, |blocks| {
        let new = NewBlock { id: ID, at: NOW };
        blocks.expect_block().with(eq(ALICE), eq(BOB), eq(new)).once().returning(|_, _, _| Ok(()));
    });
    blocks.block(&alice(Roles::USER), BOB).await.unwrap();
}

#[tokio::test]
async fn a_user_who_is_there_for_the_caller_can_be_muted_for_hours_or_for_good() {
    for (hours, until) in [(None, None), (Some(2), Some(Timestamp::from_unix_millis(7_200_007)))] {
        for (world, found, is_there) in worlds() {
            let blocks = blocks(found, |blocks| {
                let new = NewMute { id: ID, at: NOW, until };
                let mute = blocks.expect_mute().with(eq(ALICE), eq(BOB), eq(new));
                mute.times(usize::from(is_there)).returning(|_, _, _| Ok(()));
            });
            let hours = hours.map(|hours| MuteHours::parse(hours).unwrap());
            let muted = match blocks.to_mute(&alice(Roles::USER), BOB).await {
                Ok(bob) => blocks.mute(bob, hours).await,
                Err(error) => Err(error),
            };
            assert_eq!(is_done(muted), is_there, "{world}");
        }
    }
}

#[tokio::test]
async fn unblocking_and_unmuting_succeed_if_there_was_a_block_or_mute_or_the_user_is_there() {
    for existed in [false, true] {
        for (world, found, is_there) in worlds() {
            let blocks = blocks(found, |blocks| {
                blocks.expect_unblock().with(eq(ALICE), eq(BOB)).once().returning(move |_, _| Ok(existed));
                blocks.expect_unmute().with(eq(ALICE), eq(BOB)).once().returning(move |_, _| Ok(existed));
            });
            let caller = alice(Roles::USER);
            assert_eq!(is_done(blocks.unblock(&caller, BOB).await), existed || is_there, "{world}");
            assert_eq!(is_done(blocks.unmute(&caller, BOB).await), existed || is_there, "{world}");
        }
    }
}

#[tokio::test]
async fn the_list_of_blocks_has_also_users_who_block_the_caller_and_counts_no_posts() {
    let blocking = Relationship { blocking: true, ..Relationship::default() };
    let both = Person { relationship: blocking, blocks_viewer: true, ..bob() };
    let blocks = blocks(None, |blocks| {
        blocks.expect_list_blocked().withf(|viewer, _| viewer.id == ALICE && !viewer.sees_all).once().returning(
            move |_, _| {
                let keys = vec![Keyset { at: NOW, id: ID.uuid() }];
                Ok(Page { items: vec![both.clone()], keys, prev: None, next: None })
            },
        );
    });
    let listed = blocks.list_blocked(&alice(Roles::USER), PageRequest::FIRST).await.unwrap();
    assert_eq!(listed.items.iter().map(|profile| (profile.id, profile.post_count)).collect::<Vec<_>>(), [(BOB, 0)]);
    assert_eq!(listed.items[0].relationship, Some(blocking));
}

#[tokio::test]
async fn the_list_of_mutes_has_their_ends() {
    let until = Some(Timestamp::from_unix_millis(99));
    let blocks = blocks(None, |blocks| {
        blocks.expect_list_muted().once().returning(move |_, _| {
            let keys = vec![Keyset { at: NOW, id: ID.uuid() }];
            Ok(Page { items: vec![(bob(), until)], keys, prev: None, next: None })
        });
    });
    let listed = blocks.list_muted(&alice(Roles::NONE.with(Role::Admin, true)), PageRequest::FIRST).await.unwrap();
    assert_eq!(listed.items.iter().map(|muted| (muted.profile.id, muted.until)).collect::<Vec<_>>(), [(BOB, until)]);
}

#[tokio::test]
async fn mutes_that_have_ended_are_removed_until_none_is_left() {
    let mut blocks = MockBlockRepository::new();
    blocks.expect_end_mutes().with(eq(NOW)).times(2).returning(|_| Ok(100));
    blocks.expect_end_mutes().with(eq(NOW)).once().returning(|_| Ok(0));
    MuteExpiry { blocks: Arc::new(blocks), clock: clock(NOW) }.run().await.unwrap();
}
