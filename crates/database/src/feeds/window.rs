//! The range of a feed that a page is taken from.

use agora_domain::page::{Keyset, Position};
use agora_domain::posts::FeedRequest;

use crate::rows::Toward;

/// The positions between two exclusive bounds, and the direction in which they are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(super) toward: Toward,
    /// The bound where the window begins, in reading direction.
    pub(super) after: Option<Keyset>,
    /// The bound where the window ends, in reading direction.
    pub(super) until: Option<Keyset>,
}

impl Window {
    /// Returns the window of a page of a feed, from its position on. It never extends beyond the beginning of the feed.
    pub(crate) fn of(feed: FeedRequest) -> Self {
        let start = feed.created_before.map(Keyset::before);
        let (toward, after, until) = match feed.page.from {
            Position::Start => (Toward::Older, start, None),
            Position::After(key) => (Toward::Older, Some(start.map_or(key, |start| start.min(key))), None),
            Position::Before(key) => (Toward::Newer, Some(key), start),
            Position::End => (Toward::Newer, None, start),
        };
        Self { toward, after, until }
    }

    /// Returns the upper and the lower bound: all positions are older than the first and newer than the second.
    pub(super) fn bounds(&self) -> (Option<Keyset>, Option<Keyset>) {
        match self.toward {
            Toward::Older => (self.after, self.until),
            Toward::Newer => (self.until, self.after),
        }
    }

    pub(super) fn contains(&self, key: Keyset) -> bool {
        let (below, above) = self.bounds();
        below.is_none_or(|below| key < below) && above.is_none_or(|above| key > above)
    }
}

#[cfg(test)]
mod tests {
    use agora_domain::clock::Timestamp;
    use agora_domain::page::PageRequest;
    use uuid::Uuid;

    use super::*;

    fn key(millis: i64) -> Keyset {
        Keyset { at: Timestamp::from_unix_millis(millis), id: Uuid::from_u128(5) }
    }

    /// Returns which of the positions 1 to 9 the window of a page contains. If `is_bounded`, the feed has only posts made before
    /// 7.
    fn positions(from: Position, is_bounded: bool) -> Vec<i64> {
        let created_before = is_bounded.then(|| Timestamp::from_unix_millis(7));
        let window = Window::of(FeedRequest { created_before, page: PageRequest { from, ..PageRequest::FIRST } });
        (1..10).filter(|n| window.contains(key(*n))).collect()
    }

    #[test]
    fn a_window_contains_what_comes_after_its_position() {
        assert_eq!(positions(Position::Start, false), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(positions(Position::After(key(4)), false), [1, 2, 3]);
        assert_eq!(positions(Position::Before(key(4)), false), [5, 6, 7, 8, 9]);
        assert_eq!(positions(Position::End, false), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn no_window_extends_beyond_the_beginning_of_the_feed() {
        assert_eq!(positions(Position::Start, true), [1, 2, 3, 4, 5, 6]);
        assert_eq!(positions(Position::After(key(4)), true), [1, 2, 3]);
        assert_eq!(positions(Position::After(key(8)), true), [1, 2, 3, 4, 5, 6]);
        assert_eq!(positions(Position::Before(key(4)), true), [5, 6]);
        assert!(positions(Position::Before(key(8)), true).is_empty());
        assert_eq!(positions(Position::End, true), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn a_window_can_be_cut_before_and_after_a_position() {
        let of =
            |from| Window::of(FeedRequest { created_before: None, page: PageRequest { from, ..PageRequest::FIRST } });
        let contained = |window: Window| (1..10).filter(|n| window.contains(key(*n))).collect::<Vec<_>>();
        let (older, newer) = (of(Position::After(key(8))), of(Position::Before(key(2))));
        let until = |window| Window { until: Some(key(5)), ..window };
        let after = |window| Window { after: Some(key(5)), ..window };
        assert_eq!((contained(until(older)), contained(after(older))), (vec![6, 7], vec![1, 2, 3, 4]));
        assert_eq!((contained(until(newer)), contained(after(newer))), (vec![3, 4], vec![6, 7, 8, 9]));
        assert_eq!((older.after, newer.after), (Some(key(8)), Some(key(2))));
    }
}
