//! The locks of what one node at a time does.

use std::any::Any;

use agora_domain::Result;

use crate::backend::Backend;
use crate::database::Database;
use crate::postgres::Lease;
use crate::turn::Turn;

/// The right to do something while nobody else does. It ends when this is dropped, and with the process at the latest.
#[must_use = "the right ends when it is dropped"]
pub struct Lock {
    /// The file, the connection or the lease that the lock goes with.
    _holder: Box<dyn Any + Send>,
}

impl Database {
    /// Takes the lock of a turn; nothing when somebody else has it: another node, another process on the same file, or
    /// another part of this one.
    ///
    /// # Errors
    /// `Unavailable` when the database cannot be asked.
    pub async fn lock(&self, turn: Turn) -> Result<Option<Lock>> {
        Ok(match &self.backend {
            Backend::Sqlite(database) => database.lock(turn)?.map(|file| Lock { _holder: Box::new(file) }),
            Backend::Postgres(database) if database.is_distributed() => {
                Lease::take(database, turn).await?.map(|lease| Lock { _holder: Box::new(lease) })
            }
            Backend::Postgres(database) => {
                database.lock(turn).await?.map(|connection| Lock { _holder: Box::new(connection) })
            }
        })
    }
}
