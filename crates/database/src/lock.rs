//! What one node at a time does.

use agora_domain::Result;

use crate::{Backend, Database, postgres};

/// Work that one node at a time does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Housekeeping: collecting what nothing names any more.
    Sweep,
}

/// The right to do a task while no other node does. It ends when this is dropped, and with the process at the latest.
#[must_use = "the right ends when it is dropped"]
pub struct TaskLock {
    /// The connection that the lock lives on. There is none on SQLite, where no other node is.
    _connection: Option<postgres::Conn>,
}

impl Database {
    /// Takes a task's lock; nothing when another node has it.
    ///
    /// # Errors
    /// `Unavailable` when the database cannot be asked.
    pub async fn try_lock(&self, task: Task) -> Result<Option<TaskLock>> {
        match &self.0 {
            Backend::Sqlite(_) => Ok(Some(TaskLock { _connection: None })),
            Backend::Postgres(database) => {
                let connection = database.try_lock(task).await?;
                Ok(connection.map(|connection| TaskLock { _connection: Some(connection) }))
            }
        }
    }
}
