//! SQLite: threads that own their connections.
//!
//! A use case's database work runs as one job on one thread, so that nothing is awaited while a transaction is open and
//! a cancelled request leaves none behind. Readers work side by side; one writer commits what has queued up as one
//! group, each job in a savepoint of its own, so that many writers share one flush to disk.

use std::{
    fs::File,
    future::{Future, Ready, ready},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use agora_domain::Error;
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use diesel::{
    Connection, OptionalExtension, QueryDsl, QueryResult, SelectableHelper, connection::SimpleConnection,
    query_dsl::LoadQuery, result::Error as DieselError,
};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use futures_util::FutureExt;
use tokio::sync::oneshot;
use url::Url;

use self::{
    locks::{lock_companion, lock_service},
    work::Work,
};
pub(crate) use self::{post_in::post_in, session::Session};
use crate::{
    Task,
    error::{Failure, OpenError, Outcome},
    rows::{PostRow, UserRow},
    schema::posts,
    sql_types::DbId,
    version::{self, Answer, Migrated, Opening},
};

pub(crate) mod hot;
mod locks;
mod migrate;
mod post_in;
#[path = "../queries/mod.rs"]
pub(crate) mod queries;
mod session;
mod work;

/// The connection that the query functions run on.
pub(crate) type Conn = diesel::SqliteConnection;

pub(crate) const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../migrations/sqlite");

/// How many jobs may wait for a thread; beyond that a request is turned away at once.
const QUEUE: usize = 1024;

/// How many writes share one commit at most: bounds how long the first of them waits.
const GROUP: usize = 256;

/// How long a lock held by another process (such as `agora admin grant`) is waited for.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The verbs of a query in the shape that the asynchronous PostgreSQL driver has them. Each is complete when it
/// returns.
pub(crate) trait RunQueryDsl: Sized {
    /// Runs the statement and returns how many rows it touched.
    fn execute(self, conn: &mut Conn) -> Ready<QueryResult<usize>>
    where
        Self: diesel::RunQueryDsl<Conn> + diesel::query_dsl::methods::ExecuteDsl<Conn>,
    {
        ready(diesel::RunQueryDsl::execute(self, conn))
    }

    /// Runs the query and returns all rows.
    fn load<'q, U>(self, conn: &mut Conn) -> Ready<QueryResult<Vec<U>>>
    where
        Self: diesel::RunQueryDsl<Conn> + LoadQuery<'q, Conn, U>,
    {
        ready(diesel::RunQueryDsl::load(self, conn))
    }

    /// Runs the query and returns its first row.
    fn get_result<'q, U>(self, conn: &mut Conn) -> Ready<QueryResult<U>>
    where
        Self: diesel::RunQueryDsl<Conn> + LoadQuery<'q, Conn, U>,
    {
        ready(diesel::RunQueryDsl::get_result(self, conn))
    }
}

impl<T> RunQueryDsl for T {}

// There is one writer at a time: what it reads is locked already.

/// The accounts with ADMIN, locked against changes by others.
pub(crate) async fn lock_admins(_: &mut Conn) -> Outcome<()> {
    Ok(())
}

/// The account, locked against changes by others.
pub(crate) async fn lock_user(conn: &mut Conn, id: DbId) -> Outcome<Option<UserRow>> {
    queries::accounts::find(conn, id).await
}

/// The post, locked against changes by others.
pub(crate) async fn lock_post(conn: &mut Conn, id: DbId) -> Outcome<Option<PostRow>> {
    Ok(RunQueryDsl::get_result(posts::table.find(id).select(PostRow::as_select()), conn).await.optional()?)
}

/// The post's counters, locked against changes by others.
pub(crate) async fn lock_counters(_: &mut Conn, _: DbId) -> Outcome<()> {
    Ok(())
}

/// The counters of the post that the comment belongs to, locked against changes by others.
pub(crate) async fn lock_counters_of(_: &mut Conn, _: DbId) -> Outcome<()> {
    Ok(())
}

/// The product, locked against changes by others.
pub(crate) async fn lock_product(_: &mut Conn, _: DbId) -> Outcome<()> {
    Ok(())
}

/// Whether migrations were ever applied.
pub(crate) async fn has_migrations(conn: &mut Conn) -> Outcome<bool> {
    let tables = "SELECT count(*) > 0 AS holds FROM sqlite_schema WHERE name = '__diesel_schema_migrations'";
    Ok(RunQueryDsl::get_result::<Answer>(diesel::sql_query(tables), conn).await?.holds)
}

/// The result of a query function: on SQLite its future is ready when it is first polled.
pub(crate) fn complete<T>(query: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    let waited = || Failure::Rule(Error::internal("a query function waited for something other than the database"));
    query.now_or_never().unwrap_or_else(|| Err(waited()))
}

type ReadJob = Box<dyn FnOnce(&mut Conn) + Send>;

/// What a thread takes from its queue: a job, or the word that there will be no more.
type Next<J> = Option<J>;

/// A write that takes its turn in a group.
trait WriteJob: Send {
    /// Does the work in a savepoint. Fails, with the cause, when the whole group must be rolled back.
    fn run(&mut self, conn: &mut Conn) -> Result<(), String>;
    /// Tells the outcome to whoever waits, once the group is committed or has failed with a cause.
    fn finish(self: Box<Self>, group: Result<(), &str>);
}

struct Write<T, F, A> {
    work: Option<F>,
    outcome: Option<Outcome<T>>,
    /// What is to happen once it is stored, whether or not anybody waits.
    after: A,
    reply: oneshot::Sender<Outcome<T>>,
}

impl<T, F, A> WriteJob for Write<T, F, A>
where
    T: Send,
    F: FnOnce(&mut Conn) -> Outcome<T> + Send,
    A: FnOnce() + Send,
{
    fn run(&mut self, conn: &mut Conn) -> Result<(), String> {
        let Some(work) = self.work.take().filter(|_| !self.reply.is_closed()) else { return Ok(()) };
        // Kept before the savepoint is rolled back: when that fails too, its error takes the place of the cause.
        let mut cause = None;
        let outcome = conn.transaction(|conn| {
            let outcome = catching_panics(work, conn);
            cause = outcome.as_ref().err().filter(|failure| !failure.is_contained()).map(ToString::to_string);
            outcome
        });
        match (cause, outcome) {
            (Some(cause), _) => Err(cause),
            (None, Err(failure)) if !failure.is_contained() => Err(failure.to_string()),
            (None, outcome) => {
                self.outcome = Some(outcome);
                Ok(())
            }
        }
    }

    fn finish(self: Box<Self>, group: Result<(), &str>) {
        let outcome = match (group, self.outcome) {
            (Ok(()), Some(outcome)) => outcome,
            // Even a refusal may rest on what another job of the group had written, and that is undone.
            (Err(cause), _) => Err(Failure::Rule(Error::unavailable(cause))),
            // Nobody waited any more when its turn came.
            (Ok(()), None) => return,
        };
        if outcome.is_ok() {
            (self.after)();
        }
        // Whoever no longer waits does not miss it.
        let _ = self.reply.send(outcome);
    }
}

/// An open SQLite database.
#[derive(Debug)]
pub(crate) struct Sqlite {
    file: PathBuf,
    readers: Sender<Next<ReadJob>>,
    writer: Sender<Next<Box<dyn WriteJob>>>,
    reader_threads: Mutex<Vec<JoinHandle<()>>>,
    writer_thread: Mutex<Option<JoinHandle<()>>>,
    /// The right to serve it, until it is closed.
    service: Mutex<Option<File>>,
    work: Arc<Work>,
}

impl Sqlite {
    /// Opens the file; unless it is to be inspected, makes it when missing and brings its schema up to date.
    pub(crate) fn open(opening: Opening, file: &Path, readers: usize) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Create { file: file.to_owned(), source };
        if opening == Opening::Inspect {
            inspect(file)?;
        }
        let _starting = lock_directory(file).map_err(failed)?;
        drop(create(file).map_err(failed)?);
        // First of all: a service that is refused has changed nothing.
        let service = (opening == Opening::Serve).then(|| lock_service(file)).transpose()?;
        let mut connection = connect(file, Access::Write)?;
        let found = schema_of(&mut connection, file)?;
        version::check(found.clone(), opening)?;
        if opening != Opening::Inspect {
            migrate::run(&mut connection, file, found, service.is_some())?;
        }
        let (read, read_jobs) = bounded(QUEUE);
        let (write, write_jobs) = bounded(QUEUE);
        let work = Arc::<Work>::default();
        let writing = Arc::clone(&work);
        let writer_thread = spawn("agora-writer".to_owned(), move || write_loop(connection, &write_jobs, &writing))?;
        let mut reader_threads = Vec::with_capacity(readers);
        for n in 0..readers {
            let connection = connect(file, Access::Read)?;
            let (jobs, reading) = (read_jobs.clone(), Arc::clone(&work));
            reader_threads.push(spawn(format!("agora-reader-{n}"), move || read_loop(connection, &jobs, &reading))?);
        }
        Ok(Self {
            file: file.to_owned(),
            readers: read,
            writer: write,
            reader_threads: Mutex::new(reader_threads),
            writer_thread: Mutex::new(Some(writer_thread)),
            service: Mutex::new(service),
            work,
        })
    }

    /// Brings the schema of the file, which is made when missing, up to date, and does no more.
    pub(crate) fn migrate(file: &Path) -> Result<Migrated, OpenError> {
        let failed = |source| OpenError::Create { file: file.to_owned(), source };
        let _starting = lock_directory(file).map_err(failed)?;
        drop(create(file).map_err(failed)?);
        let mut connection = connect(file, Access::Write)?;
        let found = schema_of(&mut connection, file)?;
        version::check(found.clone(), Opening::Change)?;
        migrate::run(&mut connection, file, found, false)
    }

    /// The versions of the migrations that were applied to the file, which is only read.
    pub(crate) fn applied(file: &Path) -> Result<Vec<String>, OpenError> {
        told(complete(queries::transfer::applied(&mut connect_to_inspect(file)?)), file)
    }

    /// Lets the threads finish what they have and closes their connections: the writer's last, since the last one
    /// moves what is in the write-ahead log into the database file. Later jobs are refused. Blocks until it is done.
    pub(crate) fn close(&self) {
        let readers = std::mem::take(&mut *lock(&self.reader_threads));
        for _ in &readers {
            // A queue without a thread behind it needs no word.
            let _ = self.readers.send(None);
        }
        for thread in readers {
            // A thread that panicked has nothing left to finish.
            let _ = thread.join();
        }
        if let Some(thread) = lock(&self.writer_thread).take() {
            let _ = self.writer.send(None);
            let _ = thread.join();
        }
        drop(lock(&self.service).take());
    }

    /// Runs work that reads, all of it on one snapshot.
    pub(crate) async fn read<T, F>(&self, work: F) -> agora_domain::Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Conn) -> Outcome<T> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job: ReadJob = Box::new(move |conn| {
            if !reply.is_closed() {
                // Whoever no longer waits does not miss it.
                let _ = reply.send(conn.transaction(|conn| catching_panics(work, conn)));
            }
        });
        submit(&self.readers, job)?;
        receive(answer).await
    }

    /// Runs work that writes, in a transaction of its own: it is undone when it fails and on disk when it succeeds.
    pub(crate) async fn write<T, F>(&self, work: F) -> agora_domain::Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Conn) -> Outcome<T> + Send + 'static,
    {
        self.write_then(work, || ()).await
    }

    /// Runs work that writes, as [`write`](Self::write) does, and what is to happen once it is stored, before anybody
    /// is told so: quick work, since others wait for the thread that does it.
    pub(crate) async fn write_then<T, F, A>(&self, work: F, after: A) -> agora_domain::Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Conn) -> Outcome<T> + Send + 'static,
        A: FnOnce() + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        submit::<Box<dyn WriteJob>>(&self.writer, Box::new(Write { work: Some(work), outcome: None, after, reply }))?;
        receive(answer).await
    }

    /// Takes the lock of a task if no handle on the same file has it, in this process or another. It goes with the
    /// returned file.
    pub(crate) fn try_lock(&self, task: Task) -> agora_domain::Result<Option<File>> {
        let name = match task {
            Task::Sweep => "-sweep",
        };
        lock_companion(&self.file, name).map_err(Error::unavailable)
    }

    /// Begins to read everything, as it is now.
    pub(crate) async fn snapshot(&self) -> agora_domain::Result<Session> {
        Session::snapshot(&self.file).await
    }

    /// Begins to fill the database.
    pub(crate) async fn load(&self) -> agora_domain::Result<Session> {
        Session::load(&self.file).await
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.close();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn submit<J>(queue: &Sender<Next<J>>, job: J) -> agora_domain::Result<()> {
    queue.try_send(Some(job)).map_err(|error| match error {
        TrySendError::Full(_) => Error::unavailable("too many requests wait for the database"),
        TrySendError::Disconnected(_) => Error::unavailable("the database is closed"),
    })
}

async fn receive<T>(answer: oneshot::Receiver<Outcome<T>>) -> agora_domain::Result<T> {
    let outcome = answer.await.map_err(|_| Error::internal("a database job was dropped"))?;
    outcome.map_err(Error::from)
}

fn read_loop(mut conn: Conn, jobs: &Receiver<Next<ReadJob>>, work: &Work) {
    while let Ok(Some(job)) = jobs.recv() {
        work.reading(|| job(&mut conn));
    }
}

/// The outcome of work; a panic in it is a failure like others, and undone like them.
fn catching_panics<T>(work: impl FnOnce(&mut Conn) -> Outcome<T>, conn: &mut Conn) -> Outcome<T> {
    let panicked = |_| Err(Failure::Rule(Error::internal("work on the database panicked")));
    catch_unwind(AssertUnwindSafe(|| work(conn))).unwrap_or_else(panicked)
}

fn write_loop(mut conn: Conn, jobs: &Receiver<Next<Box<dyn WriteJob>>>, work: &Work) {
    let mut open = true;
    while open {
        let Ok(Some(first)) = jobs.recv() else { return };
        let mut group = vec![first];
        while group.len() < GROUP {
            match jobs.try_recv() {
                Ok(Some(job)) => group.push(job),
                Ok(None) => {
                    open = false;
                    break;
                }
                Err(_) => break,
            }
        }
        work.writing(group.len(), || write_group(&mut conn, group));
    }
}

fn write_group(conn: &mut Conn, mut group: Vec<Box<dyn WriteJob>>) {
    let mut cause = None;
    let committed = conn.immediate_transaction(|conn| {
        group.iter_mut().try_for_each(|job| job.run(conn)).map_err(|text| {
            cause = Some(text);
            DieselError::RollbackTransaction
        })
    });
    let failure = committed.err().map(|error| cause.unwrap_or_else(|| error.to_string()));
    if let Some(cause) = &failure {
        tracing::error!(cause, jobs = group.len(), "a group of writes was rolled back");
    }
    for job in group {
        job.finish(failure.as_deref().map_or(Ok(()), Err));
    }
}

/// Checks that the file is a database with the schema of this program.
fn inspect(file: &Path) -> Result<(), OpenError> {
    version::check(schema_of(&mut connect_to_inspect(file)?, file)?, Opening::Inspect)
}

/// A connection that changes nothing, not even how the file keeps its log: one that may write would make it a database
/// that keeps a write-ahead log.
fn connect_to_inspect(file: &Path) -> Result<Conn, OpenError> {
    open_to_read(file, "mode=ro")
}

/// Opens the file to look, without as much as a lock when nobody else has it open: SQLite would make the companions of
/// its write-ahead log, and leave them behind.
pub(crate) fn look(file: &Path) -> Result<Conn, OpenError> {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    open_to_read(file, if Path::new(&log).exists() { "mode=ro" } else { "mode=ro&immutable=1" })
}

/// Opens the file as these parameters say.
fn open_to_read(file: &Path, parameters: &str) -> Result<Conn, OpenError> {
    let whole = file.canonicalize().ok().filter(|path| path.is_file());
    let mut url =
        whole.and_then(|path| Url::from_file_path(path).ok()).ok_or_else(|| OpenError::Missing(file.into()))?;
    url.set_query(Some(parameters));
    let conn = Conn::establish(url.as_str());
    let mut conn = conn.map_err(|source| OpenError::Open { file: file.to_owned(), source })?;
    let patience = format!("PRAGMA busy_timeout = {}", BUSY_TIMEOUT.as_millis());
    conn.batch_execute(&patience).map_err(|source| OpenError::Setup { file: file.to_owned(), source })?;
    Ok(conn)
}

/// The version of the schema that the database has; nothing when it is not one of ours.
pub(crate) fn schema_of(conn: &mut Conn, file: &Path) -> Result<Option<String>, OpenError> {
    told(complete(queries::transfer::schema(conn)), file)
}

fn told<T>(outcome: Outcome<T>, file: &Path) -> Result<T, OpenError> {
    match outcome {
        Ok(value) => Ok(value),
        Err(Failure::Database(source)) => Err(unusable(file, source)),
        Err(Failure::Rule(error)) => Err(OpenError::Migration(error.into())),
    }
}

/// Makes the file when it is missing, for its owner alone. SQLite gives its companions (`-wal`, `-shm`) the same mode.
fn create(file: &Path) -> std::io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

fn connect(file: &Path, access: Access) -> Result<Conn, OpenError> {
    let url = file.to_str().ok_or_else(|| OpenError::Path(file.to_owned()))?;
    let mut conn = Conn::establish(url).map_err(|source| OpenError::Open { file: file.to_owned(), source })?;
    // synchronous = FULL: a commit that was acknowledged is on disk, so that it survives a power failure too.
    let pragmas = format!(
        "PRAGMA busy_timeout = {}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
         PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192; PRAGMA journal_size_limit = 67108864; \
         PRAGMA query_only = {};",
        BUSY_TIMEOUT.as_millis(),
        if access == Access::Read { "ON" } else { "OFF" },
    );
    conn.batch_execute(&pragmas).map_err(|source| unusable(file, source))?;
    Ok(conn)
}

/// Why a file could be opened but not be used.
fn unusable(file: &Path, source: DieselError) -> OpenError {
    // More than SQLite needs for a start: its shared memory, and a page of each file.
    const ENOUGH: u64 = 256 * 1024;
    let space = file.canonicalize().ok().and_then(|file| rustix::fs::statvfs(file.parent()?).ok());
    let file = file.to_owned();
    match space {
        Some(space) if space.f_bavail.saturating_mul(space.f_frsize) < ENOUGH => OpenError::Full { file, source },
        _ => OpenError::Setup { file, source },
    }
}

/// Locks the directory of the file against other processes that start: until this one has set the file up, their first
/// steps and its own would get in each other's way. The lock goes with the returned handle.
fn lock_directory(file: &Path) -> std::io::Result<File> {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let directory = File::open(directory)?;
    directory.lock()?;
    Ok(directory)
}

fn spawn(name: String, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, OpenError> {
    thread::Builder::new().name(name).spawn(run).map_err(OpenError::Thread)
}

#[cfg(test)]
mod tests;
