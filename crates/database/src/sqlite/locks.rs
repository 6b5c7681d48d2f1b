//! Locks on files beside the database, which other processes see.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::{io, iter};

use super::connect::{create, give_to_owner};
use crate::error::OpenError;
use crate::exclusive_job::ExclusiveJob;

/// The name of the lock that gives the right to serve the database.
const SERVICE: &str = "service";

/// Returns the paths of the files of a SQLite database, whether or not they exist: the database itself, whose path must not
/// contain links, and those next to it.
pub fn files(database: &Path) -> Vec<PathBuf> {
    let names = ["wal", "shm", SERVICE].into_iter().chain(ExclusiveJob::ALL.map(ExclusiveJob::name));
    iter::once(database.to_owned()).chain(names.map(|name| beside(database, name))).collect()
}

fn beside(database: &Path, name: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push("-");
    path.push(name);
    path.into()
}

/// Takes the lock that gives the right to serve the database: what a service caches (sessions, feeds) is valid only as long as
/// nobody else serves it.
pub(super) fn lock_service(database: &Path) -> Result<File, OpenError> {
    let locked = lock_companion(database, SERVICE);
    let locked = locked.map_err(|source| OpenError::Create(database.to_owned(), source))?;
    locked.ok_or_else(|| OpenError::Served(database.to_owned()))
}

/// Takes the lock on a companion file of the database, unless somebody has it. It is released when the returned file is dropped,
/// and at the latest when the process ends, in whatever way.
pub(super) fn lock_companion(database: &Path, name: &str) -> io::Result<Option<File>> {
    let file = companion(database, name)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Opens the file next to the database that a lock is on. It is never deleted, since whoever opened it before would then hold a
/// lock that nobody else can see.
fn companion(database: &Path, name: &str) -> io::Result<File> {
    // One database has one lock, whatever links lead to it.
    let database = database.canonicalize()?;
    let companion = beside(&database, name);
    let file = create(&companion).and_then(|file| give_to_owner(&file, &database).map(|()| file));
    file.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", companion.display())))
}

/// Locks the directory of the file against other processes that are starting, whose setup of the file would interfere with that
/// of this process. The lock is released when the returned handle is dropped.
pub(super) fn lock_directory(file: &Path) -> Result<File, OpenError> {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let locked = File::open(directory).and_then(|directory| directory.lock().map(|()| directory));
    locked.map_err(|source| OpenError::Create(file.to_owned(), source))
}
