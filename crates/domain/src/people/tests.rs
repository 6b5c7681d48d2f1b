use std::sync::Arc;

use uuid::Uuid;

use super::*;
use crate::accounts::{Member, Role, Roles, Username, Viewer};
use crate::error::{Error, Forbidden, Resource, ViolationKind};
use crate::fixtures::{member, person};
use crate::follows::MockFollowRepository;
use crate::id::UserId;
use crate::page::{Keyset, Page, PageRequest};
use crate::relation::Standing;

const ALICE: UserId = UserId::new(Uuid::from_u128(1));
const BOB: UserId = UserId::new(Uuid::from_u128(2));
const CAROL: UserId = UserId::new(Uuid::from_u128(3));
const ADMIN: Roles = Roles::NONE.with(Role::Admin, true);

fn alice() -> Member {
    member(ALICE, Roles::USER)
}

fn somebody(id: UserId) -> Person {
    person(id, "somebody")
}

fn following(id: UserId) -> Person {
    Person { relationship: Relationship { following: true, ..Relationship::default() }, ..somebody(id) }
}

fn page(people: Vec<Person>) -> Page<Person> {
    let keys = people.iter().map(|person| Keyset { at: person.created_at, id: person.id.uuid() }).collect();
    Page { items: people, keys, prev: None, next: None }
}

fn people(expect: impl FnOnce(&mut MockPeopleRepository, &mut MockFollowRepository)) -> People {
    let (mut people, mut follows) = (MockPeopleRepository::new(), MockFollowRepository::new());
    expect(&mut people, &mut follows);
    People { people: Arc::new(people), follows: Arc::new(follows) }
}

#[test]
fn the_post_count_has_only_posts_that_the_viewer_may_view() {
    for (who, viewer, person, expected) in [
        ("a stranger", alice(), somebody(BOB), 1),
        ("a follower", alice(), following(BOB), 11),
        ("the user", alice(), somebody(ALICE), 111),
        ("ADMIN", member(ALICE, ADMIN), somebody(BOB), 111),
    ] {
        assert_eq!(person.seen_by(&viewer).unwrap().post_count, expected, "{who}");
    }
}

#[test]
fn hidden_counts_are_shown_to_the_user_and_admin_only() {
    let hidden = |person| Person { hide_counts: true, ..person };
    for (who, viewer, person, is_told) in [
        ("a stranger, not hidden", alice(), somebody(BOB), true),
        ("a stranger", alice(), hidden(somebody(BOB)), false),
        ("a follower", alice(), hidden(following(BOB)), false),
        ("the user", alice(), hidden(somebody(ALICE)), true),
        ("ADMIN", member(ALICE, ADMIN), hidden(somebody(BOB)), true),
    ] {
        let profile = person.seen_by(&viewer).unwrap();
        let expected = if is_told { (Some(7), Some(8)) } else { (None, None) };
        assert_eq!((profile.follower_count, profile.followed_count), expected, "{who}");
    }
}

#[test]
fn a_profile_has_no_relationship_to_oneself() {
    assert_eq!(somebody(ALICE).seen_by(&alice()).unwrap().relationship, None);
    let relationship = Relationship { following: true, followed_by: true, ..Relationship::default() };
    let bob = Person { relationship, ..somebody(BOB) };
    assert_eq!(bob.seen_by(&alice()).unwrap().relationship, Some(relationship));
}

#[tokio::test]
async fn a_profile_is_found_unless_its_account_is_disabled_or_unknown() {
    let disabled = || Person { enabled: false, ..somebody(BOB) };
    for (who, viewer, found, is_shown) in [
        ("anybody", alice(), Some(somebody(BOB)), true),
        ("anybody, of a disabled account", alice(), Some(disabled()), false),
        ("ADMIN, of a disabled account", member(ALICE, ADMIN), Some(disabled()), true),
        ("ADMIN, of an unknown account", member(ALICE, ADMIN), None, false),
    ] {
        let name = Username::parse("Somebody").unwrap();
        let service = people(|people, _| {
            let (by_id, by_name) = (found.clone(), found.clone());
            people.expect_find().withf(|id, viewer| (*id, *viewer) == (BOB, ALICE)).return_once(|_, _| Ok(by_id));
            people
                .expect_find_by_username()
                .withf(|name, viewer| (name.as_str(), *viewer) == ("Somebody", ALICE))
                .return_once(|_, _| Ok(by_name));
        });
        for answer in [service.get(&viewer, BOB).await, service.get_by_username(&viewer, &name).await] {
            match answer {
                Ok(profile) => assert!(is_shown && profile.id == BOB, "{who}"),
                Err(error) => {
                    assert!(!is_shown && matches!(error, Error::NotFound(Resource::User)), "{who}: {error:?}")
                }
            }
        }
    }
}

