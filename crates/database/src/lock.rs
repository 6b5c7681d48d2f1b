//! Locks for background jobs that one node at a time runs.

use std::any::Any;

use agora_domain::Result;

use crate::backend::Backend;
use crate::database::Database;
use crate::exclusive_job::ExclusiveJob;
use crate::postgres::Lease;

/// The exclusive right to run a background job. It ends when the lock is dropped, or with the process.
#[must_use = "the right ends when it is dropped"]
pub struct Lock {
    /// The file, the connection or the lease that holds the lock.
    _holder: Box<dyn Any + Send>,
}

impl Database {
    /// Tries to acquire the lock of a background job. Returns `None` if it is held by another node, by another process on the
    /// same file, or elsewhere in this process.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub async fn lock(&self, job: ExclusiveJob) -> Result<Option<Lock>> {
        Ok(match &self.backend {
            Backend::Sqlite(database) => database.lock(job)?.map(|file| Lock { _holder: Box::new(file) }),
            Backend::Postgres(database) if database.is_distributed() => {
                Lease::try_acquire(database, job).await?.map(|lease| Lock { _holder: Box::new(lease) })
            }
            Backend::Postgres(database) => {
                database.lock(job).await?.map(|connection| Lock { _holder: Box::new(connection) })
            }
        })
    }
}
