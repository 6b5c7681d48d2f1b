//! Opening files as databases.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::result::Error as DieselError;
use diesel::{Connection, SqliteConnection};
use url::Url;

use super::dialect::complete;
use super::queries;
use crate::error::{Failure, OpenError};

/// How long a lock held by another process (such as `agora admin grant`) is waited for.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the write-ahead log may grow, in bytes.
pub(super) const LOG_LIMIT: u64 = 64 << 20;

/// Returns a connection that changes nothing, not even the journal mode of the file, which a connection that may write would
/// switch to a write-ahead log.
pub(super) fn connect_to_inspect(file: &Path) -> Result<SqliteConnection, OpenError> {
    open_to_read(file, "mode=ro")
}

/// Opens the file to inspect it, without even a lock if nobody else has it open: SQLite would create the companion files of
/// its write-ahead log, and leave them behind.
pub(crate) fn open_to_inspect(file: &Path) -> Result<SqliteConnection, OpenError> {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    open_to_read(file, if Path::new(&log).exists() { "mode=ro" } else { "mode=ro&immutable=1" })
}

/// Opens an existing file to read it, with these URL parameters.
fn open_to_read(file: &Path, parameters: &str) -> Result<SqliteConnection, OpenError> {
    let whole = file.canonicalize().ok().filter(|path| path.is_file());
    let mut url =
        whole.and_then(|path| Url::from_file_path(path).ok()).ok_or_else(|| OpenError::Missing(file.into()))?;
    url.set_query(Some(parameters));
    let conn = SqliteConnection::establish(url.as_str());
    let mut conn = conn.map_err(|source| OpenError::Open(file.to_owned(), source))?;
    let busy_timeout = format!("PRAGMA busy_timeout = {}", BUSY_TIMEOUT.as_millis());
    conn.batch_execute(&busy_timeout).map_err(|source| OpenError::Setup(file.to_owned(), source))?;
    Ok(conn)
}

/// Returns the versions of the migrations that were applied to the database, in order: none if it is not one of ours.
pub(crate) fn applied(conn: &mut SqliteConnection, file: &Path) -> Result<Vec<String>, OpenError> {
    complete(queries::transfer::applied(conn)).map_err(|failure| match failure {
        Failure::Database(source) => unusable(file, source),
        Failure::Rule(error) => OpenError::Migration(error.into()),
    })
}

/// Opens the file, or creates it for its owner alone. SQLite gives its companion files (`-wal`, `-shm`) the same mode.
pub(super) fn create(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

pub(super) fn connect(file: &Path, access: Access) -> Result<SqliteConnection, OpenError> {
    let url = file.to_str().ok_or_else(|| OpenError::Path(file.to_owned()))?;
    let mut conn = SqliteConnection::establish(url).map_err(|source| OpenError::Open(file.to_owned(), source))?;
    // synchronous = FULL: a commit that was acknowledged is on disk, so that it survives a power failure too.
    // wal_autocheckpoint: after 16 MiB of the log, instead of 4: a page that is written often is copied into the database less
    // often. A like, which writes pages here and there, took half the time to commit (16 at once, measured with SQLite alone).
    let pragmas = format!(
        "PRAGMA busy_timeout = {}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
         PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192; PRAGMA journal_size_limit = {LOG_LIMIT}; \
         PRAGMA wal_autocheckpoint = 4096; PRAGMA query_only = {};",
        BUSY_TIMEOUT.as_millis(),
        if access == Access::Read { "ON" } else { "OFF" },
    );
    conn.batch_execute(&pragmas).map_err(|source| unusable(file, source))?;
    Ok(conn)
}

/// Returns the error for a file that could be opened but not used.
fn unusable(file: &Path, source: DieselError) -> OpenError {
    // More than SQLite needs for a start: its shared memory, and a page of each file.
    const ENOUGH: u64 = 256 * 1024;
    let space = file.canonicalize().ok().and_then(|file| rustix::fs::statvfs(file.parent()?).ok());
    let file = file.to_owned();
    match space {
        Some(space) if space.f_bavail.saturating_mul(space.f_frsize) < ENOUGH => OpenError::Full(file, source),
        _ => OpenError::Setup(file, source),
    }
}

/// Makes the owner of the database the owner of a file, as SQLite does with its own companion files: a command that root runs
/// must not lock the service out. Only root may do this, and only root needs to.
pub(super) fn give_to_owner(file: &File, database: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let owner = database.metadata()?;
        let _ = fchown(file, Some(owner.uid()), Some(owner.gid()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use diesel::{QueryableByName, RunQueryDsl};

    use super::*;

    #[derive(QueryableByName)]
    struct BuildOption {
        #[diesel(sql_type = diesel::sql_types::Text)]
        compile_options: String,
    }

    #[test]
    fn sqlite_is_built_with_the_flags_that_make_it_quick() {
        let mut conn = SqliteConnection::establish(":memory:").unwrap();
        let rows: Vec<BuildOption> = diesel::sql_query("PRAGMA compile_options").load(&mut conn).unwrap();
        let has = |option: &str| rows.iter().any(|row| row.compile_options == option);
        for option in ["ENABLE_QPSG", "THREADSAFE=2", "DEFAULT_MEMSTATUS=0"] {
            assert!(has(option), "without {option}");
        }
        for option in ["ENABLE_MEMORY_MANAGEMENT", "DIRECT_OVERFLOW_READ"] {
            assert!(!has(option), "with {option}");
        }
    }
}
