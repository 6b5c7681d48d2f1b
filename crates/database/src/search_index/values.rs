//! What the queries of searches are given, and the rows they store.

use agora_domain::search::{IndexedText, Kind};
use diesel::Insertable;

use crate::account_filters::DbViewer;
use crate::codes::codes;
use crate::schema::search_tail;
use crate::sql_types::{DbId, DbInstant};

/// How many numbers of documents there are for a bucket: it has so many documents at most.
pub(crate) const BUCKET: i64 = 1024;

/// How documents are packed, and looked for in what is packed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packing {
    /// How many documents a bucket has. When the tail has twice as many, the oldest half is packed.
    pub(crate) documents: i64,
    /// How many bytes the texts of a bucket have at most, unless it has one document; and the tail twice as many.
    pub(crate) bytes: i64,
    /// In how many buckets a rare word is at most: these are looked at without the others, and all at once.
    pub(crate) rare: i64,
}

impl Packing {
    /// How the service does it.
    pub(crate) const SERVICE: Self = Self { documents: BUCKET, bytes: 4 << 20, rare: 64 };
}

codes! { kind_code: Kind { Post = 0, Account = 1, Product = 2 } }

/// The text by which a thing is found that is in no bucket.
#[derive(Debug, Clone, Insertable)]
#[diesel(table_name = search_tail, treat_none_as_default_value = false)]
pub(crate) struct TextRow {
    pub(crate) kind: i16,
    pub(crate) created_at: DbInstant,
    pub(crate) id: DbId,
    pub(crate) words: String,
}

impl TextRow {
    pub(crate) fn new(kind: Kind, id: DbId, created_at: DbInstant, text: &IndexedText) -> Self {
        Self { kind: kind_code(kind), id, created_at, words: text.as_str().to_owned() }
    }
}

/// What is looked for: things of a kind, and which of them whoever looks may find.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Among {
    /// Posts that a viewer may find.
    Posts { viewer: DbViewer },
    /// Accounts that a viewer may find, but one.
    Accounts { viewer: DbViewer, except: DbId },
    /// Products.
    Products,
}

impl Among {
    pub(crate) const fn kind(self) -> Kind {
        match self {
            Self::Posts { .. } => Kind::Post,
            Self::Accounts { .. } => Kind::Account,
            Self::Products => Kind::Product,
        }
    }
}
