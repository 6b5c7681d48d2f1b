//! Buckets: groups of documents, with an inverted index of their words.

use std::collections::{HashMap, HashSet};

use agora_domain::page::Keyset;
use agora_domain::search::{IndexedText, Kind};
use diesel::{Insertable, Queryable, Selectable};

use super::values::{BUCKET, kind_code};
use crate::rows::{After, Slice, Toward, keyset};
use crate::schema::{search_buckets, search_postings};
use crate::sql_types::{DbId, DbInstant};

/// The maximum number of pairs of a document and a word in a bucket, unless it has a single document. Packing more at once would
/// delay other writes.
const MAX_PAIRS: usize = 50_000;

/// The documents of a bucket that have a word.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable)]
#[diesel(table_name = search_postings, treat_none_as_default_value = false)]
pub(crate) struct PostingRow {
    pub(crate) kind: i16,
    pub(crate) bucket: i64,
    pub(crate) word: String,
    pub(crate) documents: Vec<u8>,
}

/// A bucket: the number of its documents, and the range of their positions.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable)]
#[diesel(table_name = search_buckets, treat_none_as_default_value = false)]
pub(crate) struct BucketRow {
    pub(crate) kind: i16,
    pub(crate) bucket: i64,
    pub(crate) documents: i16,
    pub(crate) oldest_at: DbInstant,
    pub(crate) oldest_id: DbId,
    pub(crate) newest_at: DbInstant,
    pub(crate) newest_id: DbId,
}

/// The place of a bucket in the order in which a search reads buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BucketPlace {
    pub(crate) at: DbInstant,
    pub(crate) id: DbId,
    pub(crate) bucket: i64,
}

impl BucketRow {
    fn place(&self, toward: Toward) -> BucketPlace {
        let (at, id) = match toward {
            Toward::Older => (self.newest_at, self.newest_id),
            Toward::Newer => (self.oldest_at, self.oldest_id),
        };
        BucketPlace { at, id, bucket: self.bucket }
    }
}

/// Returns the buckets that have documents beyond the position of a slice, in reading direction.
pub(crate) fn beyond(mut buckets: Vec<BucketRow>, Slice { after: After(at, id), toward, .. }: Slice) -> Vec<BucketRow> {
    buckets.retain(|row| match toward {
        Toward::Older => (row.oldest_at, row.oldest_id) < (at, id),
        Toward::Newer => (row.newest_at, row.newest_id) > (at, id),
    });
    buckets.sort_unstable_by_key(|row| {
        let BucketPlace { at, id, bucket } = row.place(toward);
        (at, id, bucket)
    });
    if toward == Toward::Older {
        buckets.reverse();
    }
    buckets
}

/// A new bucket with its postings.
pub(crate) struct PackedBucket {
    pub(crate) row: BucketRow,
    /// The postings, sorted by word.
    pub(crate) postings: Vec<PostingRow>,
    /// The ids of the documents, in the order of their numbers.
    pub(crate) ids: Vec<DbId>,
}

impl PackedBucket {
    /// Packs documents, given from the oldest on, as many as a bucket may have. Returns `None` if there are none.
    pub(crate) fn of(kind: Kind, bucket: i64, documents: Vec<(DbInstant, DbId, String)>) -> Option<Self> {
        let kind = kind_code(kind);
        let position = |(at, id, words)| ((at, id), IndexedText::restore(words));
        let (mut positions, texts): (Vec<_>, Vec<_>) = documents.into_iter().map(position).unzip();
        let (mut places, mut pairs, mut packed) = (HashMap::<&str, Places>::new(), 0, 0_u16);
        for text in &texts {
            let count = text.keys().count();
            if packed > 0 && pairs + count > MAX_PAIRS {
                break;
            }
            pairs += count;
            for key in text.keys() {
                let places = places.entry(key).or_default();
                if places.last() != Some(&packed) {
                    places.push(packed);
                }
            }
            packed += 1;
        }
        positions.truncate(packed.into());
        let ((oldest_at, oldest_id), (newest_at, newest_id)) = (*positions.first()?, *positions.last()?);
        let documents = i16::try_from(packed).ok()?;
        let row = BucketRow { kind, bucket, documents, oldest_at, oldest_id, newest_at, newest_id };
        let posting =
            |(word, places): (&str, _)| PostingRow { kind, bucket, word: word.to_owned(), documents: bytes(places) };
        let mut postings: Vec<_> = places.into_iter().map(posting).collect();
        postings.sort_unstable_by(|one, other| one.word.cmp(&other.word));
        Some(Self { row, postings, ids: positions.into_iter().map(|(_, id)| id).collect() })
    }
}

