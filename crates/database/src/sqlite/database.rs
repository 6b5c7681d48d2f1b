//! An open SQLite database: its threads, and what runs on them.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use agora_domain::Error;
use diesel::dsl::sql;
use diesel::sql_types::Bool;
use diesel::{RunQueryDsl, SqliteConnection};

use super::connect::{Access, applied, connect, connect_to_inspect, create};
use super::dialect::complete;
use super::jobs::{Job, Read, Write, WriteJob, read_loop, write_loop};
use super::locks::{lock_companion, lock_directory, lock_service};
use super::log::Log;
use super::workers::Workers;
use super::{migrate, queries};
use crate::error::OpenError;
use crate::event_window::Window;
use crate::exclusive_job::ExclusiveJob;
use crate::figures::{Lane, WriteGroups};
use crate::mutex::lock;
use crate::search_limit::SearchLimit;
use crate::version;
use crate::version::{Backlog, Migrated, Opening};

/// How many small reads, and how many writes, may wait for a thread; any further one is rejected at once.
const QUEUE_CAPACITY: usize = 1024;

/// How many reads of parts of lists may wait for a thread. They are fewer, since each takes as long as many small reads.
const LIST_QUEUE_CAPACITY: usize = 256;

/// An open SQLite database.
pub(crate) struct Sqlite {
    pub(crate) file: PathBuf,
    /// The device and the inode number of the file when it was opened.
    pub(crate) opened: (u64, u64),
    /// How many reads were requested so far.
    reads_requested: Arc<AtomicU64>,
    /// For small reads.
    readers: Workers<Read>,
    /// For parts of lists, so that no small read waits behind one.
    lists: Workers<Read>,
    /// Limits how many of the list threads may read parts of the catalog.
    catalog: SearchLimit,
    /// One thread, for writes.
    writer: Workers<Box<dyn WriteJob>>,
    /// Counts what the writer has committed.
    committed: Arc<Mutex<WriteGroups>>,
    /// The newest events.
    pub(crate) events: Arc<Window>,
    /// The lock that gives the right to serve the database, until it is closed.
    service: Mutex<Option<File>>,
}

fn file_identity(file: &Path) -> io::Result<(u64, u64)> {
    file.metadata().map(|file| (file.dev(), file.ino()))
}

/// Creates the file if it is missing and, unless it is only inspected, brings its schema up to date. The caller has locked its
/// directory. Returns a connection that may write, the service lock if the database is to be served, and what was migrated.
fn prepare(opening: Opening, file: &Path) -> Result<(SqliteConnection, Option<File>, Migrated), OpenError> {
    drop(create(file).map_err(|source| OpenError::Create(file.to_owned(), source))?);
    // Comes first, so that a service that is refused has changed nothing.
    let is_exclusive = matches!(opening, Opening::Serve | Opening::Fill);
    let service = is_exclusive.then(|| lock_service(file)).transpose()?;
    let mut connection = connect(file, Access::Write)?;
    let found = applied(&mut connection, file)?;
    version::check(&found, opening)?;
    if let Some(found) = version::must_have_no_rows(&found, opening) {
        let has_rows = diesel::select(sql::<Bool>(version::HAS_ROWS)).get_result(&mut connection);
        if has_rows.map_err(|source| OpenError::Setup(file.to_owned(), source))? {
            return Err(OpenError::Filled(found));
        }
    }
    let migrated = match opening {
        Opening::Inspect => Migrated::default(),
        Opening::Serve | Opening::Fill | Opening::Change => {
            migrate::run(&mut connection, file, found.last(), service.is_some())?
        }
    };
    Ok((connection, service, migrated))
}

impl Sqlite {
    /// Opens the file, with `readers` threads for each kind of reads. Unless it is only inspected, creates it if it is missing
    /// and brings its schema up to date.
    pub(crate) fn open(opening: Opening, file: &Path, readers: usize) -> Result<Self, OpenError> {
        if opening == Opening::Inspect {
            version::check(&Self::applied(file)?, opening)?;
        }
        let _starting = lock_directory(file)?;
        let (connection, service, _) = prepare(opening, file)?;
        let catalog = SearchLimit::new((readers / 2).max(1), LIST_QUEUE_CAPACITY);
        let reads_requested = Arc::<AtomicU64>::default();
        let start_readers = |name, queue| {
            let reads_requested = Arc::clone(&reads_requested);
            let connections = (0..readers).map(|_| connect(file, Access::Read)).collect::<Result<_, _>>()?;
            Workers::start(name, connections, queue, move |conn, jobs, busy| {
                read_loop(conn, jobs, busy, &reads_requested)
            })
        };
        let (readers, lists) =
            (start_readers("agora-reader", QUEUE_CAPACITY)?, start_readers("agora-lists", LIST_QUEUE_CAPACITY)?);
        let committed = Arc::<Mutex<WriteGroups>>::default();
        let events = Arc::new(Window::new());
        let opened = file_identity(file).map_err(|source| OpenError::Create(file.to_owned(), source))?;
        let (file, service) = (file.to_owned(), Mutex::new(service));
        let (counted, published, database) = (Arc::clone(&committed), Arc::clone(&events), file.clone());
        let write = move |conn, jobs: &_, busy: &_| {
            write_loop(conn, jobs, busy, &counted, &published, Log::of(&database));
        };
        let writer = Workers::start("agora-writer", vec![connection], QUEUE_CAPACITY, write)?;
        Ok(Self { file, opened, reads_requested, readers, lists, catalog, writer, committed, events, service })
    }

