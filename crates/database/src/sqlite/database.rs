//! An open SQLite database: its threads, and what runs on them.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use agora_domain::Error;
use diesel::SqliteConnection;

use super::connect::{Access, applied, connect, connect_to_inspect, create};
use super::dialect::complete;
use super::jobs::{Job, Read, Write, WriteJob, read_loop, write_loop};
use super::locks::{lock_companion, lock_directory, lock_service};
use super::log::Log;
use super::workers::Workers;
use super::{migrate, queries};
use crate::error::OpenError;
use crate::event_window::Window;
use crate::figures::{Lane, WriteGroups};
use crate::mutex::lock;
use crate::search_limit::SearchLimit;
use crate::turn::Turn;
use crate::version;
use crate::version::{Backlog, Migrated, Opening};

/// How many reads of little, and how many writes, may wait for a thread; beyond that a request is turned away at once.
const QUEUE: usize = 1024;

/// How many reads of parts of lists may wait for a thread: each takes as long as many of the others.
const LIST_QUEUE: usize = 256;

/// An open SQLite database.
pub(crate) struct Sqlite {
    pub(crate) file: PathBuf,
    /// Which file it was when it was opened: its device and its number there.
    pub(crate) opened: (u64, u64),
    /// How many reads were asked for so far.
    asked: Arc<AtomicU64>,
    /// For reads of little.
    readers: Workers<Read>,
    /// For parts of lists: no read of little waits behind them.
    lists: Workers<Read>,
    /// For those of their threads that parts of the catalog may have.
    catalog: SearchLimit,
    /// One thread, for writes.
    writer: Workers<Box<dyn WriteJob>>,
    /// What it has committed.
    done: Arc<Mutex<WriteGroups>>,
    /// What happened.
    pub(crate) events: Arc<Window>,
    /// The right to serve it, until it is closed.
    service: Mutex<Option<File>>,
}

fn number_of(file: &Path) -> io::Result<(u64, u64)> {
    file.metadata().map(|file| (file.dev(), file.ino()))
}

/// Makes a file when it is missing and brings its schema up to date, unless it is to be inspected, with its directory
/// locked. Returns a connection that may write, the right to serve it if it is to be served, and what was done.
fn prepare(opening: Opening, file: &Path) -> Result<(SqliteConnection, Option<File>, Migrated), OpenError> {
    drop(create(file).map_err(|source| OpenError::Create(file.to_owned(), source))?);
    // First of all: a service that is refused has changed nothing.
    let service = (opening == Opening::Serve).then(|| lock_service(file)).transpose()?;
    let mut connection = connect(file, Access::Write)?;
    let found = applied(&mut connection, file)?;
    version::check(&found, opening)?;
    let migrated = match opening {
        Opening::Inspect => Migrated::default(),
        Opening::Serve | Opening::Change => migrate::run(&mut connection, file, found.last(), service.is_some())?,
    };
    Ok((connection, service, migrated))
}

impl Sqlite {
    /// Opens the file with so many threads for reads of each kind; unless it is to be inspected, makes it when missing and
    /// brings its schema up to date.
    pub(crate) fn open(opening: Opening, file: &Path, readers: usize) -> Result<Self, OpenError> {
        if opening == Opening::Inspect {
            version::check(&Self::applied(file)?, opening)?;
        }
        let _starting = lock_directory(file)?;
        let (connection, service, _) = prepare(opening, file)?;
        let catalog = SearchLimit::new((readers / 2).max(1), LIST_QUEUE);
        let asked = Arc::<AtomicU64>::default();
        let start_readers = |name, queue| {
            let asked = Arc::clone(&asked);
            let connections = (0..readers).map(|_| connect(file, Access::Read)).collect::<Result<_, _>>()?;
            Workers::start(name, connections, queue, move |conn, jobs, busy| read_loop(conn, jobs, busy, &asked))
        };
        let (readers, lists) = (start_readers("agora-reader", QUEUE)?, start_readers("agora-lists", LIST_QUEUE)?);
        let done = Arc::<Mutex<WriteGroups>>::default();
        let events = Arc::new(Window::new());
        let opened = number_of(file).map_err(|source| OpenError::Create(file.to_owned(), source))?;
        let (file, service) = (file.to_owned(), Mutex::new(service));
        let (counted, published, database) = (Arc::clone(&done), Arc::clone(&events), file.clone());
        let write = move |conn, jobs: &_, busy: &_| {
            write_loop(conn, jobs, busy, &counted, &published, Log::of(&database));
        };
        let writer = Workers::start("agora-writer", vec![connection], QUEUE, write)?;
        Ok(Self { file, opened, asked, readers, lists, catalog, writer, done, events, service })
    }

