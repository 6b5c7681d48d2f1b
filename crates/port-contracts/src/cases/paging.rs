//! Properties of the pages of every list, in both directions.

use agora_domain::page::{Keyset, Page, PageRequest, PageSize, Position};
use uuid::Uuid;

use crate::Repositories;
use crate::lists::{List, Lists};
use crate::run::pages;
use crate::world::{at, pseudo_random, shuffled, uuid};

fn request(from: Position, size: usize) -> PageRequest {
    PageRequest { from, size: PageSize::parse(&size.to_string()).unwrap() }
}

/// Returns the id of the `n`th entry of a list; with `more` above 0, one of the ids between it and the next.
fn id(list: List, n: i64, more: u32) -> Uuid {
    uuid((1000 * (1 + list as u64) + n.cast_unsigned()) << 16 | u64::from(more))
}

/// Returns `count` keysets for a list, three at each instant.
fn places(list: List, count: i64) -> Vec<Keyset> {
    (0..count).map(|n| Keyset { at: at(n / 3), id: id(list, n, 0) }).collect()
}

/// Adds entries with these keysets to a list, which may have entries already; returns the ids of all in the order of the list.
async fn fill(lists: &Lists, list: List, places: &[Keyset]) -> Vec<Uuid> {
    for place in shuffled(places.iter().copied()) {
        lists.add(list, place).await;
    }
    lists.read(list, PageRequest::FIRST).await.unwrap().items
}

/// Returns the one of these keysets that has the given id.
fn place_of(places: &[Keyset], id: Uuid) -> Keyset {
    *places.iter().find(|place| place.id == id).unwrap()
}

fn shown(page: &Page<Uuid>) -> &[Uuid] {
    &page.items
}

pub async fn every_list_reads_the_same_from_both_ends(db: Repositories) {
    let lists = Lists::new(&db).await;
    for list in List::ALL {
        let places = places(list, 11);
        let whole = fill(&lists, list, &places).await;
        let added: Vec<_> = whole.iter().copied().filter(|id| places.iter().any(|place| place.id == *id)).collect();
        assert_eq!(added, list.in_order(places), "{list:?}");
        for size in [1, 2, 3, 5, 11, 100] {
            let listed = pages(size, async |page| lists.read(list, page).await).await;
            assert_eq!(listed, whole, "{list:?} by {size}");
        }
    }
}

pub async fn paging_continues_from_an_entry_that_was_removed(db: Repositories) {
    let lists = Lists::new(&db).await;
    for list in List::ALL {
        let places = places(list, 9);
        let mut whole = fill(&lists, list, &places).await;
        for id in shuffled(places.iter().map(|place| place.id)) {
            let (place, index) = (place_of(&places, id), whole.iter().position(|listed| *listed == id).unwrap());
            for is_there in [true, false] {
                if !is_there && !list.is_permanent() {
                    lists.remove(list, id).await;
                    whole.remove(index);
                }
                let rest = &whole[(index + usize::from(whole.get(index) == Some(&id))).min(whole.len())..];
                let after = lists.read(list, request(Position::After(place), 100)).await.unwrap();
                assert_eq!(shown(&after), rest, "after an entry that exists: {is_there}, {list:?}");
                let before = lists.read(list, request(Position::Before(place), 100)).await.unwrap();
                assert_eq!(shown(&before), &whole[..index], "before an entry that exists: {is_there}, {list:?}");
                // The nearest two, if there are more.
                let after = lists.read(list, request(Position::After(place), 2)).await.unwrap();
                assert_eq!(shown(&after), &rest[..rest.len().min(2)], "{list:?}");
                let before = lists.read(list, request(Position::Before(place), 2)).await.unwrap();
                assert_eq!(shown(&before), &whole[index.saturating_sub(2)..index], "{list:?}");
            }
        }
    }
}

