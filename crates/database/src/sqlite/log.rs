//! Keeps the write-ahead log short.

use std::fs;
use std::path::{Path, PathBuf};

use diesel::SqliteConnection;
use diesel::connection::SimpleConnection;

use super::connect::{BUSY_TIMEOUT, LOG_LIMIT};

/// By how many bytes the log grows before the next attempt to empty it, after a reader that did not end prevented one.
const RETRY_STEP: u64 = LOG_LIMIT / 4;

/// How long all writes wait for readers to leave the log, in milliseconds.
const CHECKPOINT_TIMEOUT_MS: u64 = 100;

/// The write-ahead log of a database.
///
/// After a commit, SQLite moves the log into the database, as far as no reader needs it, and restarts it once all of it is moved
/// and nobody reads from it. While reads overlap, that never happens; nor does it after a commit that failed for lack of space,
/// which the log itself may have used up.
pub(super) struct Log {
    file: PathBuf,
    /// The length in bytes above which the log is to be emptied.
    empty_above: u64,
}

impl Log {
    /// Returns the log of a database.
    pub(super) fn of(database: &Path) -> Self {
        let mut file = database.as_os_str().to_owned();
        file.push("-wal");
        Self { file: file.into(), empty_above: LOG_LIMIT }
    }

    /// Makes room for a group of writes, if the log has grown beyond its limit or the group before failed. What cannot be done
    /// now is tried again.
    pub(super) fn make_room(&mut self, conn: &mut SqliteConnection, has_failed: bool) {
        let length = self.length();
        if length > self.empty_above {
            // Readers that begin meanwhile see the newest commit, and are not waited for.
            let emptied = conn.batch_execute(&format!(
                "PRAGMA busy_timeout = {CHECKPOINT_TIMEOUT_MS}; PRAGMA wal_checkpoint(TRUNCATE)"
            ));
            let as_before = conn.batch_execute(&format!("PRAGMA busy_timeout = {}", BUSY_TIMEOUT.as_millis()));
            if let Err(error) = emptied.and(as_before) {
                tracing::warn!(cause = %error, "could not checkpoint the write-ahead log");
            }
            self.empty_above = LOG_LIMIT.max(self.length() + RETRY_STEP);
        } else if length <= LOG_LIMIT {
            self.empty_above = LOG_LIMIT;
        }
        if has_failed {
            // This fails too as long as there is no space, which the next write then reports.
            let _ = conn.batch_execute("PRAGMA wal_checkpoint(PASSIVE)");
        }
    }

    /// Returns the length of the log in bytes: 0 if there is none.
    fn length(&self) -> u64 {
        fs::metadata(&self.file).map_or(0, |log| log.len())
    }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