    /// Brings the schema of the file, which is made when missing, up to date, and does no more.
    pub(crate) fn migrate(file: &Path) -> Result<Migrated, OpenError> {
        let _starting = lock_directory(file)?;
        Ok(prepare(Opening::Change, file)?.2)
    }

    /// Returns the versions of the migrations that were applied to the file, which is only read.
    pub(crate) fn applied(file: &Path) -> Result<Vec<String>, OpenError> {
        applied(&mut connect_to_inspect(file)?, file)
    }

    /// Returns how much the service still has to do in the background to the file, which is only read.
    pub(crate) fn backlog(file: &Path) -> Result<Backlog, OpenError> {
        let mut conn = connect_to_inspect(file)?;
        let found = complete(queries::transfer::backlog(&mut conn));
        found.map_err(|failure| OpenError::Migration(Error::from(failure).into()))
    }

    /// Lets the threads finish what they have and closes their connections: the writer's last, since the last one
    /// moves what is in the write-ahead log into the database file. Later jobs are refused. Blocks until it is done.
    pub(crate) fn close(&self) {
        self.readers.stop();
        self.lists.stop();
        self.writer.stop();
        drop(lock(&self.service).take());
    }

    /// Runs work that reads little, all of it on one snapshot, which has all that was written before it was asked for.
    pub(crate) async fn read<T: Send + 'static>(&self, work: impl Job<T>) -> agora_domain::Result<T> {
        self.readers.run(|reply| Read::new(&self.asked, work, reply)).await
    }

    /// Runs work that reads a part of a list, as [`read`](Self::read) does.
    pub(crate) async fn list<T: Send + 'static>(&self, work: impl Job<T>) -> agora_domain::Result<T> {
        self.lists.run(|reply| Read::new(&self.asked, work, reply)).await
    }

    /// Runs work that searches, as [`list`](Self::list) does.
    pub(crate) async fn search<T: Send + 'static>(&self, work: impl Job<T>) -> agora_domain::Result<T> {
        self.list(work).await
    }

    /// Runs work that reads a part of the catalog, as [`list`](Self::list) does: it takes long, with hundreds of variants for each
    /// product, and anybody may ask for it, so half of the threads are left to other lists.
    pub(crate) async fn search_catalog<T: Send + 'static>(&self, work: impl Job<T>) -> agora_domain::Result<T> {
        let turn = self.catalog.acquire().await?;
        self.list(move |conn| {
            let _ = &turn;
            work(conn)
        })
        .await
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
        self.writer.run(|reply| Box::new(Write { work: Some(work), outcome: None, after, reply })).await
    }

    /// Checks that the file is still in its place. What is written to one that was deleted or moved goes on to be read here, and is lost
    /// when this is closed.
    pub(crate) fn check_file(&self) -> agora_domain::Result<()> {
        let is_there = number_of(&self.file).is_ok_and(|number| number == self.opened);
        if is_there { Ok(()) } else { Err(Error::unavailable(format!("{} was deleted or moved", self.file.display()))) }
    }

    /// Takes the lock of a turn if no handle on the same file has it, in this process or another. It goes with the
    /// returned file.
    pub(crate) fn lock(&self, turn: Turn) -> agora_domain::Result<Option<File>> {
        lock_companion(&self.file, turn.name()).map_err(Error::unavailable)
    }

    /// Returns how busy the readers and the writer are.
    pub(crate) fn lanes(&self) -> [Lane; 3] {
        [self.readers.lane("read"), self.lists.lane("list"), self.writer.lane("write")]
    }

    /// Returns what the writer has committed.
    pub(crate) fn write_groups(&self) -> WriteGroups {
        *lock(&self.done)
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
