//! The database adapter: the domain's repositories over SQL.
//!
//! Each query is written once, but for the hot ones (`hot/` of each database), as a function in `queries/`, against the
//! names `Conn` and `RunQueryDsl`. The module of a database (`sqlite/`, `postgres/`) says what these mean there and
//! mounts `queries/` below itself, so that one text is compiled for each database. The ports (`accounts.rs`,
//! `posts.rs`, ...) turn domain values into rows' values and back, and dispatch.

#![forbid(unsafe_code)]
#![allow(clippy::duplicate_mod, reason = "the queries are compiled once for each database")]

mod accounts;
mod calls;
mod catalog;
mod check;
mod comments;
mod error;
mod feeds;
mod figures;
mod follows;
mod health;
mod idempotency;
mod images;
mod lock;
mod options;
mod postgres;
mod posts;
mod probe;
mod product_rows;
mod products;
#[cfg(test)]
mod query_count;
mod rows;
mod schema;
mod sessions;
mod sql_types;
mod sqlite;
mod transfer;
mod values;
mod version;

use std::{path::PathBuf, sync::Arc, thread};

use agora_domain::{
    accounts::{AccountRepository, SessionRepository},
    comments::CommentRepository,
    follows::FollowRepository,
    idempotency::IdempotencyRepository,
    media::{NamedImages, UnnamedImages},
    posts::PostRepository,
    products::{Catalog, ProductRepository},
};
pub use calls::{CallMeter, CallOutcome, Watch};
pub use check::damage;
pub use error::OpenError;
pub use figures::{Figures, Lane, WriteGroups};
pub use lock::{Task, TaskLock};
pub use options::Options;
pub use probe::{Probe, ServerProbe, probe};
pub use transfer::{Load, Position, Rows, Snapshot, Table};
pub use version::{Migrated, Migrations, schema_version};

use crate::{calls::Calls, feeds::Feeds, postgres::Postgres, sqlite::Sqlite, version::Opening};

/// Runs a query function on a lane: `call!(self, read posts::find(id, viewer))`. PostgreSQL may run it again.
macro_rules! call {
    ($database:expr, $lane:ident $module:ident::$query:ident($($arg:expr),*)) => {{
        let call = $database.calls.begin(concat!(stringify!($module), ".", stringify!($query)));
        call.end(match &$database.backend {
            crate::Backend::Sqlite(database) => {
                let work = move |conn: &mut crate::sqlite::Conn| {
                    crate::sqlite::complete(crate::sqlite::queries::$module::$query(conn, $($arg),*))
                };
                database.$lane(work).await
            }
            crate::Backend::Postgres(database) => {
                database
                    .$lane(move |conn| {
                        Box::pin(crate::postgres::queries::$module::$query(conn, $(Clone::clone(&$arg)),*))
                    })
                    .await
            }
        })
    }};
}

/// Runs a query function as one read of little: `read!(self, accounts::find(id))`.
macro_rules! read {
    ($database:expr, $($query:tt)+) => { $crate::call!($database, read $($query)+) };
}

/// Runs a query function as one read of a part of a list: `list!(self, accounts::list(slice))`.
macro_rules! list {
    ($database:expr, $($query:tt)+) => { $crate::call!($database, list $($query)+) };
}

/// Runs a query function as one transaction: `write!(self, posts::delete(id))`.
macro_rules! write {
    ($database:expr, $($query:tt)+) => { $crate::call!($database, write $($query)+) };
}

/// Runs what takes one statement on PostgreSQL, by the function of that name in the database's own `hot`:
/// `hot!(self, read posts::find(id, viewer))`.
macro_rules! hot {
    ($database:expr, $kind:ident $module:ident::$query:ident($($arg:expr),*)) => {{
        let call = $database.calls.begin(concat!(stringify!($module), ".", stringify!($query)));
        call.end(match &$database.backend {
            crate::Backend::Sqlite(database) => {
                let work = move |conn: &mut crate::sqlite::Conn| {
                    crate::sqlite::complete(crate::sqlite::hot::$module::$query(conn, $($arg),*))
                };
                database.$kind(work).await
            }
            crate::Backend::Postgres(database) => {
                let statement = crate::postgres::hot::$module::$query(database, $($arg),*);
                statement.await.map_err(agora_domain::Error::from)
            }
        })
    }};
}

pub(crate) use {call, hot, list, read, write};

/// Checks that a URL names a database, there or not.
///
/// # Errors
/// [`OpenError`], in words for an operator that do not repeat the URL.
pub fn check_url(url: &str) -> Result<(), OpenError> {
    if is_postgres(url) {
        return postgres::check_url(url);
    }
    Database::named_file(url).map(drop).ok_or(OpenError::Scheme)
}

/// One of the databases.
#[derive(Clone)]
enum Backend {
    Sqlite(Arc<Sqlite>),
    Postgres(Arc<Postgres>),
}

/// An open database: every repository of the domain.
#[derive(Clone)]
pub struct Database {
    backend: Backend,
    feeds: Arc<Feeds>,
    calls: Arc<Calls>,
}

impl Database {
    /// Opens the database that the URL names for a service: as [`Self::open`] does, but a SQLite database only when no
    /// service has it, here or in another process, until it is closed or the process ends.
    ///
    /// # Errors
    /// [`OpenError`], in words for an operator.
    pub async fn open_to_serve(url: &str, options: &Options) -> Result<Self, OpenError> {
        Self::open_to(Opening::Serve, url, options).await
    }

