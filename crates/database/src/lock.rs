//! The lock of the sweep, which collects what nothing names any more.

use std::any::Any;

use agora_domain::Result;

use crate::backend::Backend;
use crate::database::Database;

/// The right to sweep while nobody else does. It ends when this is dropped, and with the process at the latest.
#[must_use = "the right ends when it is dropped"]
pub struct SweepLock {
    /// The file or the connection that the lock goes with.
    _holder: Box<dyn Any + Send>,
}

impl Database {
    /// Takes the lock of the sweep; nothing when somebody else has it: another node, another process on the same file, or
    /// another part of this one.
    ///
    /// # Errors
    /// `Unavailable` when the database cannot be asked.
    pub async fn lock_sweep(&self) -> Result<Option<SweepLock>> {
        Ok(match &self.backend {
            Backend::Sqlite(database) => database.lock_sweep()?.map(|file| SweepLock { _holder: Box::new(file) }),
            Backend::Postgres(database) => {
                database.lock_sweep().await?.map(|connection| SweepLock { _holder: Box::new(connection) })
            }
        })
    }
}
