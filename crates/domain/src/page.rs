//! Paging by key: a page begins right after an entry or ends right before one, so that nothing is skipped or repeated
//! while others come and go, that entry included.

use uuid::Uuid;

use crate::{clock::Timestamp, error::Violation};

/// The position of an entry in a list: when it was made, then its identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Keyset {
    /// When the entry was made.
    pub at: Timestamp,
    /// Tells apart the entries of one instant.
    pub id: Uuid,
}

impl Keyset {
    /// The position, in a list that runs newest first, after every entry made at `at` or later.
    pub const fn before(at: Timestamp) -> Self {
        Self { at, id: Uuid::nil() }
    }
}

/// The number of entries a page holds at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSize(u16);

impl PageSize {
    /// What the following feed returns when the client names no size.
    pub const FEED_DEFAULT: Self = Self(20);
    /// What every other list returns when the client names no size.
    pub const LIST_DEFAULT: Self = Self(1000);
    /// The largest size a client may name.
    pub const MAX: u16 = 100;

    /// A size named by a client, as text: 1 to 100.
    ///
    /// # Errors
    /// The violation, in words for the client.
    pub fn parse(size: &str) -> Result<Self, Violation> {
        match size.parse() {
            Ok(size @ 1..=Self::MAX) => Ok(Self(size)),
            _ => Err(format!("Size must be a number from 1 to {}", Self::MAX).into()),
        }
    }

    /// The size as a number.
    pub const fn get(self) -> usize {
        self.0 as usize
    }
}

/// Where in a list a page lies. The entry that a position names need not be there any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// At the beginning.
    Start,
    /// Right after an entry.
    After(Keyset),
    /// Right before an entry.
    Before(Keyset),
    /// At the end.
    End,
}

/// Which part of a list is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    /// Where it lies.
    pub from: Position,
    /// How many entries at most.
    pub size: PageSize,
}

impl PageRequest {
    /// The first page of a list, of the default size.
    pub const FIRST: Self = Self { from: Position::Start, size: PageSize::LIST_DEFAULT };

    /// How many rows an adapter reads to know whether more remain: one beyond the page.
    pub const fn overfetch(&self) -> usize {
        self.size.get() + 1
    }

    /// Makes a page of the rows an adapter read, [`overfetch`](Self::overfetch) of them at most, the nearest to the
    /// position first: in the list's order from [`Position::Start`] or [`Position::After`], in reverse otherwise.
    ///
    /// On the side it was read towards, a page has a neighbour when a row came beyond it. On the side of the entry that
    /// the position names it always has one, since that entry may still be there; when the page itself is empty, the
    /// neighbour is that end of the list, which holds the entry if it is still there, and what came in beside it. At
    /// the very beginning and the very end, there is nothing more on that side: who waits for more to come in asks for
    /// the same page again.
    pub fn page_of<T>(&self, mut rows: Vec<T>, key: impl Fn(&T) -> Keyset) -> Page<T> {
        let more = rows.len() > self.size.get();
        rows.truncate(self.size.get());
        let nearest = rows.first().map(&key);
        let farthest = rows.last().filter(|_| more).map(&key);
        let (prev, next) = match self.from {
            Position::Start => (None, farthest.map(Position::After)),
            Position::After(_) => {
                (Some(nearest.map_or(Position::End, Position::Before)), farthest.map(Position::After))
            }
            Position::Before(_) => {
                (farthest.map(Position::Before), Some(nearest.map_or(Position::Start, Position::After)))
            }
            Position::End => (farthest.map(Position::Before), None),
        };
        if matches!(self.from, Position::Before(_) | Position::End) {
            rows.reverse();
        }
        Page { items: rows, prev, next }
    }
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The entries, in the list's order.
    pub items: Vec<T>,
    /// Where the page before this one is; `None` at the beginning of the list.
    pub prev: Option<Position>,
    /// Where the page after this one is; `None` at the end of the list.
    pub next: Option<Position>,
}

impl<T> Page<T> {
    /// The page with each entry turned into another.
    pub fn map<U>(self, f: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(f).collect(), prev: self.prev, next: self.next }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn key(n: &i64) -> Keyset {
        Keyset::before(Timestamp::from_unix_millis(*n))
    }