    /// Opens the database that the URL names and brings its schema up to date.
    ///
    /// `sqlite:PATH` and `sqlite://PATH` name a SQLite file, which is made when missing. `postgres://...` names a
    /// database of a PostgreSQL server, which the options are about. Blocks while it works, so it is called on a
    /// runtime of several threads; that runtime then drives the connections of work in several steps.
    ///
    /// # Errors
    /// [`OpenError`], in words for an operator.
    pub async fn open(url: &str, options: &Options) -> Result<Self, OpenError> {
        Self::open_to(Opening::Change, url, options).await
    }

    /// Opens the database that the URL names, as [`Self::open`] does, when it is there and has the schema of this
    /// program. Nothing about it is changed.
    ///
    /// # Errors
    /// [`OpenError`], in words for an operator.
    pub async fn open_existing(url: &str, options: &Options) -> Result<Self, OpenError> {
        Self::open_to(Opening::Inspect, url, options).await
    }

    /// Brings the schema of the database that the URL names up to date, as [`Self::open`] does, and does no more.
    ///
    /// # Errors
    /// [`OpenError`], in words for an operator.
    pub async fn migrate(url: &str, options: &Options) -> Result<Migrated, OpenError> {
        if is_postgres(url) {
            return Postgres::migrate(url, options).await;
        }
        Sqlite::migrate(&Self::named_file(url).ok_or(OpenError::Scheme)?)
    }

    /// The migrations of the database that the URL names. Nothing about it is changed.
    ///
    /// # Errors
    /// [`OpenError`], in words for an operator; not when the database is newer than this program.
    pub async fn migrations(url: &str, options: &Options) -> Result<Migrations, OpenError> {
        let applied = if is_postgres(url) {
            Postgres::applied(url, options).await?
        } else {
            Sqlite::applied(&Self::named_file(url).ok_or(OpenError::Scheme)?)?
        };
        Ok(Migrations::of(applied))
    }

    async fn open_to(opening: Opening, url: &str, options: &Options) -> Result<Self, OpenError> {
        if is_postgres(url) {
            let postgres = Postgres::open(opening, url, options).await?;
            return Ok(Self::of(Backend::Postgres(Arc::new(postgres))));
        }
        let file = Self::named_file(url).ok_or(OpenError::Scheme)?;
        let readers = thread::available_parallelism().map_or(2, |cores| cores.get().max(2));
        Sqlite::open(opening, &file, readers).map(|sqlite| Self::of(Backend::Sqlite(Arc::new(sqlite))))
    }

    fn of(backend: Backend) -> Self {
        Self { backend, feeds: Arc::default(), calls: Arc::default() }
    }

    /// The same database, of whose calls is told and logged what `watch` says. For the repositories made from it.
    pub fn watched(self, watch: Watch) -> Self {
        Self { calls: Arc::new(Calls::new(watch)), ..self }
    }

    /// The file of the SQLite database that the URL names; nothing when it names none.
    fn named_file(url: &str) -> Option<PathBuf> {
        let path = url.strip_prefix("sqlite:")?;
        let path = path.strip_prefix("//").unwrap_or(path);
        // What SQLite takes for something else than a file's path: each connection would see another database.
        let is_other = path.is_empty() || path.starts_with(':') || path.starts_with("file:");
        (!is_other).then(|| PathBuf::from(path))
    }

    /// Finishes the work at hand, also that which nobody waits for any more, and closes every connection; later work is
    /// refused as unavailable. Single statements on PostgreSQL, which are whole or not there, are not waited for. Blocks
    /// until it is done, so it is not called on a thread that drives connections.
    /// Dropping the last clone does the same on SQLite; on PostgreSQL, it lets the work at hand go on.
    pub fn close(&self) {
        match &self.backend {
            Backend::Sqlite(database) => database.close(),
            Backend::Postgres(database) => database.close(),
        }
    }

    /// The accounts.
    pub fn accounts(&self) -> Arc<dyn AccountRepository> {
        Arc::new(self.clone())
    }

    /// The sessions.
    pub fn sessions(&self) -> Arc<dyn SessionRepository> {
        Arc::new(self.clone())
    }

    /// The posts and likes.
    pub fn posts(&self) -> Arc<dyn PostRepository> {
        Arc::new(self.clone())
    }

    /// The comments.
    pub fn comments(&self) -> Arc<dyn CommentRepository> {
        Arc::new(self.clone())
    }

    /// The follow relations.
    pub fn follows(&self) -> Arc<dyn FollowRepository> {
        Arc::new(self.clone())
    }

    /// The catalog.
    pub fn products(&self) -> Arc<dyn ProductRepository> {
        Arc::new(self.clone())
    }

    /// The whole catalog, for work on all of it.
    pub fn catalog(&self) -> Arc<dyn Catalog> {
        Arc::new(self.clone())
    }

    /// The record of requests that may be sent again.
    pub fn idempotency(&self) -> Arc<dyn IdempotencyRepository> {
        Arc::new(self.clone())
    }

    /// The images that rows name.
    pub fn named_images(&self) -> Arc<dyn NamedImages> {
        Arc::new(self.clone())
    }

    /// The record of the images that no row names.
    pub fn unnamed_images(&self) -> Arc<dyn UnnamedImages> {
        Arc::new(self.clone())
    }
}

fn is_postgres(url: &str) -> bool {
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}
