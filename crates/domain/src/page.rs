//! Keyset pagination: a page begins right after an entry or ends right before one, so that no entry is skipped or repeated
//! while others are added and removed, even if that entry itself is removed.

use uuid::Uuid;

use crate::clock::Timestamp;
use crate::error::Violation;
use crate::error::ViolationKind::{InvalidFormat, OutOfRange};

/// The position of an entry in a list: when it was made, then its identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Keyset {
    /// When the entry was made.
    pub at: Timestamp,
    /// The identifier of the entry, which orders the entries of one instant.
    pub id: Uuid,
}

impl Keyset {
    /// The position, in a list that runs newest first, after every entry made at `at` or later.
    pub const fn before(at: Timestamp) -> Self {
        Self { at, id: Uuid::nil() }
    }
}

/// The maximum number of entries on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSize(u16);

impl PageSize {
    /// A single entry.
    pub const ONE: Self = Self(1);
    /// The default size for the following feed and for every list of people.
    pub const SHORT_DEFAULT: Self = Self(20);
    /// The default size for every other list.
    pub const LIST_DEFAULT: Self = Self(1000);
    /// The largest size that a client may ask for.
    pub const MAX: u16 = 100;

    /// Parses a size that a client sent: 1 to 100.
    ///
    /// # Errors
    /// The violation, in words for the client.
    pub fn parse(size: &str) -> Result<Self, Violation> {
        let digits = size.strip_prefix('-').unwrap_or(size);
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        match size.parse() {
            // With few leading zeros, if any: links repeat the size.
            Ok(parsed @ 1..=Self::MAX) if is_number && size.len() <= 3 => Ok(Self(parsed)),
            _ => {
                let kind = if is_number { OutOfRange } else { InvalidFormat };
                Err(Violation::new(kind, format!("Size must be a number from 1 to {}", Self::MAX)))
            }
        }
    }

    /// Returns the size as a number.
    pub const fn get(self) -> usize {
        self.0 as usize
    }
}

/// The position of a page in a list. The entry that it refers to need not exist any more.
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

impl Position {
    /// Returns whether a page at this position is read towards the beginning of the list, its last entry first.
    pub const fn is_read_backward(&self) -> bool {
        matches!(self, Self::Before(_) | Self::End)
    }
}

/// A request for a page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    /// The position of the page.
    pub from: Position,
    /// The maximum number of entries.
    pub size: PageSize,
}

impl PageRequest {
    /// The first page of a list, of the default size.
    pub const FIRST: Self = Self { from: Position::Start, size: PageSize::LIST_DEFAULT };
    /// The first [`PageSize::MAX`] entries of a list, as many as are read at once.
    pub const PART: Self = Self { from: Position::Start, size: PageSize(PageSize::MAX) };

    /// Returns how many rows an adapter reads to find out whether more remain: one beyond the page.
    pub const fn overfetch(&self) -> usize {
        self.size.get() + 1
    }

    /// Makes a page of the rows that an adapter read, at most [`overfetch`](Self::overfetch) of them, nearest to the
    /// position first: in the list's order from [`Position::Start`] or [`Position::After`], in reverse otherwise.
    ///
    /// In the direction of reading, a page has a neighbour if there was a row beyond it. On the side of the entry that
    /// the position refers to it always has one, since that entry may still exist; if the page itself is empty, this
    /// neighbour is that end of the list, which holds the entry, if it still exists, and any entries added beside it. A
    /// page at [`Position::Start`] or [`Position::End`] has no neighbour on that side: a client that waits for new entries
    /// requests the same page again.
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
        if self.from.is_read_backward() {
            rows.reverse();
        }
        Page { keys: rows.iter().map(key).collect(), items: rows, prev, next }
    }
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The entries, in the list's order.
    pub items: Vec<T>,
    /// The position of each entry, in the same order.
    pub keys: Vec<Keyset>,
    /// The position of the page before this one; `None` at the beginning of the list.
    pub prev: Option<Position>,
    /// The position of the page after this one; `None` at the end of the list.
    pub next: Option<Position>,
}

impl<T> Page<T> {
    /// Returns the page with `f` applied to each entry.
    pub fn map<U>(self, f: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(f).collect(), keys: self.keys, prev: self.prev, next: self.next }
    }

    /// Returns the page with `f` applied to each entry, without the entries for which `f` returns `None`.
    pub fn filter_map<U>(self, mut f: impl FnMut(T) -> Option<U>) -> Page<U> {
        let Self { items, keys, prev, next } = self;
        let kept = items.into_iter().zip(keys).filter_map(|(item, key)| Some((f(item)?, key)));
        let (items, keys) = kept.unzip();
        Page { items, keys, prev, next }
    }
}

/// The positions of the pages before and after a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// The position of the page before it; `None` at the beginning of the list.
    pub prev: Option<Position>,
    /// The position of the page after it; `None` at the end of the list.
    pub next: Option<Position>,
}

/// A page that is read in parts of at most [`PageSize::MAX`] entries, so that no more than one part is in memory at
/// once. It may end early, with fewer entries than were asked for.
#[derive(Debug)]
pub struct PageInParts {
    /// The position of the next part; `None` at the end of the list.
    from: Option<Position>,
    is_backward: bool,
    /// The number of entries that the page still has room for.
    remaining: u16,
    /// The neighbour of this page on the side where reading began; set with the first part that is added.
    behind: Option<Option<Position>>,
}

impl PageInParts {
    /// Creates an empty page for a request.
    pub const fn new(request: PageRequest) -> Self {
        Self {
            from: Some(request.from),
            is_backward: request.from.is_read_backward(),
            remaining: request.size.0,
            behind: None,
        }
    }

