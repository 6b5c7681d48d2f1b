//! Parameters of the search queries, and the rows they store.

use agora_domain::search::{IndexedText, Kind};
use diesel::Insertable;

use crate::account_filters::DbViewer;
use crate::codes::codes;
use crate::schema::search_tail;
use crate::sql_types::{DbId, DbInstant};

/// The number of document numbers reserved for each bucket, and so the maximum number of its documents.
pub(crate) const BUCKET: i64 = 1024;

/// Parameters of packing documents into buckets and of searching them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packing {
    /// The number of documents in a bucket. When the tail has twice as many, its older half is packed.
    pub(crate) documents: i64,
    /// The maximum size of the texts of a bucket in bytes, unless it has a single document. The tail may have twice as many.
    pub(crate) bytes: i64,
    /// The maximum number of buckets that have a word for it to count as rare. A search for a rare word reads only these buckets,
    /// all in one statement.
    pub(crate) rare: i64,
}

impl Packing {
    /// The parameters of the service.
    pub(crate) const SERVICE: Self = Self { documents: BUCKET, bytes: 4 << 20, rare: 64 };
}

codes! { kind_code: Kind { Post = 0, Account = 1, Product = 2 } }

/// The indexed text of a document in the tail.
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

/// The kind of documents to search, and the viewer, who may find only some of them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Among {
    /// Posts that a viewer may find.
    Posts { viewer: DbViewer },
    /// Accounts that a viewer may find, except one.
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
