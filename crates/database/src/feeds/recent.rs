//! The posts that came in lately, numbered in the order in which this node learned of them.

use std::collections::{HashSet, VecDeque};

use agora_domain::page::Keyset;
use diesel::deserialize::FromSqlRow;
use uuid::Uuid;

use crate::sql_types::DbId;

/// Which transactions are seen at a moment: those below an end, but for those still running then. Of two moments of one
/// database, the later one sees all that the earlier one does. SQLite, where nobody else writes, needs only one.
#[derive(Debug, Clone, Default, PartialEq, Eq, FromSqlRow)]
pub(crate) struct Snapshot {
    /// No transaction from here on is seen.
    pub(crate) end: u64,
    /// Those below it that were running.
    pub(crate) running: Vec<u64>,
}

impl Snapshot {
    fn sees(&self, transaction: u64) -> bool {
        transaction < self.end && !self.running.contains(&transaction)
    }

    /// Returns whether it sees all that another one does.
    pub(super) fn sees_all_of(&self, other: &Self) -> bool {
        self.end >= other.end && self.running.iter().all(|running| !other.sees(*running))
    }
}

/// A post that came in, or that is shown to others than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewPost {
    /// What stored it; 0 on SQLite.
    pub(crate) transaction: u64,
    pub(crate) author: DbId,
    pub(crate) key: Keyset,
    pub(crate) visibility: i16,
}

/// How many posts are kept: what comes in between two looks at one feed. Whoever looks less often is read anew.
const KEPT: usize = 16 * 1024;

/// All posts that came to be seen from a first snapshot on, up to the one that is known, but for those dropped.
#[derive(Debug, Default)]
pub(super) struct Recent {
    posts: VecDeque<NewPost>,
    /// The number of the first post that is kept.
    first: u64,
    known: Option<Snapshot>,
    /// What was taken in of transactions that `known` does not see: a replica tells of posts beyond its snapshot, and does so again
    /// until the transactions before them have ended.
    early: HashSet<(u64, Uuid, i16)>,
    /// Counts how often it began anew: what was read before has nothing to do with what comes after.
    pub(super) generation: u64,
    /// Of which database all this is.
    pub(super) epoch: u64,
}

impl Recent {
    /// Up to where posts are known.
    pub(super) fn known(&self) -> Option<&Snapshot> {
        self.known.as_ref()
    }

    /// Returns the number of the next post.
    pub(super) fn next(&self) -> u64 {
        self.first + self.posts.len() as u64
    }

    /// Begins anew.
    pub(super) fn start(&mut self, known: Option<Snapshot>) {
        self.first = self.next();
        self.posts.clear();
        self.early.clear();
        self.known = known;
        self.generation += 1;
    }

    /// Begins anew when there may be another database in the place of the one that was there.
    pub(super) fn renew(&mut self, epoch: u64) {
        if self.epoch < epoch {
            self.epoch = epoch;
            self.start(None);
        }
    }

    /// Says what was read by a snapshot in the given generation, when `next` was the next number and perhaps nothing was
    /// known; whether all that comes in later has that number or a larger one.
    pub(super) fn join(&mut self, generation: u64, was_known: bool, read: &Snapshot) -> bool {
        if self.generation != generation {
            return false;
        }
        // What was known when the read began, it has seen.
        was_known || read.sees_all_of(self.known.get_or_insert_with(|| read.clone()))
    }

    /// Takes in all posts that `now` sees and what was known in the given generation did not.
    pub(super) fn extend(&mut self, generation: u64, posts: Vec<NewPost>, now: Snapshot) {
        let Some(known) = self.known.as_ref().filter(|known| now.sees_all_of(known)) else { return };
        if self.generation != generation {
            return;
        }
        let same = |post: &NewPost| (post.transaction, post.key.id, post.visibility);
        let is_new = |post: &NewPost| !known.sees(post.transaction) && !self.early.contains(&same(post));
        let new: Vec<_> = posts.into_iter().filter(is_new).collect();
        self.early.extend(new.iter().map(same));
        self.early.retain(|(transaction, ..)| !now.sees(*transaction));
        self.known = Some(now);
        self.add(new);
    }

    /// Takes in posts, where each is said. Where there are [`KEPT`], the next comes in the place of the first: with one
    /// more, the queue would take twice the memory.
    pub(super) fn add(&mut self, posts: impl IntoIterator<Item = NewPost>) {
        for post in posts {
            if self.posts.len() == KEPT {
                self.posts.pop_front();
                self.first += 1;
            }
            self.posts.push_back(post);
        }
    }