    fn request(from: Position, size: u8) -> PageRequest {
        PageRequest { from, size: PageSize::parse(&size.to_string()).unwrap() }
    }

    /// A list of numbers, from the least to the greatest.
    type List = BTreeSet<i64>;

    /// Reads as an adapter does.
    fn read(list: &List, request: PageRequest) -> Page<i64> {
        let is_after = |n: &&i64| match request.from {
            Position::After(position) => key(n) > position,
            _ => true,
        };
        let is_before = |n: &&i64| match request.from {
            Position::Before(position) => key(n) < position,
            _ => true,
        };
        let mut rows: Vec<i64> = list.iter().filter(is_after).filter(is_before).copied().collect();
        if matches!(request.from, Position::Before(_) | Position::End) {
            rows.reverse();
        }
        rows.truncate(request.overfetch());
        request.page_of(rows, key)
    }

    /// Numbers without an evident order, always the same.
    fn dice() -> impl FnMut(i64) -> i64 {
        let mut state = 1_u64;
        move |sides| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            i64::try_from(state >> 33).unwrap() % sides
        }
    }

    #[test]
    fn size_is_1_to_100() {
        assert_eq!(PageSize::parse("1").unwrap().get(), 1);
        assert_eq!(PageSize::parse("100").unwrap().get(), 100);
        for bad in ["0", "101", "-1", "", "ten", "1e1", "99999999999999999999"] {
            assert!(PageSize::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_page_names_its_neighbours() {
        use Position::{After, Before, End, Start};
        let list = List::from([1, 2, 3, 4, 5]);
        for (from, items, prev, next) in [
            (Start, &[1, 2][..], None, Some(After(key(&2)))),
            (After(key(&2)), &[3, 4], Some(Before(key(&3))), Some(After(key(&4)))),
            (After(key(&3)), &[4, 5], Some(Before(key(&4))), None),
            (After(key(&4)), &[5], Some(Before(key(&5))), None),
            (After(key(&5)), &[], Some(End), None),
            (End, &[4, 5], Some(Before(key(&4))), None),
            (Before(key(&4)), &[2, 3], Some(Before(key(&2))), Some(After(key(&3)))),
            (Before(key(&3)), &[1, 2], None, Some(After(key(&2)))),
            (Before(key(&2)), &[1], None, Some(After(key(&1)))),
            (Before(key(&1)), &[], None, Some(Start)),
        ] {
            let page = read(&list, request(from, 2));
            assert_eq!((&page.items[..], page.prev, page.next), (items, prev, next), "{from:?}");
        }
        assert_eq!(request(Start, 2).overfetch(), 3);
    }

    #[test]
    fn a_list_without_entries_is_one_page() {
        for from in [Position::Start, Position::End] {
            let page = read(&List::new(), request(from, 2));
            assert_eq!((page.items, page.prev, page.next), (vec![], None, None));
        }
    }

    /// Entries, those that positions name included, come and go between pages; what stays is seen once in each walk.
    #[test]
    fn what_stays_is_seen_once_on_the_way_to_the_end_and_once_on_the_way_back() {
        let mut roll = dice();
        for size in [1, 2, 3, 7, 100] {
            // Multiples of ten stay.
            let mut list: List = (0..400).collect();
            let stays: Vec<i64> = list.iter().copied().filter(|n| n % 10 == 0).collect();
            let mut page = read(&list, request(Position::Start, size));
            for _ in 0..6 {
                for is_forward in [true, false] {
                    let mut seen = page.items.clone();
                    while let Some(from) = if is_forward { page.next } else { page.prev } {
                        for _ in 0..roll(60) {
                            let n = roll(440) - 20;
                            if n % 10 != 0 && !list.remove(&n) {
                                list.insert(n);
                            }
                        }
                        page = read(&list, request(from, size));
                        let place = if is_forward { seen.len() } else { 0 };
                        seen.splice(place..place, page.items.iter().copied());
                    }
                    assert!(seen.is_sorted_by(|a, b| a < b), "in order, nothing twice: {seen:?}");
                    seen.retain(|n| n % 10 == 0);
                    assert_eq!(seen, stays, "in pages of {size}");
                }
            }
        }
    }
}