/// The places of documents within a bucket, sorted.
type Places = Vec<u16>;

fn bytes(places: Places) -> Vec<u8> {
    places.into_iter().flat_map(u16::to_le_bytes).collect()
}

fn places(documents: &[u8]) -> Places {
    documents.as_chunks().0.iter().map(|two| u16::from_le_bytes(*two)).collect()
}

/// Removes documents from the postings of a bucket. Returns the words whose postings change, and the changed postings that are
/// not empty.
pub(crate) fn remove_documents(postings: Vec<PostingRow>, documents: &[i64]) -> (Vec<String>, Vec<PostingRow>) {
    let removed: HashSet<u16> = documents.iter().filter_map(|number| (number % BUCKET).try_into().ok()).collect();
    let (mut words, mut left) = (Vec::new(), Vec::new());
    for posting in postings {
        let before = places(&posting.documents);
        let after: Places = before.iter().copied().filter(|place| !removed.contains(place)).collect();
        if after.len() == before.len() {
            continue;
        }
        words.push(posting.word.clone());
        if !after.is_empty() {
            left.push(PostingRow { documents: bytes(after), ..posting });
        }
    }
    (words, left)
}

/// A selection of buckets to search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Buckets {
    /// The next buckets after a place, or the first ones; at most the given number.
    Next(Option<BucketPlace>, i64),
    /// The buckets with these numbers.
    Numbered(Vec<i64>),
    /// The buckets made since, which have this number or a higher one.
    Since(i64),
}

/// The candidates of some buckets for a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// The candidates of each bucket, in reading direction.
    pub(crate) candidates: Vec<Candidates>,
    /// The place of the last bucket, if there may be others after it.
    pub(crate) last: Option<BucketPlace>,
    /// The words that some of the buckets lack, so that they may be rare.
    pub(crate) absent: Vec<String>,
    /// The number that the next new bucket will get, if these are the first buckets of the search.
    pub(crate) next: Option<i64>,
}

/// The candidates of a bucket for a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidates {
    pub(crate) place: BucketPlace,
    /// A bound: no candidate of the bucket comes before this position in reading direction.
    pub(crate) nearest: Keyset,
    /// The numbers of the documents that may match, the nearest first.
    pub(crate) documents: Vec<i64>,
}

/// A posting as it is read: the bucket, the word, and the documents that have it.
pub(crate) type Posting = (i64, String, Vec<u8>);

/// Returns the documents of buckets that have every word, given the postings of the words, or all documents if there are no
/// words; and the words that some of the buckets lack.
pub(crate) fn candidates(
    buckets: Vec<BucketRow>,
    words: Vec<String>,
    postings: Vec<Posting>,
    toward: Toward,
) -> (Vec<Candidates>, Vec<String>) {
    let mut by_bucket: HashMap<i64, Vec<Places>> = HashMap::new();
    let mut buckets_of: HashMap<String, usize> = HashMap::new();
    for (bucket, word, documents) in postings {
        by_bucket.entry(bucket).or_default().push(places(&documents));
        *buckets_of.entry(word).or_default() += 1;
    }
    let (all, wanted) = (buckets.len(), words.len());
    let candidates = |row: BucketRow| {
        let mut lists = by_bucket.remove(&row.bucket).unwrap_or_default();
        lists.sort_unstable_by_key(Vec::len);
        let mut lists = lists.into_iter();
        let found: Places = match lists.len() {
            0 if wanted == 0 => (0..u16::try_from(row.documents).unwrap_or_default()).collect(),
            count if count == wanted => lists.next().map(|first| lists.fold(first, intersection)).unwrap_or_default(),
            _ => Places::new(),
        };
        let mut documents: Vec<i64> = found.into_iter().map(|place| row.bucket * BUCKET + i64::from(place)).collect();
        if toward == Toward::Older {
            documents.reverse();
        }
        let place = row.place(toward);
        Candidates { place, nearest: keyset(place.at, place.id), documents }
    };
    let candidates = buckets.into_iter().map(candidates).collect();
    let absent = words.into_iter().filter(|word| buckets_of.get(word).is_none_or(|count| *count < all)).collect();
    (candidates, absent)
}

