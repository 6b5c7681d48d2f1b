//! What one node at a time does.

use std::fs::File;

use agora_domain::Result;
use diesel_async::AsyncPgConnection;

use crate::database::{Backend, Database};
use crate::task::Task;

/// The right to do a task while nobody else does. It ends when this is dropped, and with the process at the latest.
#[must_use = "the right ends when it is dropped"]
pub struct TaskLock {
    _held: Held,
}

/// What the lock lives on, and goes with.
#[expect(dead_code, reason = "held, never looked at")]
enum Held {
    File(File),
    Connection(Box<AsyncPgConnection>),
}

impl Database {
    /// Takes a task's lock; nothing when somebody else has it: another node, another process on the same file, or
    /// another part of this one.
    ///
    /// # Errors
    /// `Unavailable` when the database cannot be asked.
    pub async fn try_lock(&self, task: Task) -> Result<Option<TaskLock>> {
        let held = match &self.backend {
            Backend::Sqlite(database) => database.try_lock(task)?.map(Held::File),
            Backend::Postgres(database) => database.try_lock(task).await?.map(|conn| Held::Connection(Box::new(conn))),
        };
        Ok(held.map(|held| TaskLock { _held: held }))
    }
}
