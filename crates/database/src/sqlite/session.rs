//! One transaction over several jobs, on a thread with a connection of its own.

use std::path::Path;

use agora_domain::{Error, Result};
use crossbeam_channel::{Sender, bounded};
use diesel::SqliteConnection;
use diesel::connection::SimpleConnection;
use tokio::sync::oneshot;

use super::connect::{Access, connect};
use super::jobs::{Job, catching_panics, receive};
use super::threads::spawn;
use crate::error::OpenError;

type Step = Box<dyn FnOnce(&mut SqliteConnection) + Send>;

/// A transaction. Dropping it undoes what is not committed.
pub(crate) struct Session {
    jobs: Sender<Step>,
}

impl Session {
    /// Begins to read the database as it is now.
    pub(crate) async fn snapshot(file: &Path) -> Result<Self> {
        let mut session = Self::open(file, Access::Read).map_err(Error::unavailable)?;
        // A transaction sees the database as of its first look at it.
        session.run(|conn| Ok(conn.batch_execute("BEGIN; SELECT count(*) FROM sqlite_schema")?)).await?;
        Ok(session)
    }

    /// Begins to write, with everybody else kept from it.
    pub(crate) async fn load(file: &Path) -> Result<Self> {
        let mut session = Self::open(file, Access::Write).map_err(Error::unavailable)?;
        session.run(|conn| Ok(conn.batch_execute("BEGIN IMMEDIATE")?)).await?;
        Ok(session)
    }

    fn open(file: &Path, access: Access) -> std::result::Result<Self, OpenError> {
        let mut conn = connect(file, access)?;
        let (jobs, queue) = bounded::<Step>(1);
        spawn("agora-transfer".to_owned(), move || queue.iter().for_each(|step| step(&mut conn)))?;
        Ok(Self { jobs })
    }

    /// Runs work in the transaction.
    pub(crate) async fn run<T: Send + 'static>(&mut self, work: impl Job<T>) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let step: Step = Box::new(move |conn| {
            // Whoever no longer waits does not miss it.
            let _ = reply.send(catching_panics(work, conn));
        });
        // One job at a time: the queue has room, unless the thread is gone.
        self.jobs.try_send(step).map_err(|_| Error::internal("the database thread has ended"))?;
        receive(answer).await
    }

    /// Commits. Nothing can be done after it.
    pub(crate) async fn commit(&mut self) -> Result<()> {
        self.run(|conn| Ok(conn.batch_execute("COMMIT")?)).await
    }
}
