//! A walk through what may be found, from a position on, until what was found is final.

use std::cmp::Ordering;
use std::collections::VecDeque;

use agora_domain::page::Keyset;

use super::buckets::Candidates;
use super::values::BUCKET;
use crate::rows::{Slice, Toward, keyset};
use crate::sql_types::{DbId, DbInstant};

/// A document that was looked at: its position, its number, and whether it is found: `None` where its words are, but it is gone.
pub(crate) type Looked = (DbInstant, DbId, i64, Option<bool>);

/// What was found so far, and where to look next.
#[derive(Debug)]
pub(crate) struct Found {
    slice: Slice,
    limit: usize,
    /// The nearest to the position first, each once.
    keys: Vec<Keyset>,
    /// The buckets that are left of a chunk, those with the nearest entries first.
    left: VecDeque<Candidates>,
    /// Before what all entries of later chunks are; none when there are no more.
    later: Option<Keyset>,
}

impl Found {
    /// Begins with what was found among those that are in no bucket.
    pub(crate) fn new(slice: Slice, tail: Vec<(DbInstant, DbId)>) -> Self {
        let limit = usize::try_from(slice.limit).unwrap_or(usize::MAX);
        let keys = tail.into_iter().map(|(at, id)| keyset(at, id)).collect();
        Self { slice, limit, keys, left: VecDeque::new(), later: None }
    }

    /// Goes on with some buckets, behind which there are others or not.
    pub(crate) fn begin(&mut self, chunk: Vec<Candidates>, is_more: bool) {
        self.later = chunk.last().map(|bucket| bucket.nearest).filter(|_| is_more);
        self.left = chunk.into_iter().filter(|bucket| !bucket.documents.is_empty()).collect();
    }

    /// Returns whether nothing that is left can come before the last of so many as are wanted.
    pub(crate) fn is_complete(&self) -> bool {
        let Some(last) = self.limit.checked_sub(1).and_then(|last| self.keys.get(last)) else {
            return self.is_at_end();
        };
        // Of buckets that were begun, the second may have nearer entries than what is left of the first.
        let bounds = self.left.iter().take(2).map(|bucket| bucket.nearest).chain(self.later);
        bounds.into_iter().all(|bound| self.order(last, &bound) != Ordering::Greater)
    }

    fn is_at_end(&self) -> bool {
        self.left.is_empty() && self.later.is_none()
    }

    /// Returns the numbers of the documents to look at next, so many at most; nothing when the chunk is done or what was
    /// found is final.
    pub(crate) fn next(&mut self, most: usize) -> Option<Vec<i64>> {
        if self.left.is_empty() || self.is_complete() {
            return None;
        }
        let mut numbers = Vec::new();
        while let Some(bucket) = self.left.front_mut().filter(|_| numbers.len() < most) {
            let count = bucket.documents.len().min(most - numbers.len());
            numbers.extend(bucket.documents.drain(..count));
            if bucket.documents.is_empty() {
                self.left.pop_front();
            }
        }
        Some(numbers)
    }

    /// Adds what is found of the documents that were looked at.
    pub(crate) fn add(&mut self, looked: Vec<Looked>) {
        if let Some(bucket) = self.left.front() {
            // What is left of it is beyond what was looked at.
            let (number, mut nearest) = (bucket.place.bucket, bucket.nearest);
            for (at, id, document, _) in &looked {
                let key = keyset(*at, *id);
                if *document / BUCKET == number && self.order(&nearest, &key) == Ordering::Less {
                    nearest = key;
                }
            }
            if let Some(bucket) = self.left.front_mut() {
                bucket.nearest = nearest;
            }
        }
        let position = keyset(self.slice.after.0, self.slice.after.1);
        let found =
            looked.into_iter().filter(|(.., is_found)| *is_found == Some(true)).map(|(at, id, ..)| keyset(at, id));
        let found: Vec<_> = found.filter(|key| self.order(&position, key) == Ordering::Less).collect();
        self.extend(found);
    }

    /// Adds what was found of the tail since: what was looked for in a bucket and gone from it may be there now.
    pub(crate) fn add_tail(&mut self, tail: Vec<(DbInstant, DbId)>) {
        self.extend(tail.into_iter().map(|(at, id)| keyset(at, id)).collect());
    }

    fn extend(&mut self, found: Vec<Keyset>) {
        self.keys.extend(found);
        let toward = self.slice.toward;
        self.keys.sort_unstable_by(|one, other| order(toward, one, other));
        // What was packed meanwhile was found in the tail before.
        self.keys.dedup();
        self.keys.truncate(self.limit);
    }

    /// Returns the positions of what was found, the nearest first, as many as are wanted.
    pub(crate) fn into_keys(self) -> Vec<Keyset> {
        self.keys
    }

    fn order(&self, one: &Keyset, other: &Keyset) -> Ordering {
        order(self.slice.toward, one, other)
    }
}

/// Which of two positions is come upon first.
fn order(toward: Toward, one: &Keyset, other: &Keyset) -> Ordering {
    match toward {
        Toward::Older => other.cmp(one),
        Toward::Newer => one.cmp(other),
    }
}
