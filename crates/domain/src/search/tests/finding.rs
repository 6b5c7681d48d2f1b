use std::sync::Arc;

use mockall::predicate::eq;
use uuid::Uuid;

use super::*;
use crate::accounts::{Member, Role, Roles};
use crate::clock::{MockClock, Timestamp};
use crate::error::{Error, Resource};
use crate::fixtures::{clock, member, person};
use crate::page::{Keyset, Page, PageRequest, PageSize, Position};
use crate::people::{MockPeopleRepository, Person, Profile};

const ALICE: UserId = UserId::new(Uuid::from_u128(1));
const ADMIN: Roles = Roles::USER.with(Role::Admin, true);

fn alice(roles: Roles) -> Member {
    member(ALICE, roles)
}

fn user(n: i64) -> Person {
    let id = UserId::new(Uuid::from_u128(n.cast_unsigned().into()));
    Person { created_at: Timestamp::from_unix_millis(n), ..person(id, &format!("user{n}")) }
}

/// Returns a search over the users with these numbers, newest first; the username of `named` equals the query.
fn search_over(numbers: &[i64], named: Option<Person>) -> Search {
    let (mut found, mut people) = (MockSearchRepository::new(), MockPeopleRepository::new());
    let numbers = numbers.to_vec();
    let except = named.as_ref().map(|person| person.id);
    found.expect_find_people().returning(move |wanted, page| {
        let key = |n: &i64| Keyset { at: Timestamp::from_unix_millis(*n), id: user(*n).id.uuid() };
        let others = numbers.iter().filter(|n| wanted.except != Some(user(**n).id));
        let is_there = |n: &&i64| match page.from {
            Position::Start | Position::End => true,
            Position::After(place) => key(n) < place,
            Position::Before(place) => key(n) > place,
        };
        let mut rows: Vec<i64> = others.filter(is_there).copied().collect();
        assert!(wanted.except.is_none() || wanted.except == except);
        if page.from.is_read_backward() {
            rows.reverse();
        }
        rows.truncate(page.overfetch());
        Ok(page.page_of(rows, key).map(user))
    });
    people.expect_find_by_username().returning(move |_, _| Ok(named.clone()));
    Search { found: Arc::new(found), people: Arc::new(people) }
}

fn numbers(page: &Page<Profile>) -> Vec<i64> {
    page.items.iter().map(|profile| profile.created_at.unix_millis()).collect()
}

#[tokio::test]
async fn the_exact_match_comes_first_in_both_paging_directions() {
    let query = Query::parse("somebody").unwrap();
    for count in 0..7 {
        let all: Vec<i64> = (1..=count).rev().collect();
        for named in [None, Some(0), Some(3), Some(9)] {
            let search = search_over(&all, named.map(user));
            let mut expected: Vec<i64> = named.into_iter().collect();
            expected.extend(all.iter().filter(|n| Some(**n) != named));
            for size in 1..=4 {
                let size = PageSize::parse(&size.to_string()).unwrap();
                let read =
                    async |from| search.users(&alice(Roles::USER), &query, PageRequest { from, size }).await.unwrap();
                let mut page = read(Position::Start).await;
                for is_forward in [true, false] {
                    let mut seen = numbers(&page);
                    while let Some(from) = if is_forward { page.next } else { page.prev } {
                        page = read(from).await;
                        let place = if is_forward { seen.len() } else { 0 };
                        seen.splice(place..place, numbers(&page));
                        assert!(page.items.len() <= size.get());
                    }
                    assert_eq!(seen, expected, "{named:?} in pages of {size:?}");
                }
                let last = numbers(&read(Position::End).await);
                assert!(expected.ends_with(&last) && last.len() == expected.len().min(size.get()));
            }
        }
    }
}

#[tokio::test]
async fn undiscoverable_users_are_found_by_name_only_by_admins() {
    let query = Query::parse("somebody").unwrap();
    for (hidden, by_admin) in
        [(Person { discoverable: false, ..user(9) }, &[9, 2, 1][..]), (Person { enabled: false, ..user(9) }, &[2, 1])]
    {
        let search = search_over(&[2, 1], Some(hidden));
        let found = search.users(&alice(Roles::USER), &query, PageRequest::FIRST).await.unwrap();
        assert_eq!(numbers(&found), [2, 1]);
        let found = search.users(&alice(ADMIN), &query, PageRequest::FIRST).await.unwrap();
        assert_eq!(numbers(&found), by_admin);
    }
}

#[tokio::test]
async fn posts_of_an_author_are_searched_only_if_the_viewer_may_see_the_author() {
    let query = Query::parse("#tag word").unwrap();
    for (roles, author, expected) in [
        (Roles::USER, Some(user(2)), true),
        (Roles::USER, Some(Person { discoverable: false, ..user(2) }), true),
        (Roles::USER, Some(Person { enabled: false, ..user(2) }), false),
        (ADMIN, Some(Person { enabled: false, ..user(2) }), true),
        (Roles::USER, Some(Person { blocks_viewer: true, ..user(2) }), false),
        (ADMIN, Some(Person { blocks_viewer: true, ..user(2) }), true),
        (ADMIN, None, false),
    ] {
        let (mut found, mut people) = (MockSearchRepository::new(), MockPeopleRepository::new());
        let needles = Needles::of(&query, Some(user(2).id));
        let wanted = PostSearch { needles, viewer: alice(roles).viewer() };
        found
            .expect_find_posts()
            .withf(move |given, _| *given == wanted)
            .returning(|_, page| Ok(page.page_of(vec![], |_| unreachable!())));
        people.expect_find().returning(move |_, _| Ok(author.clone()));
        let search = Search { found: Arc::new(found), people: Arc::new(people) };
        let outcome = search.posts(&alice(roles), &query, Some(user(2).id), PageRequest::FIRST).await;
        match outcome {
            Ok(_) => assert!(expected),
            Err(error) => assert!(!expected && matches!(error, Error::NotFound(Resource::User)), "{error:?}"),
        }
    }
}

#[tokio::test]
async fn unindexed_things_are_indexed_in_batches_until_none_are_left() {
    for (found, packs, is_more) in [(0, false, false), (3, false, false), (200, false, true), (3, true, true)] {
        let mut index = MockSearchIndex::new();
        index.expect_list_unindexed().returning(move |kind, limit| {
            assert_eq!(limit, 200);
            let names = UnindexedContent::Account(Username::restore("ada".to_owned()), None);
            let thing = Unindexed { id: Uuid::nil(), created_at: Timestamp::from_unix_millis(0), content: names };
            Ok(vec![thing; if kind == Kind::Account { found } else { 0 }])
        });
        let indexed = if packs { 0 } else { found };
        index.expect_index().times(usize::from(indexed > 0)).returning(|things| {
            assert!(things.iter().all(|(_, text)| text.as_str() == "\nada\n"));
            Ok(things.len())
        });
        index.expect_pack().times(1).returning(move || Ok(packs));
        let indexing = Indexing { index: Arc::new(index), clock: Arc::new(MockClock::new()) };
        assert_eq!(indexing.run().await.unwrap(), (indexed, is_more));
    }
}

#[tokio::test]
async fn deleted_things_stay_in_the_index_for_ten_minutes() {
    for is_more in [false, true] {
        let mut index = MockSearchIndex::new();
        let before = Timestamp::from_unix_millis(400_000);
        index.expect_forget().with(eq(before)).times(1).returning(move |_| Ok(is_more));
        let indexing = Indexing { index: Arc::new(index), clock: clock(Timestamp::from_unix_millis(1_000_000)) };
        assert_eq!(indexing.forget().await.unwrap(), is_more);
    }
}
