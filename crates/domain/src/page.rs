//! Paging by key: a page starts right after an entry, so that nothing is skipped or repeated while others come in.

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

/// Which part of a list is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    /// The entry after which the page starts; the list's beginning without one.
    pub after: Option<Keyset>,
    /// How many entries at most.
    pub size: PageSize,
}

impl PageRequest {
    /// The first page of a list, of the default size.
    pub const FIRST: Self = Self { after: None, size: PageSize::LIST_DEFAULT };

    /// How many rows an adapter reads to know whether more remain: one beyond the page.
    pub const fn overfetch(&self) -> usize {
        self.size.get() + 1
    }

    /// Makes a page of the rows an adapter read, [`overfetch`](Self::overfetch) of them at most.
    pub fn page_of<T>(&self, mut rows: Vec<T>, key: impl Fn(&T) -> Keyset) -> Page<T> {
        let more = rows.len() > self.size.get();
        rows.truncate(self.size.get());
        let next = if more { rows.last().map(key) } else { None };
        Page { items: rows, next }
    }
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The entries, in the list's order.
    pub items: Vec<T>,
    /// Where the next page starts; `None` at the end of the list.
    pub next: Option<Keyset>,
}

impl<T> Page<T> {
    /// The page with each entry turned into another.
    pub fn map<U>(self, f: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(f).collect(), next: self.next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: &i64) -> Keyset {
        Keyset::before(Timestamp::from_unix_millis(*n))
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
    fn a_page_names_the_next_only_when_more_remain() {
        let request = PageRequest { after: None, size: PageSize::parse("2").unwrap() };
        assert_eq!(request.overfetch(), 3);
        let last = request.page_of(vec![1, 2], key);
        assert_eq!((last.items, last.next), (vec![1, 2], None));
        let first = request.page_of(vec![1, 2, 3], key);
        assert_eq!((first.items, first.next), (vec![1, 2], Some(key(&2))));
    }
}