    /// Creates the file if it is missing and brings its schema up to date, and does no more.
    pub(crate) fn migrate(file: &Path) -> Result<Migrated, OpenError> {
        let _starting = lock_directory(file)?;
        Ok(prepare(Opening::Change, file)?.2)
    }

    /// Returns the versions of the migrations that were applied to the file, which is only read.
    pub(crate) fn applied(file: &Path) -> Result<Vec<String>, OpenError> {
        applied(&mut connect_to_inspect(file)?, file)
    }

    /// Returns how much the service still has to do to the file in the background. The file is only read.
    pub(crate) fn backlog(file: &Path) -> Result<Backlog, OpenError> {
        let mut conn = connect_to_inspect(file)?;
        let found = complete(queries::transfer::backlog(&mut conn));
        found.map_err(|failure| OpenError::Migration(Error::from(failure).into()))
    }

    /// Lets the threads finish their jobs and closes their connections: the writer's last, since the last one moves the
    /// write-ahead log into the database file. Later jobs are refused. Blocks until all of this is done.
    pub(crate) fn close(&self) {
        self.readers.stop();
        self.lists.stop();
        self.writer.stop();
        drop(lock(&self.service).take());
    }

    /// Runs a small read, all of it on one snapshot, which includes everything that was written before the call.
    pub(crate) async fn read<T: Send + 'static>(&self, work: impl Job<T>) -> agora_domain::Result<T> {
        self.readers.run(|reply| Read::new(&self.reads_requested, work, reply)).await
    }

    /// Runs a read of a part of a list, as [`read`](Self::read) does.
    pub(crate) async fn list<T: Send + 'static>(&self, work: impl Job<T>) -> agora_domain::Result<T> {
        self.lists.run(|reply| Read::new(&self.reads_requested, work, reply)).await
    }

    /// Runs a search, as [`list`](Self::list) does.
    pub(crate) async fn search<T: Send + 'static>(&self, work: impl Job<T>) -> agora_domain::Result<T> {
        self.list(work).await
    }

    /// Runs a read of a part of the catalog, as [`list`](Self::list) does, but on at most half of the threads: it takes long,
    /// with hundreds of variants for each product, and anybody may request it, so the other half is left to other lists.
    pub(crate) async fn search_catalog<T: Send + 'static>(&self, work: impl Job<T>) -> agora_domain::Result<T> {
        let permit = self.catalog.acquire().await?;
        self.list(move |conn| {
            let _ = &permit;
            work(conn)
        })
        .await
    }

    /// Runs a write, as [`write`](Self::write) does.
    pub(crate) async fn statement<T: Send + 'static>(&self, work: impl Job<T>) -> agora_domain::Result<T> {
        self.write(work).await
    }

    /// Runs a write in a transaction of its own, which is rolled back if it fails and on disk if it succeeds.
    pub(crate) async fn write<T: Send + 'static>(&self, work: impl Job<T>) -> agora_domain::Result<T> {
        self.write_then(work, |_| ()).await
    }

    /// Runs a write, as [`write`](Self::write) does, and calls `after` with its value once it is committed, before the caller
    /// gets the value. `after` must be quick, since other writes wait for the thread that calls it.
    pub(crate) async fn write_then<T: Send + 'static>(
        &self,
        work: impl Job<T>,
        after: impl FnOnce(&T) + Send + 'static,
    ) -> agora_domain::Result<T> {
        self.writer.run(|reply| Box::new(Write { work: Some(work), outcome: None, after, reply })).await
    }

    /// Checks that the file is still in its place. What is written to a file that was deleted or moved can still be read here,
    /// but is lost when the database is closed.
    pub(crate) fn check_file(&self) -> agora_domain::Result<()> {
        let is_there = file_identity(&self.file).is_ok_and(|found| found == self.opened);
        if is_there { Ok(()) } else { Err(Error::unavailable(format!("{} was deleted or moved", self.file.display()))) }
    }

    /// Takes the lock of a job unless another handle on the same file has it, in this process or another. The lock is released
    /// when the returned file is dropped.
    pub(crate) fn lock(&self, job: ExclusiveJob) -> agora_domain::Result<Option<File>> {
        lock_companion(&self.file, job.name()).map_err(Error::unavailable)
    }

    /// Returns how busy the readers and the writer are.
    pub(crate) fn lanes(&self) -> [Lane; 3] {
        [self.readers.lane("read"), self.lists.lane("list"), self.writer.lane("write")]
    }

    /// Returns what the writer has committed.
    pub(crate) fn write_groups(&self) -> WriteGroups {
        *lock(&self.committed)
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
