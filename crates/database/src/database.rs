//! An open database, SQLite or PostgreSQL.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use crate::backend::Backend;
use crate::calls::{Calls, QueryInstrumentation};
use crate::error::OpenError;
use crate::feeds::FeedCache;
use crate::figures::Figures;
use crate::options::Options;
use crate::postgres;
use crate::postgres::Postgres;
use crate::search_index::Packing;
use crate::sqlite::Sqlite;
use crate::version::{Backlog, Migrated, Migrations, Opening};

/// Checks that a URL names a database. The database need not exist.
///
/// # Errors
/// [`OpenError`], in words for an operator that do not repeat the URL.
pub fn check_url(url: &str) -> Result<(), OpenError> {
    if is_postgres(url) {
        return postgres::check_url(url);
    }
    Database::named_file(url).map(drop).ok_or(OpenError::Scheme)
}

/// Checks that a URL names a PostgreSQL database. The database need not exist.
///
/// # Errors
/// [`OpenError`], in words for an operator that do not repeat the URL.
pub fn check_replica_url(url: &str) -> Result<(), OpenError> {
    if is_postgres(url) { postgres::check_url(url) } else { Err(OpenError::NoReplica) }
}

/// An open database. It implements every port of the domain that is about stored rows, so an `Arc` of it serves as any of them.
pub struct Database {
    pub(crate) backend: Backend,
    pub(crate) feeds: Arc<FeedCache>,
    pub(crate) calls: Arc<Calls>,
    pub(crate) packing: Packing,
}

impl Database {
    /// Opens the database that the URL names for a service, as [`Self::open`] does. A SQLite database is locked until it is
    /// closed or the process ends: opening fails if a service has it open already, in this process or another one.
    ///
    /// # Errors
    /// [`OpenError`], in words for an operator.
    pub async fn open_to_serve(url: &str, options: &Options) -> Result<Self, OpenError> {
        Self::open_to(Opening::Serve, url, options).await
    }

    /// Opens the database that the URL names to fill it, as [`Self::open_to_serve`] does. If it has rows, it is not migrated: it
    /// cannot be filled, and a service of the previous release may use it.
    ///
    /// # Errors
    /// [`OpenError`], in words for an operator.
    pub async fn open_to_fill(url: &str, options: &Options) -> Result<Self, OpenError> {
        Self::open_to(Opening::Fill, url, options).await
    }

    /// Opens the database that the URL names and brings its schema up to date.
    ///
    /// `sqlite:PATH` and `sqlite://PATH` name a SQLite file, which is created if missing. `postgres://...` names a
    /// database of a PostgreSQL server, to which the options apply. Blocks while it works, so call it on a multi-threaded
    /// runtime; that runtime then drives the connections whose work takes several steps.
    ///
    /// # Errors
    /// [`OpenError`], in words for an operator.
    pub async fn open(url: &str, options: &Options) -> Result<Self, OpenError> {
        Self::open_to(Opening::Change, url, options).await
    }

    /// Opens the database that the URL names, as [`Self::open`] does, but changes nothing: the database must exist and have the
    /// schema of this program.
    ///
    /// # Errors
    /// [`OpenError`], in words for an operator.
    pub async fn open_existing(url: &str, options: &Options) -> Result<Self, OpenError> {
        Self::open_to(Opening::Inspect, url, options).await
    }

    /// Brings the schema of the database that the URL names up to date, as [`Self::open`] does, without opening it.
    ///
    /// # Errors
    /// [`OpenError`], in words for an operator.
    pub async fn migrate(url: &str, options: &Options) -> Result<Migrated, OpenError> {
        if is_postgres(url) {
            return Postgres::migrate(url, options).await;
        }
        Sqlite::migrate(&Self::named_file(url).ok_or(OpenError::Scheme)?)
    }

    /// Returns the migrations of the database that the URL names, without changing it.
    ///
    /// # Errors
    /// [`OpenError`], in words for an operator. A database newer than this program is no error.
    pub async fn migrations(url: &str, options: &Options) -> Result<Migrations, OpenError> {
        let applied = if is_postgres(url) {
            Postgres::applied(url, options).await?
        } else {
            Sqlite::applied(&Self::named_file(url).ok_or(OpenError::Scheme)?)?
        };
        Ok(Migrations::of(applied))
    }

