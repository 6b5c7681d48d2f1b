//! The database adapter: the domain's repositories over SQL.
//!
//! Each query is written once, as a function in `queries/`, against the names `Conn` and `RunQueryDsl`. The file of a
//! database (`sqlite.rs`) says what these mean there and mounts `queries/` below itself, so that one text is compiled
//! for each database. The ports (`accounts.rs`, `posts.rs`, ...) turn domain values into rows' values and back, and
//! dispatch.

mod accounts;
mod comments;
mod error;
mod follows;
mod images;
mod posts;
mod product_rows;
mod products;
#[cfg(test)]
mod query_count;
mod rows;
mod schema;
mod sessions;
mod sql_types;
mod sqlite;

use std::{path::PathBuf, sync::Arc, thread};

use agora_domain::{
    accounts::{AccountRepository, SessionRepository},
    comments::CommentRepository,
    follows::FollowRepository,
    media::ImageReferences,
    posts::PostRepository,
    products::ProductRepository,
};
pub use sqlite::OpenError;

use crate::sqlite::Sqlite;

/// Runs a query function as one read on one snapshot: `read!(self, posts::find(id, viewer))`.
macro_rules! read {
    ($database:expr, $module:ident::$query:ident($($arg:expr),*)) => {
        $database.0.read(move |conn| {
            crate::sqlite::complete(crate::sqlite::queries::$module::$query(conn, $($arg),*))
        })
    };
}

/// Runs a query function as one transaction: `write!(self, posts::delete(id))`.
macro_rules! write {
    ($database:expr, $module:ident::$query:ident($($arg:expr),*)) => {
        $database.0.write(move |conn| {
            crate::sqlite::complete(crate::sqlite::queries::$module::$query(conn, $($arg),*))
        })
    };
}

pub(crate) use {read, write};

/// An open database: every repository of the domain.
#[derive(Debug, Clone)]
pub struct Database(Arc<Sqlite>);

impl Database {
    /// Opens the database that the URL names, makes it when missing, and brings its schema up to date.
    ///
    /// `sqlite:PATH` and `sqlite://PATH` name a SQLite file. Blocks while it works.
    ///
    /// # Errors
    /// [`OpenError`], in words for an operator.
    pub fn open(url: &str) -> Result<Self, OpenError> {
        let path = url.strip_prefix("sqlite:").ok_or(OpenError::Scheme)?;
        let path = path.strip_prefix("//").unwrap_or(path);
        // What SQLite takes for something else than a file's path: each connection would see another database.
        if path.is_empty() || path.starts_with(':') || path.starts_with("file:") {
            return Err(OpenError::Scheme);
        }
        let file = PathBuf::from(path);
        let readers = thread::available_parallelism().map_or(2, |cores| cores.get().max(2));
        Sqlite::open(&file, readers).map(|sqlite| Self(Arc::new(sqlite)))
    }

    /// Finishes the work at hand and closes every connection; later work is refused as unavailable. Blocks until it
    /// is done. Dropping the last clone does the same.
    pub fn close(&self) {
        self.0.close();
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

    /// Which images rows name.
    pub fn image_references(&self) -> Arc<dyn ImageReferences> {
        Arc::new(self.clone())
    }
}
