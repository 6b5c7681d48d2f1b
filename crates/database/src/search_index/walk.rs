//! The state of a search, which checks candidates from a position on until its results are final.

use std::cmp::Ordering;
use std::collections::VecDeque;

use agora_domain::page::Keyset;

use super::buckets::Candidates;
use super::values::BUCKET;
use crate::rows::{Slice, Toward, keyset};
use crate::sql_types::{DbId, DbInstant};

/// A document that was checked: its position (time and id), its number, and whether it matches; `None` if its words are still
/// stored, but it no longer exists.
pub(crate) type CheckedDocument = (DbInstant, DbId, i64, Option<bool>);

/// The matches found so far, and the candidates to check next.
#[derive(Debug)]
pub(crate) struct Found {
    slice: Slice,
    limit: usize,
    /// The positions of the matches, the nearest first, without duplicates.
    keys: Vec<Keyset>,
    /// The remaining buckets of the current chunk, those with the nearest documents first.
    left: VecDeque<Candidates>,
    /// A bound: no document of later chunks comes before this position in reading direction. `None` if there are no more chunks.
    later: Option<Keyset>,
}

impl Found {
    /// Begins with the matches of the tail.
    pub(crate) fn new(slice: Slice, tail: Vec<(DbInstant, DbId)>) -> Self {
        let limit = usize::try_from(slice.limit).unwrap_or(usize::MAX);
        let keys = tail.into_iter().map(|(at, id)| keyset(at, id)).collect();
        Self { slice, limit, keys, left: VecDeque::new(), later: None }
    }

    /// Continues with a chunk of buckets. `is_more` tells whether there may be others after it.
    pub(crate) fn begin_chunk(&mut self, chunk: Vec<Candidates>, is_more: bool) {
        self.later = chunk.last().map(|bucket| bucket.nearest).filter(|_| is_more);
        self.left = chunk.into_iter().filter(|bucket| !bucket.documents.is_empty()).collect();
    }

    /// Returns whether the results are final: no remaining candidate can come before the last of the wanted matches.
    pub(crate) fn is_complete(&self) -> bool {
        let Some(last) = self.limit.checked_sub(1).and_then(|last| self.keys.get(last)) else {
            return self.is_at_end();
        };
        // If the first bucket was checked in part, the second may have nearer documents than the rest of the first.
        let bounds = self.left.iter().take(2).map(|bucket| bucket.nearest).chain(self.later);
        bounds.into_iter().all(|bound| self.order(last, &bound) != Ordering::Greater)
    }

    fn is_at_end(&self) -> bool {
        self.left.is_empty() && self.later.is_none()
    }

    /// Returns the numbers of the documents to check next, `most` at most; `None` if the chunk is done or the results are final.
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

    /// Adds the matches among the documents that were checked.
    pub(crate) fn add(&mut self, checked: Vec<CheckedDocument>) {
        if let Some(bucket) = self.left.front() {
            // The rest of the bucket is beyond the documents that were checked.
            let (number, mut nearest) = (bucket.place.bucket, bucket.nearest);
            for (at, id, document, _) in &checked {
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
            checked.into_iter().filter(|(.., is_found)| *is_found == Some(true)).map(|(at, id, ..)| keyset(at, id));
        let found: Vec<_> = found.filter(|key| self.order(&position, key) == Ordering::Less).collect();
        self.extend(found);
    }

    /// Adds the matches of a later read of the tail: a document that was missing in its bucket may be there now.
    pub(crate) fn add_tail(&mut self, tail: Vec<(DbInstant, DbId)>) {
        self.extend(tail.into_iter().map(|(at, id)| keyset(at, id)).collect());
    }

    fn extend(&mut self, found: Vec<Keyset>) {
        self.keys.extend(found);
        let toward = self.slice.toward;
        self.keys.sort_unstable_by(|one, other| order(toward, one, other));
        // A document that was packed meanwhile may have been found in the tail before.
        self.keys.dedup();
        self.keys.truncate(self.limit);
    }

    /// Returns the positions of the matches, the nearest first, as many as are wanted.
    pub(crate) fn into_keys(self) -> Vec<Keyset> {
        self.keys
    }

    fn order(&self, one: &Keyset, other: &Keyset) -> Ordering {
        order(self.slice.toward, one, other)
    }
}

/// Orders two positions in reading direction.
fn order(toward: Toward, one: &Keyset, other: &Keyset) -> Ordering {
    match toward {
        Toward::Older => other.cmp(one),
        Toward::Newer => one.cmp(other),
    }
}
