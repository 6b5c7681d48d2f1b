//! The posts that came in lately, in the order in which they came to be seen.

use std::collections::VecDeque;

use agora_domain::page::Keyset;

use crate::sql_types::DbId;

/// A place in the order in which posts come to be seen by others: what comes later has the same mark or a larger one.
/// On PostgreSQL the number of the transaction that stored the post, on SQLite that of the announcement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Mark(pub(crate) u64);

/// A post that came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewPost {
    pub(crate) mark: Mark,
    pub(crate) author: DbId,
    pub(crate) key: Keyset,
}

/// How many posts are kept: what comes in between two looks at one feed. Whoever looks less often is read anew.
const KEPT: usize = 16 * 1024;

/// The posts with marks from `from` on and before `to`; all of them.
#[derive(Debug, Default)]
pub(super) struct Recent {
    posts: VecDeque<NewPost>,
    from: Mark,
    to: Mark,
}

impl Recent {
    /// Up to where all posts are known.
    pub(super) fn to(&self) -> Mark {
        self.to
    }

    /// Nothing is known before the mark, and all posts are up to it.
    pub(super) fn start(&mut self, at: Mark) {
        *self = Self { posts: VecDeque::new(), from: at, to: at };
    }

    /// Takes in all posts from [`to`](Self::to), or an earlier mark, up to a new end.
    pub(super) fn extend(&mut self, mut posts: Vec<NewPost>, to: Mark) {
        posts.retain(|post| self.to <= post.mark && post.mark < to);
        posts.sort_by_key(|post| post.mark);
        self.posts.extend(posts);
        self.to = self.to.max(to);
        while self.posts.len() > KEPT {
            // What shares the mark of the last one dropped would be a part of the posts of that mark.
            let Some(dropped) = self.posts.pop_front() else { return };
            self.from = Mark(dropped.mark.0 + 1);
        }
        while self.posts.front().is_some_and(|post| post.mark < self.from) {
            self.posts.pop_front();
        }
    }

    /// The next post, where marks are counted one by one.
    pub(super) fn push(&mut self, author: DbId, key: Keyset) {
        let to = Mark(self.to.0 + 1);
        self.extend(vec![NewPost { mark: self.to, author, key }], to);
    }

    /// The posts from a mark on; nothing when some of them are not known any more, or not yet.
    pub(super) fn since(&self, mark: Mark) -> Option<impl Iterator<Item = &NewPost>> {
        let is_known = self.from <= mark && mark <= self.to;
        let first = self.posts.partition_point(|post| post.mark < mark);
        is_known.then(|| self.posts.range(first..))
    }
}

#[cfg(test)]
mod tests {
    use agora_domain::clock::Timestamp;
    use uuid::Uuid;

    use super::*;

    fn post(mark: u64) -> NewPost {
        let key = Keyset { at: Timestamp::from_unix_millis(0), id: Uuid::from_u128(mark.into()) };
        NewPost { mark: Mark(mark), author: DbId(Uuid::nil()), key }
    }

    fn marks(recent: &Recent, since: u64) -> Option<Vec<u64>> {
        Some(recent.since(Mark(since))?.map(|post| post.mark.0).collect())
    }

    #[test]
    fn what_is_known_twice_is_kept_once() {
        let mut recent = Recent::default();
        recent.start(Mark(10));
        recent.extend(vec![post(12), post(11), post(15)], Mark(13));
        recent.extend(vec![post(11), post(12), post(13), post(15)], Mark(13));
        recent.extend(vec![post(13), post(15)], Mark(16));
        assert_eq!(marks(&recent, 10), Some(vec![11, 12, 13, 15]));
        assert_eq!(marks(&recent, 13), Some(vec![13, 15]));
        assert_eq!(marks(&recent, 16), Some(vec![]));
    }

    #[test]
    fn what_is_not_known_is_said() {
        let mut recent = Recent::default();
        recent.start(Mark(10));
        recent.extend(vec![post(11)], Mark(12));
        assert_eq!(marks(&recent, 9), None, "before the beginning");
        assert_eq!(marks(&recent, 13), None, "after the end");
        let many = (12..20_000).map(post).collect();
        recent.extend(many, Mark(20_000));
        assert_eq!(marks(&recent, 10), None, "dropped");
        assert_eq!(recent.posts.len(), KEPT);
        let oldest = recent.posts.front().unwrap().mark.0;
        assert_eq!(marks(&recent, oldest).unwrap().len(), KEPT);
        assert_eq!(marks(&recent, oldest - 1), None);
    }

    #[test]
    fn the_posts_of_one_mark_are_kept_or_dropped_together() {
        let mut recent = Recent::default();
        recent.extend((0..KEPT + 10).map(|n| post(if n < 100 { 1 } else { 2 })).collect(), Mark(3));
        assert_eq!(marks(&recent, 1), None);
        assert_eq!(marks(&recent, 2).unwrap().len(), KEPT - 90);
    }
}
