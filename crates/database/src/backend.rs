//! One of the databases.

use std::sync::Arc;

use crate::postgres::Postgres;
use crate::sqlite::Sqlite;

/// One of the databases.
pub(crate) enum Backend {
    Sqlite(Arc<Sqlite>),
    Postgres(Arc<Postgres>),
}

impl Backend {
    /// Grows whenever there may be another database in the place of the one that was there: an older state of it, for
    /// instance, or a replica that had not received everything.
    pub(crate) fn epoch(&self) -> u64 {
        match self {
            // Nobody else has the file.
            Self::Sqlite(_) => 0,
            Self::Postgres(database) => database.connector.epoch(),
        }
    }
}
