//! One transaction over several jobs, on a connection of its own.

use std::path::Path;
use std::sync::{Arc, Mutex};

use agora_domain::{Error, Result};
use diesel::SqliteConnection;
use diesel::connection::SimpleConnection;
use tokio::task::spawn_blocking;

use super::connect::{Access, connect};
use super::jobs::{Job, catching_panics};
use crate::mutex::lock;

/// A transaction. Dropping it rolls back what is not committed.
pub(crate) struct Session(Arc<Mutex<SqliteConnection>>);

impl Session {
    /// Begins to read the database as it is now.
    pub(crate) async fn snapshot(file: &Path) -> Result<Self> {
        // A transaction sees the database as of its first read.
        Self::begin(file, Access::Read, "BEGIN; SELECT count(*) FROM sqlite_schema").await
    }

    /// Begins to write, and keeps all others from writing.
    pub(crate) async fn load(file: &Path) -> Result<Self> {
        Self::begin(file, Access::Write, "BEGIN IMMEDIATE").await
    }

    async fn begin(file: &Path, access: Access, statements: &'static str) -> Result<Self> {
        let mut session = Self(Arc::new(Mutex::new(connect(file, access).map_err(Error::unavailable)?)));
        session.run(move |conn| Ok(conn.batch_execute(statements)?)).await?;
        Ok(session)
    }

    /// Runs work in the transaction.
    pub(crate) async fn run<T: Send + 'static>(&mut self, work: impl Job<T>) -> Result<T> {
        let conn = Arc::clone(&self.0);
        let outcome = spawn_blocking(move || catching_panics(work, &mut lock(&conn))).await;
        Ok(outcome.map_err(Error::unavailable)??)
    }

    /// Commits; the session is of no use afterwards.
    pub(crate) async fn commit(&mut self) -> Result<()> {
        self.run(|conn| Ok(conn.batch_execute("COMMIT")?)).await
    }
}
