//! The embedded default: a database and images as files in the data directory.

#![allow(dead_code, reason = "each suite uses a part")]

use std::path::{Path, PathBuf};

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};

/// The embedded backend, which needs nothing besides the data directory.
pub(crate) struct Backend;

impl Backend {
    /// SQL expressions of the present instant, and of one long ago, in the format of the database's columns.
    pub(crate) const NOW: &str = "unixepoch() * 1000000";
    pub(crate) const LONG_AGO: &str = "0";

    pub(crate) fn new() -> Self {
        Self
    }

    /// Runs a statement on the database of a service, over a connection of its own.
    pub(crate) fn sql(&self, data_dir: &Path, statement: &str) {
        let mut conn = SqliteConnection::establish(data_dir.join("agora.db").to_str().unwrap()).unwrap();
        conn.batch_execute(&format!("PRAGMA busy_timeout = 5000; {statement}")).unwrap();
    }

    /// Returns the environment variables that configure the binary for this backend.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Returns the directory of the stored images.
    pub(crate) fn images(&self, data_dir: &Path) -> PathBuf {
        data_dir.join("media")
    }

    /// Returns the secrets that must not appear in any log.
    pub(crate) fn secrets(&self) -> Vec<&'static str> {
        Vec::new()
    }
}
