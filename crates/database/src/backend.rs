//! The database behind the adapter.

use std::sync::Arc;

use crate::postgres::Postgres;
use crate::sqlite::Sqlite;

/// The open database, SQLite or PostgreSQL.
pub(crate) enum Backend {
    Sqlite(Arc<Sqlite>),
    Postgres(Arc<Postgres>),
}

impl Backend {
    /// Returns a number that grows whenever the connections may lead to another database than before: for instance an older state
    /// of it, or a replica that had not received everything.
    pub(crate) fn epoch(&self) -> u64 {
        match self {
            // The file belongs to this process alone.
            Self::Sqlite(_) => 0,
            Self::Postgres(database) => database.connector.epoch(),
        }
    }
}
