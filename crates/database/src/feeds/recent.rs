//! The recently added posts, numbered in the order in which this node learned of them.

use std::collections::{HashSet, VecDeque};

use agora_domain::page::Keyset;
use diesel::deserialize::FromSqlRow;
use uuid::Uuid;

use crate::sql_types::DbId;

/// A snapshot of the database: the set of transactions that are visible at a moment, which are those with ids below an end,
/// except those still running. Of two snapshots of one database, the later one sees all that the earlier one does. SQLite has a
/// single writer and needs only one snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq, FromSqlRow)]
pub(crate) struct Snapshot {
    /// The first transaction id that is not visible; nor are any after it.
    pub(crate) end: u64,
    /// The ids below `end` of transactions that were running.
    pub(crate) running: Vec<u64>,
}

impl Snapshot {
    fn sees(&self, transaction: u64) -> bool {
        transaction < self.end && !self.running.contains(&transaction)
    }

    /// Returns whether this snapshot sees all transactions that another one does.
    pub(super) fn sees_all_of(&self, other: &Self) -> bool {
        self.end >= other.end && self.running.iter().all(|running| !other.sees(*running))
    }
}

/// A post that was added, or that became visible to more people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewPost {
    /// The id of the transaction that stored it; 0 on SQLite.
    pub(crate) transaction: u64,
    pub(crate) author: DbId,
    pub(crate) key: Keyset,
    pub(crate) visibility: i16,
}

/// The maximum number of posts kept. A feed is reloaded if more posts were added since it was last requested.
const MAX_POSTS: usize = 16 * 1024;

/// All posts that became visible between a first snapshot and the `known` one, except those dropped.
#[derive(Debug, Default)]
pub(super) struct Recent {
    posts: VecDeque<NewPost>,
    /// The number of the first post that is kept.
    first: u64,
    known: Option<Snapshot>,
    /// The posts that were added although `known` does not see their transactions. A replica returns posts beyond its snapshot,
    /// and returns them again until the transactions before them have ended.
    early: HashSet<(u64, Uuid, i16)>,
    /// The number of restarts. Data read in one generation is not valid in another.
    pub(super) generation: u64,
    /// The epoch of the database that the posts come from.
    pub(super) epoch: u64,
}

impl Recent {
    /// Returns the snapshot up to which all posts are known.
    pub(super) fn known(&self) -> Option<&Snapshot> {
        self.known.as_ref()
    }

    /// Returns the number of the next post.
    pub(super) fn next(&self) -> u64 {
        self.first + self.posts.len() as u64
    }

    /// Drops all posts and begins a new generation.
    pub(super) fn restart(&mut self, known: Option<Snapshot>) {
        self.first = self.next();
        self.posts.clear();
        self.early.clear();
        self.known = known;
        self.generation += 1;
    }

    /// Restarts if the epoch has grown, which means that the connections may lead to another database than before.
    pub(super) fn restart_in_epoch(&mut self, epoch: u64) {
        if self.epoch < epoch {
            self.epoch = epoch;
            self.restart(None);
        }
    }

    /// Registers a read of a feed in the given snapshot and generation, begun when no snapshot was known unless `was_known`.
    /// Returns whether every post that the read has not seen gets at least the number that was next when the read began.
    pub(super) fn register_read(&mut self, generation: u64, was_known: bool, read: &Snapshot) -> bool {
        if self.generation != generation {
            return false;
        }
        // The read has seen everything that was known when it began.
        was_known || read.sees_all_of(self.known.get_or_insert_with(|| read.clone()))
    }

    /// Adds the posts that `now` sees and that the known snapshot does not, and makes `now` the known one. Does nothing in
    /// another generation, or if `now` does not see everything that the known snapshot does.
    pub(super) fn extend(&mut self, generation: u64, posts: Vec<NewPost>, now: Snapshot) {
        let Some(known) = self.known.as_ref().filter(|known| now.sees_all_of(known)) else { return };
        if self.generation != generation {
            return;
        }
        let identity = |post: &NewPost| (post.transaction, post.key.id, post.visibility);
        let is_new = |post: &NewPost| !known.sees(post.transaction) && !self.early.contains(&identity(post));
        let new: Vec<_> = posts.into_iter().filter(is_new).collect();
        self.early.extend(new.iter().map(identity));
        self.early.retain(|(transaction, ..)| !now.sees(*transaction));
        self.known = Some(now);
        self.add(new);
    }

    /// Adds posts. If there are [`MAX_POSTS`], it drops the first one for each: the queue would otherwise grow to twice its
    /// memory.
    pub(super) fn add(&mut self, posts: impl IntoIterator<Item = NewPost>) {
        for post in posts {
            if self.posts.len() == MAX_POSTS {
                self.posts.pop_front();
                self.first += 1;
            }
            self.posts.push_back(post);
        }
    }

    /// Returns the posts from a number on, or `None` if some of them were dropped.
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
    fn each_post_is_added_once_even_if_its_transaction_committed_late() {
        let mut recent = Recent::default();
        recent.restart(Some(snapshot(10, &[8])));
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
    fn a_post_beyond_the_snapshot_of_a_replica_is_added_once() {
        let mut recent = Recent::default();
        recent.restart(Some(snapshot(10, &[])));
        let now = recent.generation;
        // The transaction with id 10 is still running.
        recent.extend(now, vec![post(11), post(12)], snapshot(10, &[]));
        recent.extend(now, vec![post(11), post(12), post(13)], snapshot(10, &[]));
        assert_eq!(transactions(&recent, 0), Some(vec![11, 12, 13]));
        recent.extend(now, vec![post(10), post(11), post(12), post(13)], snapshot(14, &[]));
        assert_eq!(transactions(&recent, 0), Some(vec![11, 12, 13, 10]));
        assert!(recent.early.is_empty());
        recent.extend(now, vec![post(14)], snapshot(14, &[]));
        recent.restart(Some(snapshot(14, &[])));
        recent.extend(recent.generation, vec![post(14)], snapshot(15, &[]));
        assert_eq!(transactions(&recent, recent.first), Some(vec![14]), "known again");
    }

    #[test]
    fn reads_begun_before_a_restart_are_ignored() {
        let mut recent = Recent::default();
        recent.restart(Some(snapshot(10, &[])));
        let before = recent.generation;
        recent.restart_in_epoch(1);
        assert!(!recent.register_read(before, true, &snapshot(11, &[])));
        assert!(recent.register_read(recent.generation, false, &snapshot(20, &[])), "the first to say what is known");
        assert!(!recent.register_read(recent.generation, false, &snapshot(19, &[])), "read before it");
        recent.extend(before, vec![post(21)], snapshot(22, &[]));
        assert_eq!(transactions(&recent, 0), Some(vec![]));
        recent.restart_in_epoch(1);
        assert_eq!(recent.known(), Some(&snapshot(20, &[])), "the same epoch");
    }

    #[test]
    fn dropped_posts_are_not_returned() {
        let mut recent = Recent::default();
        recent.restart(Some(snapshot(0, &[])));
        let many = MAX_POSTS as u64 + 10;
        recent.extend(recent.generation, (0..many).map(post).collect(), snapshot(many, &[]));
        assert_eq!(transactions(&recent, 9), None);
        assert_eq!(transactions(&recent, 10).unwrap().len(), MAX_POSTS);
        assert_eq!(recent.posts.capacity(), MAX_POSTS, "no room for more than is kept");
    }
}
