//! The cached feed of one viewer.

use std::time::{Duration, Instant};

use agora_domain::page::Keyset;

use super::recent::{NewPost, Snapshot};
use super::window::Window;
use crate::rows::Toward;
use crate::sql_types::DbId;
use crate::values::Visible;

/// The maximum number of positions kept: enough for twenty pages of ordinary size.
const MAX_CACHED_POSITIONS: usize = 420;

/// The positions of the newest posts of the accounts that a viewer follows. It contains every such post of some visibilities down
/// to the oldest position kept, and possibly posts that are deleted or hidden, or whose author is no longer followed.
#[derive(Debug)]
pub(crate) struct Timeline {
    /// The version of the viewer's follows and mutes that it was read with.
    pub(super) version: i64,
    visible: Visible,
    /// The accounts that the viewer follows: the random half of each identifier, sorted.
    followed: Box<[u64]>,
    /// Newest first.
    keys: Vec<Keyset>,
    /// Whether there are no older posts.
    is_whole: bool,
    /// The generation of the recent posts that continue it.
    pub(super) generation: u64,
    /// The number of the next recent post to add.
    pub(super) next: u64,
    read_at: Instant,
}

/// A viewer's feed as it is read from the database if it is not cached, as of one snapshot.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) version: i64,
    pub(crate) snapshot: Snapshot,
    pub(crate) followed: Vec<DbId>,
    /// The newest positions, newest first.
    pub(crate) keys: Vec<Keyset>,
}

/// The part of a feed that a page needs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The requested number of positions in reading direction, or fewer if there are no more.
    Enough(Vec<Keyset>),
    /// Positions older than this one must be read first.
    Beyond(Keyset),
    /// The page is too far from the positions kept.
    Elsewhere,
}

fn random_half(id: DbId) -> u64 {
    id.0.as_u64_pair().1
}

impl Timeline {
    /// Creates a timeline from a read that requested a number of positions. The read began when `next` was the number of the next
    /// recent post of the generation.
    pub(super) fn new(loaded: Loaded, visible: Visible, requested: usize, (generation, next): (u64, u64)) -> Self {
        let mut followed: Box<[u64]> = loaded.followed.into_iter().map(random_half).collect();
        followed.sort_unstable();
        let is_whole = loaded.keys.len() < requested;
        let (version, keys) = (loaded.version, loaded.keys);
        Self { version, visible, followed, keys, is_whole, generation, next, read_at: Instant::now() }
    }

    /// Returns whether it has the posts of these visibilities, and is younger than `age`.
    pub(super) fn is_of(&self, visible: Visible, age: Duration) -> bool {
        self.visible == visible && self.read_at.elapsed() < age
    }

    /// Returns its approximate size in bytes.
    pub(super) fn weight(&self) -> u64 {
        let bytes = size_of::<Self>() + self.followed.len() * size_of::<u64>() + self.keys.len() * size_of::<Keyset>();
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Adds recent posts.
    pub(super) fn add<'a>(&mut self, posts: impl Iterator<Item = &'a NewPost>) {
        for post @ NewPost { key, .. } in posts {
            if !self.is_candidate(post) {
                continue;
            }
            let Err(place) = self.keys.binary_search_by(|kept| key.cmp(kept)) else { continue };
            // Posts older than those kept are found when older positions are read.
            if place < self.keys.len() || self.is_whole {
                self.keys.insert(place, *key);
            }
        }
        if self.keys.len() > MAX_CACHED_POSITIONS {
            self.keys.truncate(MAX_CACHED_POSITIONS);
            self.is_whole = false;
        }
    }

    /// Returns whether a post belongs in `window` but is missing in `among`, all the positions there.
    pub(super) fn is_missing(&self, post: &NewPost, among: &[Keyset], window: &Window) -> bool {
        window.contains(post.key) && self.is_candidate(post) && !among.contains(&post.key)
    }

    fn is_candidate(&self, post: &NewPost) -> bool {
        self.visible.contains(&post.visibility) && self.followed.binary_search(&random_half(post.author)).is_ok()
    }

