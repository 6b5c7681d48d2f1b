//! An open SQLite database: its threads, and what runs on them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use agora_domain::Error;
use crossbeam_channel::{Sender, bounded};
use tokio::sync::oneshot;

use super::connect::{Access, applied, connect, connect_to_inspect, create};
use super::jobs::{Job, Next, Work, Write, WriteJob, receive, submit, write_loop};
use super::locks::{lock_companion, lock_directory, lock_service};
use super::migrate;
use super::readers::Readers;
use super::threads::spawn;
use crate::error::OpenError;
use crate::figures::{Lane, WriteGroups};
use crate::mutex::lock;
use crate::version;
use crate::version::{Migrated, Opening};

/// How many reads of little, and how many writes, may wait for a thread; beyond that a request is turned away at once.
const QUEUE: usize = 1024;

/// How many reads of parts of lists may wait for a thread: each takes as long as many of the others.
const LIST_QUEUE: usize = 256;

/// An open SQLite database.
#[derive(Debug)]
pub(crate) struct Sqlite {
    file: PathBuf,
    /// For reads of little.
    readers: Readers,
    /// For parts of lists: no read of little waits behind them.
    lists: Readers,
    writer: Sender<Next<Box<dyn WriteJob>>>,
    writer_thread: Mutex<Option<JoinHandle<()>>>,
    /// The right to serve it, until it is closed.
    service: Mutex<Option<File>>,
    work: Arc<Mutex<Work>>,
}

impl Sqlite {
    /// Opens the file; unless it is to be inspected, makes it when missing and brings its schema up to date.
    pub(crate) fn open(opening: Opening, file: &Path, readers: usize) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Create(file.to_owned(), source);
        if opening == Opening::Inspect {
            version::check(&Self::applied(file)?, opening)?;
        }
        let _starting = lock_directory(file).map_err(failed)?;
        drop(create(file).map_err(failed)?);
        // First of all: a service that is refused has changed nothing.
        let service = (opening == Opening::Serve).then(|| lock_service(file)).transpose()?;
        let mut connection = connect(file, Access::Write)?;
        let found = applied(&mut connection, file)?;
        version::check(&found, opening)?;
        if opening != Opening::Inspect {
            migrate::run(&mut connection, file, found.last(), service.is_some())?;
        }
        let (write, write_jobs) = bounded(QUEUE);
        let work = Arc::<Mutex<Work>>::default();
        let writing = Arc::clone(&work);
        let writer_thread = spawn("agora-writer".to_owned(), move || write_loop(connection, &write_jobs, &writing))?;
        Ok(Self {
            file: file.to_owned(),
            readers: Readers::start("agora-reader", file, readers, QUEUE)?,
            lists: Readers::start("agora-lists", file, readers, LIST_QUEUE)?,
            writer: write,
            writer_thread: Mutex::new(Some(writer_thread)),
            service: Mutex::new(service),
            work,
        })
    }

    /// Brings the schema of the file, which is made when missing, up to date, and does no more.
    pub(crate) fn migrate(file: &Path) -> Result<Migrated, OpenError> {
        let failed = |source| OpenError::Create(file.to_owned(), source);
        let _starting = lock_directory(file).map_err(failed)?;
        drop(create(file).map_err(failed)?);
        let mut connection = connect(file, Access::Write)?;
        let found = applied(&mut connection, file)?;
        version::check(&found, Opening::Change)?;
        migrate::run(&mut connection, file, found.last(), false)
    }

    /// Returns the versions of the migrations that were applied to the file, which is only read.
    pub(crate) fn applied(file: &Path) -> Result<Vec<String>, OpenError> {
        applied(&mut connect_to_inspect(file)?, file)
    }

    /// Lets the threads finish what they have and closes their connections: the writer's last, since the last one
    /// moves what is in the write-ahead log into the database file. Later jobs are refused. Blocks until it is done.
    pub(crate) fn close(&self) {
        self.readers.stop();
        self.lists.stop();
        if let Some(thread) = lock(&self.writer_thread).take() {
            let _ = self.writer.send(None);
            let _ = thread.join();
        }
        drop(lock(&self.service).take());
    }

    /// Runs work that reads little, all of it on one snapshot, which has all that was written before it was asked for.
    pub(crate) async fn read<T: Send + 'static>(&self, work: impl Job<T>) -> agora_domain::Result<T> {
        self.readers.run(work).await
    }

    /// Runs work that reads a part of a list, as [`read`](Self::read) does.
    pub(crate) async fn list<T: Send + 'static>(&self, work: impl Job<T>) -> agora_domain::Result<T> {
        self.lists.run(work).await
    }

    /// Runs work that searches, as [`list`](Self::list) does.
    pub(crate) async fn search<T: Send + 'static>(&self, work: impl Job<T>) -> agora_domain::Result<T> {
        self.list(work).await
    }

    /// Runs work that writes, as [`write`](Self::write) does.
    pub(crate) async fn statement<T: Send + 'static>(&self, work: impl Job<T>) -> agora_domain::Result<T> {
        self.write(work).await
    }

    /// Runs work that writes, in a transaction of its own: it is undone when it fails and on disk when it succeeds.
    pub(crate) async fn write<T: Send + 'static>(&self, work: impl Job<T>) -> agora_domain::Result<T> {
        self.write_then(work, |_| ()).await
    }

    /// Runs work that writes, as [`write`](Self::write) does, and, given its outcome, what is to happen once it is stored,
    /// before anybody is told so: quick work, since others wait for the thread that does it.
    pub(crate) async fn write_then<T: Send + 'static>(
        &self,
        work: impl Job<T>,
        after: impl FnOnce(&T) + Send + 'static,
    ) -> agora_domain::Result<T> {
        let (reply, answer) = oneshot::channel();
        submit::<Box<dyn WriteJob>>(&self.writer, Box::new(Write { work: Some(work), outcome: None, after, reply }))?;
        receive(answer).await
    }

    /// Takes the lock of the sweep if no handle on the same file has it, in this process or another. It goes with the
    /// returned file.
    pub(crate) fn lock_sweep(&self) -> agora_domain::Result<Option<File>> {
        lock_companion(&self.file, "-sweep").map_err(Error::unavailable)
    }

    /// Returns the file of the database.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Returns how busy the readers and the writer are.
    pub(crate) fn lanes(&self) -> [Lane; 3] {
        let writers = usize::from(lock(&self.writer_thread).is_some());
        let (busy, waiting) = (lock(&self.work).writing, self.writer.len());
        let writer = Lane { name: "write", size: writers, open: writers, busy, waiting };
        [self.readers.lane("read"), self.lists.lane("list"), writer]
    }

    /// Returns what the writer has committed.
    pub(crate) fn write_groups(&self) -> WriteGroups {
        lock(&self.work).done
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
