//! The write-ahead log, kept short enough.

use std::fs;
use std::path::{Path, PathBuf};

use diesel::SqliteConnection;
use diesel::connection::SimpleConnection;

use super::connect::{BUSY_TIMEOUT, LOG_LIMIT};

/// How much longer the log is before it is tried again, after a reader that did not end kept it from being emptied.
const STEP: u64 = LOG_LIMIT / 4;

/// How long all writes wait, in milliseconds, for readers to leave the log.
const PATIENCE: u64 = 100;

/// SQLite moves the log into the database after a commit, as far as no reader needs it, and begins it anew once it has moved all of it and
/// nobody reads from it. While reads overlap that never happens; nor does it after a commit that failed for want of space, which the log may
/// have taken itself.
pub(super) struct Log {
    file: PathBuf,
    /// How long it is when it is to be emptied.
    due: u64,
}

impl Log {
    /// Returns that of a database.
    pub(super) fn of(database: &Path) -> Self {
        let mut file = database.as_os_str().to_owned();
        file.push("-wal");
        Self { file: file.into(), due: LOG_LIMIT }
    }

    /// Makes room for a group of writes: where the log has grown beyond its limit, and where the group before failed. What cannot be
    /// done now is tried again.
    pub(super) fn make_room(&mut self, conn: &mut SqliteConnection, has_failed: bool) {
        let length = self.length();
        if length > self.due {
            // The readers that begin meanwhile see the newest commit, and are not waited for.
            let emptied =
                conn.batch_execute(&format!("PRAGMA busy_timeout = {PATIENCE}; PRAGMA wal_checkpoint(TRUNCATE)"));
            let as_before = conn.batch_execute(&format!("PRAGMA busy_timeout = {}", BUSY_TIMEOUT.as_millis()));
            if let Err(error) = emptied.and(as_before) {
                tracing::warn!(cause = %error, "could not empty the database's log");
            }
            self.due = LOG_LIMIT.max(self.length() + STEP);
        } else if length <= LOG_LIMIT {
            self.due = LOG_LIMIT;
        }
        if has_failed {
            // It fails as well while there is no space: who writes next is told.
            let _ = conn.batch_execute("PRAGMA wal_checkpoint(PASSIVE)");
        }
    }

    /// Without a log, it is empty.
    fn length(&self) -> u64 {
        fs::metadata(&self.file).map_or(0, |log| log.len())
    }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