/// Keeps the candidates that have at least one of some words, given the postings of these words.
pub(crate) fn retain_matching(candidates: &mut [Candidates], postings: Vec<(i64, Vec<u8>)>) {
    let mut by_bucket: HashMap<i64, Places> = HashMap::new();
    for (bucket, documents) in postings {
        by_bucket.entry(bucket).or_default().extend(places(&documents));
    }
    for places in by_bucket.values_mut() {
        places.sort_unstable();
    }
    for Candidates { place, documents, .. } in candidates {
        let places = by_bucket.remove(&place.bucket).unwrap_or_default();
        documents.retain(|document| {
            u16::try_from(document % BUCKET).is_ok_and(|place| places.binary_search(&place).is_ok())
        });
    }
}

/// Returns the intersection of two lists, of which the first is the shorter one.
fn intersection(mut one: Places, other: Places) -> Places {
    one.retain(|place| other.binary_search(place).is_ok());
    one
}

#[cfg(test)]
mod tests {
    use agora_domain::clock::Timestamp;
    use uuid::Uuid;

    use super::*;

    fn document(n: u16, words: &str) -> (DbInstant, DbId, String) {
        let at = DbInstant(Timestamp::from_unix_millis(n.into()));
        (at, DbId(Uuid::from_u128(n.into())), words.replace(' ', "\n"))
    }

    fn pack(documents: &[&str]) -> PackedBucket {
        let documents = (1..).zip(documents).map(|(n, words)| document(n, words)).collect();
        PackedBucket::of(Kind::Post, 7, documents).unwrap()
    }

    #[test]
    fn a_bucket_lists_the_documents_of_each_word() {
        let bucket = pack(&[" a b ", " b ", " c a "]);
        let row = |word: &str, documents: &[u8]| PostingRow {
            kind: 0,
            bucket: 7,
            word: word.to_owned(),
            documents: documents.to_vec(),
        };
        assert_eq!(bucket.postings, [row("a", &[0, 0, 2, 0]), row("b", &[0, 0, 1, 0]), row("c", &[2, 0])]);
        assert_eq!((bucket.row.documents, bucket.ids.len()), (3, 3));
        assert_eq!((bucket.row.oldest_id, bucket.row.newest_id), (document(1, "").1, document(3, "").1));
        assert!(PackedBucket::of(Kind::Post, 7, vec![]).is_none());
    }

    #[test]
    fn documents_with_very_many_words_fill_a_bucket_early() {
        let words: String = (0..20_000).map(|n| format!(" {n}")).collect();
        assert_eq!(pack(&[&words, &words, &words, " a "]).ids.len(), 2);
        let many: String = (0..60_000).map(|n| format!(" {n}")).collect();
        assert_eq!(pack(&[&many, " a "]).ids.len(), 1);
    }

    #[test]
    fn candidates_have_every_word_of_the_query() {
        let bucket = pack(&[" a b ", " b ", " c a ", " a b c "]);
        let ask = |words: &[&str], prefix: Option<&str>, toward| {
            let of = |is_wanted: &dyn Fn(&str) -> bool| {
                let rows = bucket.postings.iter().filter(|row| is_wanted(&row.word));
                rows.map(|row| (row.bucket, row.word.clone(), row.documents.clone())).collect::<Vec<_>>()
            };
            let rows = of(&|word| words.contains(&word));
            let wanted: Vec<String> = words.iter().map(ToString::to_string).collect();
            let (mut found, absent) = candidates(vec![bucket.row.clone()], wanted, rows, toward);
            let is_there = |word: &&str| bucket.postings.iter().any(|row| row.word == *word);
            assert!(absent.iter().eq(words.iter().filter(|word| !is_there(word))));
            if let Some(prefix) = prefix {
                let rows = of(&|word| word.starts_with(prefix));
                retain_matching(
                    &mut found,
                    rows.into_iter().map(|(bucket, _, documents)| (bucket, documents)).collect(),
                );
            }
            let first = 7 * BUCKET;
            found.pop().unwrap().documents.into_iter().map(|number| number - first).collect::<Vec<_>>()
        };
        assert_eq!(ask(&["a"], None, Toward::Newer), [0, 2, 3]);
        assert_eq!(ask(&["a"], None, Toward::Older), [3, 2, 0]);
        assert_eq!(ask(&["a", "b"], None, Toward::Older), [3, 0]);
        assert_eq!(ask(&["a", "b", "c"], None, Toward::Older), [3]);
        assert_eq!(ask(&["a", "d"], None, Toward::Older), [0_i64; 0]);
        assert_eq!(ask(&[], Some("c"), Toward::Older), [3, 2]);
        assert_eq!(ask(&["b"], Some("c"), Toward::Older), [3]);
        assert_eq!(ask(&["b"], Some("d"), Toward::Older), [0_i64; 0]);
    }
}