    /// Returns how much background work is left in the database that the URL names, which has the schema of this program. Changes
    /// nothing.
    ///
    /// # Errors
    /// [`OpenError`], in words for an operator.
    pub async fn backlog(url: &str, options: &Options) -> Result<Backlog, OpenError> {
        if is_postgres(url) {
            return Postgres::backlog(url, options).await;
        }
        Sqlite::backlog(&Self::named_file(url).ok_or(OpenError::Scheme)?)
    }

    async fn open_to(opening: Opening, url: &str, options: &Options) -> Result<Self, OpenError> {
        if is_postgres(url) {
            let postgres = Postgres::open(opening, url, options).await?;
            let feeds = if postgres.is_distributed() { FeedCache::disabled() } else { FeedCache::default() };
            return Ok(Self { feeds: Arc::new(feeds), ..Self::of(Backend::Postgres(Arc::new(postgres))) });
        }
        let file = Self::named_file(url).ok_or(OpenError::Scheme)?;
        let readers = thread::available_parallelism().map_or(2, |cores| cores.get().max(2));
        Sqlite::open(opening, &file, readers).map(|sqlite| Self::of(Backend::Sqlite(Arc::new(sqlite))))
    }

    fn of(backend: Backend) -> Self {
        Self { backend, feeds: Arc::default(), calls: Arc::default(), packing: Packing::SERVICE }
    }

    /// Sets how calls of the database are measured and logged.
    pub fn instrumented(self, instrumentation: QueryInstrumentation) -> Self {
        Self { calls: Arc::new(Calls::new(instrumentation)), ..self }
    }

    /// Sets how many documents the search index packs into a bucket, 1,024 by default. For tests, which then need fewer
    /// documents.
    pub fn packing(self, documents: u8) -> Self {
        let documents = i64::from(documents.max(1));
        Self { packing: Packing { documents, rare: documents / 4, ..Packing::SERVICE }, ..self }
    }

    /// Returns the file of the SQLite database that the URL names, or `None` if it names no SQLite file.
    pub(crate) fn named_file(url: &str) -> Option<PathBuf> {
        let path = url.strip_prefix("sqlite:")?;
        let path = path.strip_prefix("//").unwrap_or(path);
        // SQLite takes these for something other than a path, such as a database in memory: each connection would see another
        // one.
        let is_other = path.is_empty() || path.starts_with(':') || path.starts_with("file:");
        (!is_other).then(|| PathBuf::from(path))
    }

    /// Closes every connection once the work in progress is finished, including work whose caller is gone. Later calls fail as
    /// unavailable. Reads on PostgreSQL's shared connections are not awaited. Blocks until it is done, so do not call it on a
    /// thread that drives connections. Dropping the database does the same on SQLite; on PostgreSQL, the work in progress
    /// continues.
    pub fn close(&self) {
        match &self.backend {
            Backend::Sqlite(database) => database.close(),
            Backend::Postgres(database) => database.close(),
        }
    }

    /// Returns the file of a SQLite database, or `None` for PostgreSQL.
    pub fn file(&self) -> Option<&Path> {
        match &self.backend {
            Backend::Sqlite(database) => Some(&database.file),
            Backend::Postgres(_) => None,
        }
    }

    /// Returns whether writes are carried out in parallel rather than one after another.
    pub fn writes_in_parallel(&self) -> bool {
        match self.backend {
            Backend::Sqlite(_) => false,
            Backend::Postgres(_) => true,
        }
    }

    /// Returns how busy the database is. Cheap: it only reads counters of this process.
    pub fn figures(&self) -> Figures {
        match &self.backend {
            Backend::Sqlite(database) => {
                Figures { lanes: database.lanes().into(), write_groups: Some(database.write_groups()) }
            }
            Backend::Postgres(database) => Figures { lanes: database.lanes().into(), write_groups: None },
        }
    }
}

/// Returns whether a URL names a PostgreSQL database.
pub(crate) fn is_postgres(url: &str) -> bool {
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}
