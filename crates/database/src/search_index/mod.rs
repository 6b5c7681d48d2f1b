//! Searching: what is found, by which rows, and how the rows come to be.
//!
//! A thing is found exactly if the words stored for it contain every needle of the query. They are stored with the
//! thing, so what is looked for right after is found. All else narrows down where to look. The newest, some two
//! thousand of each kind, are looked at one after the other (the tail). Older ones were packed, which moved them: a
//! bucket is about a thousand documents in the order of time, and for each of its words there is a row of
//! `search_postings` that says which of them have it. A search goes through the tail and then, from the position of the
//! page on, through buckets, some at a time. It reads the postings of its words in them, intersects these, and looks at
//! the rows that are left, together with the rule of who may find them. What it has found is final once no bucket that
//! is left has anything nearer. A word that some buckets have not may be rare: if so, the buckets that have it are all
//! that is left to look at. Each step is a statement of bounded size. A document that was deleted or changed
//! keeps its number in postings for some minutes, by which no row is found any more: then the tail is looked at again, and
//! the buckets that were made since the search began. `search_deletions` has those numbers until they are taken out of
//! the postings, and a bucket goes when nothing is left of it.
//!
//! Tried or reckoned before: GIN indexes give matches in no order, so that a page of a common word takes all of them,
//! and forget which words are side by side; `tsvector` has its own idea of words and no more than 16,383 positions;
//! FTS5 writes at each savepoint, of which the writer has one for each request, and cuts texts otherwise than
//! PostgreSQL, so that the two databases would find different things. An index of words and positions in the order of
//! time, with words of ours, in both databases (as RUM is for one of them) would replace all of this.

mod buckets;
mod contains;
mod values;
mod walk;

pub(crate) use self::buckets::{
    BucketPlace, BucketRow, Buckets, Chunk, PackedBucket, Posting, PostingRow, beyond, candidates, narrow, without,
};
pub(crate) use self::contains::Contains;
pub(crate) use self::values::{Among, BUCKET, Packing, TextRow, kind_code};
pub(crate) use self::walk::{Found, Looked};