    /// Returns up to `wanted` positions of a window, from its beginning on.
    pub(super) fn part(&self, window: &Window, wanted: usize) -> Part {
        let (below, above) = window.bounds();
        let first = below.map_or(0, |below| self.keys.partition_point(|key| *key >= below));
        let end = above.map_or(self.keys.len(), |above| self.keys.partition_point(|key| *key > above));
        // The range of an empty window may end before it begins.
        let part = self.keys.get(first..end).unwrap_or_default();
        let oldest = self.keys.last().copied();
        let is_kept = |key| oldest.is_some_and(|oldest| key >= oldest);
        match (window.toward, oldest) {
            (Toward::Older, _) if part.len() >= wanted || self.is_whole => {
                Part::Enough(part.iter().take(wanted).copied().collect())
            }
            // The position itself may be the oldest one kept; older ones were never read.
            (Toward::Older, Some(oldest)) if first < self.keys.len() || below == Some(oldest) => Part::Beyond(oldest),
            // All positions newer than the oldest one kept are there.
            (Toward::Newer, _) if self.is_whole || above.is_some_and(is_kept) => {
                Part::Enough(part.iter().rev().take(wanted).copied().collect())
            }
            _ => Part::Elsewhere,
        }
    }

    /// Adds positions older than `end`, of which `requested` were requested. The read began when `next` was the number of the
    /// next recent post. Returns `false` if there is no room for them.
    pub(super) fn extend(&mut self, end: Keyset, older: Vec<Keyset>, requested: usize, next: u64) -> bool {
        // Another request has extended it meanwhile, or it was trimmed.
        if self.keys.last() != Some(&end) {
            return true;
        }
        if self.keys.len() + older.len() > MAX_CACHED_POSITIONS {
            return false;
        }
        // A recent post may have been skipped as older than the end, and stored after these positions were read: it is added
        // again.
        self.next = self.next.min(next);
        self.is_whole = older.len() < requested;
        self.keys.extend(older);
        true
    }
}

#[cfg(test)]
mod tests {
    use agora_domain::clock::Timestamp;
    use uuid::Uuid;

    use super::*;

    fn key(n: i64) -> Keyset {
        Keyset { at: Timestamp::from_unix_millis(n), id: Uuid::nil() }
    }

    fn author(n: u64) -> DbId {
        DbId(Uuid::from_u64_pair(0, n))
    }

    fn post(by: u64, n: i64) -> NewPost {
        NewPost { transaction: 0, author: author(by), key: key(n), visibility: 1 }
    }

    /// Returns the timeline of a viewer who follows 1 and 2, from a read that requested `requested` positions and found posts of
    /// these instants.
    fn timeline(instants: &[i64], requested: usize) -> Timeline {
        let keys = instants.iter().copied().map(key).collect();
        let loaded = Loaded { version: 1, snapshot: Snapshot::default(), followed: vec![author(2), author(1)], keys };
        Timeline::new(loaded, [0, 1, 0], requested, (0, 0))
    }

    fn enough(instants: &[i64]) -> Part {
        Part::Enough(instants.iter().copied().map(key).collect())
    }

    fn after(n: i64) -> Window {
        Window { toward: Toward::Older, after: Some(key(n)), until: None }
    }

    fn before(n: i64) -> Window {
        Window { toward: Toward::Newer, after: Some(key(n)), until: None }
    }

    const FROM_START: Window = Window { toward: Toward::Older, after: None, until: None };
    const FROM_END: Window = Window { toward: Toward::Newer, after: None, until: None };

    #[test]
    fn a_page_has_the_posts_after_a_position() {
        let timeline = timeline(&[9, 7, 5, 3], 5);
        assert_eq!(timeline.part(&FROM_START, 3), enough(&[9, 7, 5]));
        assert_eq!(timeline.part(&after(7), 3), enough(&[5, 3]));
        assert_eq!(timeline.part(&after(6), 1), enough(&[5]));
        assert_eq!(timeline.part(&after(3), 3), enough(&[]), "the end of a whole feed");
    }

