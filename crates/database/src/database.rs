//! An open database of either kind.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use crate::backend::Backend;
use crate::calls::{Calls, QueryInstrumentation};
use crate::error::OpenError;
use crate::feeds::Feeds;
use crate::figures::Figures;
use crate::options::Options;
use crate::postgres;
use crate::postgres::Postgres;
use crate::search_index::Packing;
use crate::sqlite::Sqlite;
use crate::version::{Backlog, Migrated, Migrations, Opening};

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

/// Checks that a URL names a PostgreSQL database, there or not.
///
/// # Errors
/// [`OpenError`], in words for an operator that do not repeat the URL.
pub fn check_replica_url(url: &str) -> Result<(), OpenError> {
    if is_postgres(url) { postgres::check_url(url) } else { Err(OpenError::NoReplica) }
}

/// An open database: every port of the domain that is about stored rows. An `Arc` of it goes wherever one of them is asked for.
pub struct Database {
    pub(crate) backend: Backend,
    pub(crate) feeds: Arc<Feeds>,
    pub(crate) calls: Arc<Calls>,
    pub(crate) packing: Packing,
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

    /// Returns the migrations of the database that the URL names. Nothing about it is changed.
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

    /// Returns how much the service still has to do in the background to the database that the URL names, which has the schema
    /// of this program. Nothing about it is changed.
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
            let feeds = if postgres.is_distributed() { Feeds::forgetful() } else { Feeds::default() };
            return Ok(Self { feeds: Arc::new(feeds), ..Self::of(Backend::Postgres(Arc::new(postgres))) });
        }
        let file = Self::named_file(url).ok_or(OpenError::Scheme)?;
        let readers = thread::available_parallelism().map_or(2, |cores| cores.get().max(2));
        Sqlite::open(opening, &file, readers).map(|sqlite| Self::of(Backend::Sqlite(Arc::new(sqlite))))
    }

    fn of(backend: Backend) -> Self {
        Self { backend, feeds: Arc::default(), calls: Arc::default(), packing: Packing::SERVICE }
    }

    /// The same database, of whose calls is told and logged what `watch` says.
    pub fn instrumented(self, watch: QueryInstrumentation) -> Self {
        Self { calls: Arc::new(Calls::new(watch)), ..self }
    }

    /// The same database, which packs fewer documents of a search together than 1,024: so tests need fewer of them.
    pub fn packing(self, documents: u8) -> Self {
        let documents = i64::from(documents.max(1));
        Self { packing: Packing { documents, rare: documents / 4, ..Packing::SERVICE }, ..self }
    }

    /// Returns the file of the SQLite database that the URL names; nothing when it names none.
    pub(crate) fn named_file(url: &str) -> Option<PathBuf> {
        let path = url.strip_prefix("sqlite:")?;
        let path = path.strip_prefix("//").unwrap_or(path);
        // What SQLite takes for something else than a file's path: each connection would see another database.
        let is_other = path.is_empty() || path.starts_with(':') || path.starts_with("file:");
        (!is_other).then(|| PathBuf::from(path))
    }

    /// Finishes the work at hand, also that which nobody waits for any more, and closes every connection; later work is
    /// refused as unavailable. Reads on PostgreSQL's shared connections are not waited for. Blocks until it is done, so it
    /// is not called on a thread that drives connections. Dropping it does the same on SQLite; on PostgreSQL, the work
    /// at hand goes on.
    pub fn close(&self) {
        match &self.backend {
            Backend::Sqlite(database) => database.close(),
            Backend::Postgres(database) => database.close(),
        }
    }

    /// Returns the file of a SQLite database.
    pub fn file(&self) -> Option<&Path> {
        match &self.backend {
            Backend::Sqlite(database) => Some(&database.file),
            Backend::Postgres(_) => None,
        }
    }

    /// Returns whether it carries out writes in parallel, and not one after the other.
    pub fn writes_in_parallel(&self) -> bool {
        match self.backend {
            Backend::Sqlite(_) => false,
            Backend::Postgres(_) => true,
        }
    }

    /// Returns how busy it is. Takes no time to speak of, and does not ask the database.
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