    /// Returns whether its parts are read towards the beginning of the list, their last entries first.
    pub const fn is_backward(&self) -> bool {
        self.is_backward
    }

    /// Returns the part to read next; `None` when the page is complete.
    pub fn next_part(&self) -> Option<PageRequest> {
        let size = PageSize(self.remaining.min(PageSize::MAX));
        self.from.filter(|_| self.remaining > 0).map(|from| PageRequest { from, size })
    }

    /// Records that the first `count` entries of the part that was read, counted in the direction of reading, are on this
    /// page. The rest is in the next part, or on the neighbouring page if this page ends here.
    pub fn add<T>(&mut self, part: &Page<T>, count: usize) {
        let is_whole = count >= part.items.len();
        if count == 0 && !is_whole {
            return;
        }
        let (behind, ahead) = if self.is_backward { (part.next, part.prev) } else { (part.prev, part.next) };
        self.behind.get_or_insert(behind);
        self.remaining = self.remaining.saturating_sub(u16::try_from(count).unwrap_or(u16::MAX));
        self.from = match is_whole {
            true => ahead,
            false if self.is_backward => part.keys.iter().nth_back(count - 1).copied().map(Position::Before),
            false => part.keys.get(count - 1).copied().map(Position::After),
        };
    }

    /// Returns the positions of the pages before and after this one, if it ends with what was added.
    pub fn neighbours(&self) -> Neighbours {
        let behind = self.behind.flatten();
        if self.is_backward {
            Neighbours { prev: self.from, next: behind }
        } else {
            Neighbours { prev: behind, next: self.from }
        }
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

    /// Returns a request of any size, also one that no client may ask for.
    fn request_of(from: Position, size: u16) -> PageRequest {
        PageRequest { from, size: PageSize(size) }
    }

    /// A list of numbers, from the least to the greatest.
    type List = BTreeSet<i64>;

    /// Reads a page as an adapter does.
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

    /// Returns a deterministic generator of pseudo-random numbers.
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
        assert_eq!((PageSize::parse("005").unwrap().get(), PageSize::parse("100").unwrap().get()), (5, 100));
        for number in ["0", "0001", "101", "-1", "70000", "99999999999999999999"] {
            assert_eq!(PageSize::parse(number).unwrap_err().kind(), OutOfRange, "{number}");
        }
        for other in ["", "-", "+5", "ten", "1e1"] {
            assert_eq!(PageSize::parse(other).unwrap_err().kind(), InvalidFormat, "{other}");
        }
    }

    #[test]
    fn a_page_has_the_positions_of_its_neighbours() {
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
    fn an_empty_list_is_a_single_page() {
        for from in [Position::Start, Position::End] {
            let page = read(&List::new(), request(from, 2));
            assert_eq!((page.items, page.prev, page.next), (vec![], None, None));
        }
    }

    /// Entries are added and removed between pages, also those that positions refer to.
    #[test]
    fn an_entry_that_stays_is_seen_exactly_once_in_each_direction() {
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

    /// Reads a page in parts. `keep` is called with the length of each part, and returns how many of its entries to keep
    /// and whether the page ends there.
    fn read_in_parts(list: &List, request: PageRequest, mut keep: impl FnMut(usize) -> (usize, bool)) -> Page<i64> {
        let mut page = PageInParts::new(request);
        let mut items = Vec::new();
        while let Some(part) = page.next_part() {
            assert!(part.size.get() <= usize::from(PageSize::MAX));
            let read = read(list, part);
            let (count, is_last) = keep(read.items.len());
            if page.is_backward() {
                items.splice(..0, read.items[read.items.len() - count..].iter().copied());
            } else {
                items.extend(&read.items[..count]);
            }
            page.add(&read, count);
            if is_last {
                break;
            }
        }
        let Neighbours { prev, next } = page.neighbours();
        Page { keys: items.iter().map(key).collect(), items, prev, next }
    }

    #[test]
    fn a_page_read_in_parts_equals_the_page_read_at_once() {
        let list: List = (0..450).collect();
        let positions = [-1, 0, 1, 99, 225, 350, 448, 449, 450].map(|n| key(&n));
        let from_each = positions.into_iter().flat_map(|key| [Position::After(key), Position::Before(key)]);
        for from in from_each.chain([Position::Start, Position::End]) {
            for size in [1, 99, 100, 101, 200, 449, 450, 451, 1000] {
                let request = request_of(from, size);
                assert_eq!(read_in_parts(&list, request, |read| (read, false)), read(&list, request), "{request:?}");
                // Entries left out of a part are in the next one.
                let mut roll = dice();
                let some = |read: usize| (usize::try_from(roll(read as i64 + 1)).unwrap(), false);
                assert_eq!(read_in_parts(&list, request, some), read(&list, request), "{request:?}");
            }
        }
    }

    #[test]
    fn pages_that_end_early_show_every_entry_once_in_both_directions() {
        let list: List = (0..450).collect();
        let whole: Vec<i64> = list.iter().copied().collect();
        let mut roll = dice();
        for size in [1, 7, 100, 1000] {
            let mut some = |read: usize| {
                let count = if read == 0 { 0 } else { 1 + usize::try_from(roll(read as i64)).unwrap() };
                (count, roll(2) == 0)
            };
            let mut page = read_in_parts(&list, request_of(Position::Start, size), &mut some);
            for _ in 0..3 {
                for is_forward in [true, false] {
                    let mut seen = page.items.clone();
                    while let Some(from) = if is_forward { page.next } else { page.prev } {
                        page = read_in_parts(&list, request_of(from, size), &mut some);
                        let place = if is_forward { seen.len() } else { 0 };
                        seen.splice(place..place, page.items.iter().copied());
                    }
                    assert_eq!(seen, whole, "in pages of {size}");
                }
            }
        }
    }
}