    #[test]
    fn a_page_before_a_position_has_the_nearest_posts() {
        let mut timeline = timeline(&[9, 7, 5, 3], 5);
        assert_eq!(timeline.part(&before(3), 2), enough(&[5, 7]));
        assert_eq!(timeline.part(&before(4), 9), enough(&[5, 7, 9]));
        assert_eq!(timeline.part(&before(9), 2), enough(&[]), "the beginning");
        assert_eq!(timeline.part(&FROM_END, 2), enough(&[3, 5]), "the end of a whole feed");
        assert_eq!(timeline.part(&Window { until: Some(key(7)), ..before(3) }, 9), enough(&[5]), "7 is a bound");
        assert_eq!(timeline.part(&Window { until: Some(key(5)), ..before(6) }, 9), enough(&[]), "bounds crossed");
        timeline.is_whole = false;
        assert_eq!(timeline.part(&before(3), 2), enough(&[5, 7]), "before the oldest that is kept");
        assert_eq!(timeline.part(&before(2), 2), Part::Elsewhere, "there may be more in between");
        assert_eq!(timeline.part(&FROM_END, 2), Part::Elsewhere);
    }

    #[test]
    fn older_posts_are_read_from_the_oldest_position_kept() {
        let mut timeline = timeline(&[9, 7, 5, 3], 4);
        assert_eq!(timeline.part(&FROM_START, 4), enough(&[9, 7, 5, 3]));
        assert_eq!(timeline.part(&FROM_START, 5), Part::Beyond(key(3)));
        assert_eq!(timeline.part(&after(7), 3), Part::Beyond(key(3)));
        assert_eq!(timeline.part(&after(3), 1), Part::Beyond(key(3)));
        assert_eq!(timeline.part(&after(2), 1), Part::Elsewhere);
        assert!(timeline.extend(key(3), vec![key(2), key(1)], 3, 0));
        assert_eq!(timeline.part(&after(7), 9), enough(&[5, 3, 2, 1]));
        assert_eq!(timeline.part(&after(2), 9), enough(&[1]), "whole now");
    }

    #[test]
    fn new_posts_of_followed_authors_are_inserted_in_order() {
        let mut timeline = timeline(&[9, 7, 5], 3);
        let hidden = NewPost { visibility: 2, ..post(1, 8) };
        let posts = [post(1, 10), post(3, 11), post(2, 6), post(1, 9), post(2, 4), hidden];
        timeline.add(posts.iter());
        timeline.add(posts.iter());
        assert_eq!(timeline.part(&FROM_START, 5), enough(&[10, 9, 7, 6, 5]), "4 is beyond the end");
        assert_eq!(timeline.part(&FROM_START, 6), Part::Beyond(key(5)));
    }

    #[test]
    fn only_candidates_within_the_window_are_missing() {
        let timeline = timeline(&[9, 7, 5], 9);
        for window in [Window { until: Some(key(5)), ..after(8) }, Window { until: Some(key(8)), ..before(5) }] {
            let is_missing = |post| timeline.is_missing(&post, &[key(7)], &window);
            assert!(is_missing(post(1, 6)));
            assert!(!is_missing(post(1, 7)), "it is there");
            assert!(!is_missing(post(3, 6)), "not followed");
            assert!(!is_missing(NewPost { visibility: 2, ..post(1, 6) }), "hidden");
            assert!(!is_missing(post(1, 10)), "on a page before it");
            assert!(!is_missing(post(1, 4)), "on a page after it");
        }
        assert!(timeline.is_missing(&post(1, 4), &[key(7), key(5)], &FROM_START));
    }

    #[test]
    fn a_timeline_does_not_grow_beyond_its_limit() {
        let mut timeline = timeline(&[5], 9);
        let posts: Vec<_> = (0..1000).map(|n| post(1, 10 + n)).collect();
        timeline.add(posts.iter());
        assert_eq!(timeline.keys.len(), MAX_CACHED_POSITIONS);
        assert_eq!(timeline.part(&after(20), 1), Part::Elsewhere, "no longer whole");
        let end = *timeline.keys.last().unwrap();
        assert!(!timeline.extend(end, vec![key(1)], 9, 0));
    }
}