    /// Returns the posts from a number on; nothing when some of them were dropped.
    pub(super) fn since(&self, number: u64) -> Option<impl Iterator<Item = &NewPost>> {
        let skipped = usize::try_from(number.checked_sub(self.first)?).ok()?;
        (skipped <= self.posts.len()).then(|| self.posts.range(skipped..))
    }
}

#[cfg(test)]
mod tests {
    use agora_domain::clock::Timestamp;

    use super::*;

    fn post(transaction: u64) -> NewPost {
        let key = Keyset { at: Timestamp::from_unix_millis(0), id: Uuid::from_u128(transaction.into()) };
        NewPost { transaction, author: DbId(Uuid::nil()), key, visibility: 0 }
    }

    fn snapshot(end: u64, running: &[u64]) -> Snapshot {
        Snapshot { end, running: running.to_vec() }
    }

    fn transactions(recent: &Recent, since: u64) -> Option<Vec<u64>> {
        Some(recent.since(since)?.map(|post| post.transaction).collect())
    }

    #[test]
    fn a_later_snapshot_sees_all_that_an_earlier_one_does() {
        let early = snapshot(10, &[7, 9]);
        for later in [snapshot(10, &[7, 9]), snapshot(10, &[9]), snapshot(12, &[7, 11]), snapshot(10, &[])] {
            assert!(later.sees_all_of(&early), "{later:?}");
        }
        for other in [snapshot(9, &[]), snapshot(10, &[8]), snapshot(12, &[5])] {
            assert!(!other.sees_all_of(&early), "{other:?}");
        }
    }

    #[test]
    fn each_post_comes_in_once_also_when_it_was_late() {
        let mut recent = Recent::default();
        recent.start(Some(snapshot(10, &[8])));
        let now = recent.generation;
        recent.extend(now, vec![post(11), post(12)], snapshot(14, &[8, 13]));
        recent.extend(now, vec![post(11)], snapshot(12, &[8]));
        assert_eq!(transactions(&recent, 0), Some(vec![11, 12]), "the second was read before the first");
        recent.extend(now, vec![post(11), post(12), post(8), post(13)], snapshot(15, &[]));
        assert_eq!(transactions(&recent, 0), Some(vec![11, 12, 8, 13]));
        assert_eq!(transactions(&recent, 3), Some(vec![13]));
        assert_eq!(transactions(&recent, 4), Some(vec![]));
        assert_eq!(transactions(&recent, 5), None);
    }

    #[test]
    fn what_is_beyond_the_snapshot_of_a_replica_comes_in_once() {
        let mut recent = Recent::default();
        recent.start(Some(snapshot(10, &[])));
        let now = recent.generation;
        // A transaction of number 10 goes on.
        recent.extend(now, vec![post(11), post(12)], snapshot(10, &[]));
        recent.extend(now, vec![post(11), post(12), post(13)], snapshot(10, &[]));
        assert_eq!(transactions(&recent, 0), Some(vec![11, 12, 13]));
        recent.extend(now, vec![post(10), post(11), post(12), post(13)], snapshot(14, &[]));
        assert_eq!(transactions(&recent, 0), Some(vec![11, 12, 13, 10]));
        assert!(recent.early.is_empty());
        recent.extend(now, vec![post(14)], snapshot(14, &[]));
        recent.start(Some(snapshot(14, &[])));
        recent.extend(recent.generation, vec![post(14)], snapshot(15, &[]));
        assert_eq!(transactions(&recent, recent.first), Some(vec![14]), "known anew");
    }

    #[test]
    fn what_was_read_before_a_new_beginning_does_not_count() {
        let mut recent = Recent::default();
        recent.start(Some(snapshot(10, &[])));
        let before = recent.generation;
        recent.renew(1);
        assert!(!recent.join(before, true, &snapshot(11, &[])));
        assert!(recent.join(recent.generation, false, &snapshot(20, &[])), "the first to say what is known");
        assert!(!recent.join(recent.generation, false, &snapshot(19, &[])), "read before it");
        recent.extend(before, vec![post(21)], snapshot(22, &[]));
        assert_eq!(transactions(&recent, 0), Some(vec![]));
        recent.renew(1);
        assert_eq!(recent.known(), Some(&snapshot(20, &[])), "the same epoch");
    }

    #[test]
    fn what_is_dropped_is_not_known() {
        let mut recent = Recent::default();
        recent.start(Some(snapshot(0, &[])));
        let many = KEPT as u64 + 10;
        recent.extend(recent.generation, (0..many).map(post).collect(), snapshot(many, &[]));
        assert_eq!(transactions(&recent, 9), None);
        assert_eq!(transactions(&recent, 10).unwrap().len(), KEPT);
        assert_eq!(recent.posts.capacity(), KEPT, "no room for more than is kept");
    }
}