pub async fn pages_beyond_the_ends_are_empty_and_link_back(db: Repositories) {
    let lists = Lists::new(&db).await;
    for list in List::ALL {
        let whole = fill(&lists, list, &places(list, 5)).await;
        let [old, new] = [-1_000_000, 1_000_000].map(|millis| Keyset { at: at(millis), id: uuid(1) });
        let (first, last) = if list.is_newest_first() { (new, old) } else { (old, new) };
        let before = lists.read(list, request(Position::Before(first), 2)).await.unwrap();
        assert_eq!(before, Page { items: vec![], keys: vec![], prev: None, next: Some(Position::Start) }, "{list:?}");
        let after = lists.read(list, request(Position::After(last), 2)).await.unwrap();
        assert_eq!(after, Page { items: vec![], keys: vec![], prev: Some(Position::End), next: None }, "{list:?}");
        let start = lists.read(list, request(Position::Start, 2)).await.unwrap();
        assert_eq!((shown(&start), start.prev), (&whole[..2], None), "{list:?}");
        let end = lists.read(list, request(Position::End, 2)).await.unwrap();
        assert_eq!((shown(&end), end.next), (&whole[whole.len() - 2..], None), "{list:?}");
        for (from, part) in [(Position::After(first), &whole[..2]), (Position::Before(last), &whole[whole.len() - 2..])]
        {
            let page = lists.read(list, request(from, 2)).await.unwrap();
            assert_eq!(shown(&page), part, "{list:?}");
            assert!(
                page.prev.is_some() && page.next.is_some(),
                "entries may have been added beyond the page: {list:?}"
            );
        }
    }
}

pub async fn changes_between_pages_hide_and_repeat_no_entry(db: Repositories) {
    let lists = Lists::new(&db).await;
    let mut roll = pseudo_random();
    for list in List::ALL {
        let places = places(list, 30);
        fill(&lists, list, &places).await;
        // Of the three at each instant, one will be removed.
        let (stays, mut goes): (Vec<_>, Vec<_>) = places.into_iter().partition(|place| place.id.as_u128() % 3 != 0);
        let (stays, mut added) = (list.in_order(stays), 0);
        let mut page = lists.read(list, request(Position::Start, 3)).await.unwrap();
        for is_forward in [true, false, true] {
            let mut seen = page.items.clone();
            // Limited, because a list that grows as fast as it is read has no end.
            let last = added + 15;
            while let Some(from) = if is_forward { page.next } else { page.prev } {
                // Removes the entry of the position, unless it is one that stays.
                if let Position::After(place) | Position::Before(place) = from
                    && goes.contains(&place)
                {
                    lists.remove(list, place.id).await;
                    goes.retain(|gone| *gone != place);
                }
                if added < last {
                    added += 1;
                    let newcomer = Keyset { at: at(roll(12) - 1), id: id(list, roll(30), added) };
                    lists.add(list, newcomer).await;
                    goes.push(newcomer);
                }
                page = lists.read(list, request(from, 3)).await.unwrap();
                let place = if is_forward { seen.len() } else { 0 };
                seen.splice(place..place, page.items.iter().copied());
            }
            let mut once = seen.clone();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), seen.len(), "no duplicates: {list:?}");
            seen.retain(|id| stays.contains(id));
            assert_eq!(seen, stays, "{list:?}, forward: {is_forward}");
        }
    }
}

pub async fn no_page_of_a_bounded_feed_exceeds_its_bound(db: Repositories) {
    let lists = Lists::new(&db).await;
    let places = places(List::Feed, 15);
    let whole = fill(&lists, List::Feed, &places).await;
    for millis in [0, 1, 2, 3, 4, 5, 100] {
        let created_before = at(millis);
        let earlier = List::Feed.in_order(places.iter().copied().filter(|place| place.at < created_before));
        for size in [1, 2, 3, 100] {
            let listed = pages(size, async |page| Ok(lists.read_bounded(created_before, page).await)).await;
            assert_eq!(listed, earlier, "before {millis} by {size}");
        }
        // Positions from an unbounded feed are valid in a bounded one.
        for place in &places {
            let after = lists.read_bounded(created_before, request(Position::After(*place), 100)).await;
            let index = whole.iter().position(|id| *id == place.id).unwrap();
            let rest: Vec<_> = whole[index + 1..].iter().copied().filter(|id| earlier.contains(id)).collect();
            assert_eq!(shown(&after), rest);
            let before = lists.read_bounded(created_before, request(Position::Before(*place), 100)).await;
            let rest: Vec<_> = whole[..index].iter().copied().filter(|id| earlier.contains(id)).collect();
            assert_eq!(shown(&before), rest);
            let is_empty = rest.is_empty();
            assert_eq!((before.prev, before.next == Some(Position::Start)), (None, is_empty));
        }
    }
}
