//! SQLite: threads that own their connections.
//!
//! A use case's database work runs as one job on one thread, so that nothing is awaited while a transaction is open and
//! a cancelled request leaves none behind. Readers work side by side; one writer commits what has queued up as one
//! group, each job in a savepoint of its own, so that many writers share one flush to disk.

use std::{
    fs::File,
    future::{Future, Ready, ready},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use agora_domain::Error;
use crossbeam_channel::{Sender, bounded};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, QueryResult, SelectableHelper, query_dsl::LoadQuery};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use futures_util::FutureExt;
use tokio::sync::oneshot;

use self::{
    connect::{Access, built_unlike, connect, connect_to_inspect, create, inspect},
    jobs::{Next, Write, WriteJob, catching_panics, receive, submit, write_loop},
    locks::{lock_companion, lock_directory, lock_service},
    readers::Readers,
    work::Work,
};
pub(crate) use self::{
    connect::{applied, look},
    post_in::post_in,
    session::Session,
    text_in::may_have_text,
};
use crate::{
    Task,
    error::{Failure, OpenError, Outcome},
    rows::{PostRow, UserRow},
    schema::posts,
    sql_types::DbId,
    version::{self, Answer, Migrated, Opening},
};

mod connect;
pub(crate) mod hot;
mod jobs;
mod locks;
mod migrate;
mod post_in;
#[path = "../queries/mod.rs"]
pub(crate) mod queries;
mod readers;
mod session;
mod text_in;
mod work;

/// The connection that the query functions run on.
pub(crate) type Conn = diesel::SqliteConnection;

pub(crate) const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../migrations/sqlite");

/// How many reads of little, and how many writes, may wait for a thread; beyond that a request is turned away at once.
const QUEUE: usize = 1024;

/// How many reads of parts of lists may wait for a thread: each takes as long as many of the others.
const LIST_QUEUE: usize = 256;

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

/// The post that is not deleted, locked against changes by others.
pub(crate) async fn lock_post(conn: &mut Conn, id: DbId) -> Outcome<Option<PostRow>> {
    Ok(RunQueryDsl::get_result(
        posts::table.find(id).filter(posts::deleted_at.is_null()).select(PostRow::as_select()),
        conn,
    )
    .await
    .optional()?)
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
        let found = applied(&mut connection, file)?;
        version::check(&found, opening)?;
        if opening != Opening::Inspect {
            migrate::run(&mut connection, file, found.last(), service.is_some())?;
        }
        if service.is_some() {
            warn_if_built_unlike(&mut connection);
        }
        let (write, write_jobs) = bounded(QUEUE);
        let work = Arc::<Work>::default();
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
        let failed = |source| OpenError::Create { file: file.to_owned(), source };
        let _starting = lock_directory(file).map_err(failed)?;
        drop(create(file).map_err(failed)?);
        let mut connection = connect(file, Access::Write)?;
        let found = applied(&mut connection, file)?;
        version::check(&found, Opening::Change)?;
        migrate::run(&mut connection, file, found.last(), false)
    }

    /// The versions of the migrations that were applied to the file, which is only read.
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
    pub(crate) async fn read<T, F>(&self, work: F) -> agora_domain::Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Conn) -> Outcome<T> + Send + 'static,
    {
        self.readers.run(work).await
    }

    /// Runs work that reads a part of a list, as [`read`](Self::read) does.
    pub(crate) async fn list<T, F>(&self, work: F) -> agora_domain::Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Conn) -> Outcome<T> + Send + 'static,
    {
        self.lists.run(work).await
    }

    /// Runs work that writes, in a transaction of its own: it is undone when it fails and on disk when it succeeds.
    pub(crate) async fn write<T, F>(&self, work: F) -> agora_domain::Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Conn) -> Outcome<T> + Send + 'static,
    {
        self.write_then(work, |_| ()).await
    }

    /// Runs work that writes, as [`write`](Self::write) does, and, given its outcome, what is to happen once it is stored,
    /// before anybody is told so: quick work, since others wait for the thread that does it.
    pub(crate) async fn write_then<T, F, A>(&self, work: F, after: A) -> agora_domain::Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Conn) -> Outcome<T> + Send + 'static,
        A: FnOnce(&T) + Send + 'static,
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

fn warn_if_built_unlike(conn: &mut Conn) {
    match built_unlike(conn) {
        Ok(unlike) if unlike.is_empty() => {}
        Ok(unlike) => tracing::warn!(?unlike, "SQLite was built without the flags of .cargo/config.toml: it is slower"),
        Err(error) => tracing::warn!(%error, "SQLite does not say how it was built"),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn spawn(name: String, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, OpenError> {
    thread::Builder::new().name(name).spawn(run).map_err(OpenError::Thread)
}

#[cfg(test)]
mod tests;
