//! The embedded default: a database and images as files in the data directory.

#![allow(dead_code, reason = "each suite uses a part")]

use std::path::{Path, PathBuf};

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};

/// Nothing besides the data directory.
pub(crate) struct Backend;

impl Backend {
    /// The present instant, and one long ago, as a column of the database has them.
    pub(crate) const NOW: &str = "unixepoch() * 1000000";
    pub(crate) const LONG_AGO: &str = "0";

    pub(crate) fn new() -> Self {
        Self
    }

    /// Runs a statement on the database, which a service has made, beside the service.
    pub(crate) fn sql(&self, data_dir: &Path, statement: &str) {
        let mut conn = SqliteConnection::establish(data_dir.join("agora.db").to_str().unwrap()).unwrap();
        conn.batch_execute(&format!("PRAGMA busy_timeout = 5000; {statement}")).unwrap();
    }

    /// The variables that lead the binary to it.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Where stored images are files.
    pub(crate) fn images(&self, data_dir: &Path) -> PathBuf {
        data_dir.join("media")
    }

    /// What no log may show.
    pub(crate) fn secrets(&self) -> Vec<&'static str> {
        Vec::new()
    }
}