#[tokio::test]
async fn profiles_come_in_the_order_of_the_request_without_those_that_are_not_found() {
    let unknown = UserId::new(Uuid::from_u128(9));
    for (viewer, expected) in [(alice(), vec![CAROL, ALICE]), (member(ALICE, ADMIN), vec![CAROL, BOB, ALICE])] {
        let service = people(|people, _| {
            people.expect_find_all().once().withf(move |ids, _| ids == [CAROL, unknown, BOB, ALICE]).returning(
                |_, _| Ok(vec![somebody(ALICE), Person { enabled: false, ..somebody(BOB) }, somebody(CAROL)]),
            );
        });
        let ids = UserIds::parse(vec![CAROL, unknown, BOB, CAROL, ALICE, BOB]).unwrap();
        let found = service.get_all(&viewer, &ids, None).await.unwrap();
        assert_eq!(found.into_iter().map(|profile| profile.id).collect::<Vec<_>>(), expected);
    }
}

#[tokio::test]
async fn profiles_after_a_given_one_can_be_requested() {
    let service = people(|people, _| {
        people.expect_find_all().once().withf(|ids, _| ids == [ALICE]).returning(|_, _| Ok(vec![somebody(ALICE)]));
    });
    let ids = UserIds::parse(vec![CAROL, BOB, ALICE]).unwrap();
    assert_eq!(service.get_all(&alice(), &ids, Some(BOB)).await.unwrap().len(), 1);
    assert!(ids.after(ALICE).is_empty());
}

#[test]
fn a_request_is_for_1_to_100_users() {
    let parse = |count: u128| UserIds::parse((0..count).map(|n| UserId::new(Uuid::from_u128(n))).collect());
    assert_eq!(parse(0).unwrap_err().kind(), ViolationKind::Required);
    assert_eq!(parse(100).unwrap().as_slice().len(), 100);
    assert_eq!(parse(101).unwrap_err().kind(), ViolationKind::TooLong);
}

#[tokio::test]
async fn the_directory_is_for_every_member() {
    let service = people(|people, _| {
        people
            .expect_list_discoverable()
            .once()
            .withf(|viewer, request| (*viewer, *request) == (Viewer::ordinary(ALICE), PageRequest::FIRST))
            .returning(|_, _| Ok(page(vec![somebody(BOB), somebody(ALICE)])));
    });
    let found = service.directory(&alice(), PageRequest::FIRST).await.unwrap();
    assert_eq!(found.items.iter().map(|profile| profile.id).collect::<Vec<_>>(), [BOB, ALICE]);
    assert_eq!(found.keys.len(), 2);
}

#[tokio::test]
async fn follow_lists_are_for_the_user_the_followers_and_admin() {
    for (who, viewer, standing, expected) in [
        ("the user", member(BOB, Roles::USER), Some(Standing::Stranger), "shown"),
        ("a follower", alice(), Some(Standing::Follower), "shown"),
        ("ADMIN", member(ALICE, ADMIN), Some(Standing::Stranger), "shown"),
        ("a stranger", alice(), Some(Standing::Stranger), "forbidden"),
        ("a blocked member", alice(), Some(Standing::Blocked), "not found"),
        ("blocked ADMIN", member(ALICE, ADMIN), Some(Standing::Blocked), "shown"),
        ("anybody, of an unknown user", alice(), None, "not found"),
    ] {
        let shown = usize::from(expected == "shown");
        let service = people(|people, follows| {
            follows.expect_find_standing().times(2).returning(move |_, _| Ok(standing));
            let is_asked = move |user: &UserId, by: &Viewer, _: &PageRequest| (*user, *by) == (BOB, viewer.viewer());
            people.expect_list_followers().times(shown).withf(is_asked).returning(|_, _, _| Ok(page(vec![])));
            people.expect_list_followed().times(shown).withf(is_asked).returning(|_, _, _| Ok(page(vec![])));
        });
        for list in [
            service.list_followers(&viewer, BOB, PageRequest::FIRST).await,
            service.list_followed(&viewer, BOB, PageRequest::FIRST).await,
        ] {
            let outcome = match list {
                Ok(_) => "shown",
                Err(Error::Forbidden(Forbidden::NotFollower)) => "forbidden",
                Err(Error::NotFound(Resource::User)) => "not found",
                Err(other) => panic!("{who}: {other:?}"),
            };
            assert_eq!(outcome, expected, "{who}");
        }
    }
}
