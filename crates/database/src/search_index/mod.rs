//! The search index: which documents match, how they are found, and how the index is built.
//!
//! A document is a post, an account or a product. It matches exactly if the words stored for it contain every needle of the
//! query. The words are stored in the transaction of the document, so that a search right after finds it. Everything else
//! reduces the number of documents to check.
//!
//! The newest documents, some two thousand of each kind, are the tail, and are checked one by one. Older ones are moved into
//! buckets ("packed"): a bucket has about a thousand documents in the order of time, and for each of its words a row of
//! `search_postings` that lists the documents that have it.
//!
//! A search reads the tail and then, from the position of the page on, chunks of buckets. It reads the postings of its words,
//! intersects them, and checks the remaining documents, including whether the viewer may find them. The results are final once no
//! remaining bucket has anything nearer to the position. A word that some buckets lack may be rare: if so, only the buckets that
//! have it remain to be searched. Each step is a statement of bounded size.
//!
//! The number of a deleted or changed document stays in postings for some minutes, but has no row any more. A search that meets
//! such a number reads the tail again, and the buckets made since it began. `search_deletions` has these numbers until they are
//! removed from the postings. A bucket without any documents left is deleted.
//!
//! Alternatives considered: GIN indexes return matches in no order, so that a page of a common word reads all of them, and do not
//! store which words are adjacent; `tsvector` has its own definition of words and at most 16,383 positions; FTS5 writes at
//! each savepoint, of which the writer has one for each request, and tokenizes differently from PostgreSQL, so that the
//! two databases would find different things. An index of words and positions in the order of time, with words of ours, in both
//! databases (as RUM is for PostgreSQL) would replace all of this.

mod buckets;
mod contains;
mod values;
mod walk;

pub(crate) use self::buckets::{
    BucketPlace, BucketRow, Buckets, Chunk, PackedBucket, Posting, PostingRow, beyond, candidates, remove_documents,
    retain_matching,
};
pub(crate) use self::contains::Contains;
pub(crate) use self::values::{Among, BUCKET, Packing, TextRow, kind_code};
pub(crate) use self::walk::{CheckedDocument, Found};
