//! Bulk reading and writing of a whole database, for copies, backups and restores.
//!
//! A [`Snapshot`] reads the database as of one moment while the service keeps running. A [`Load`] fills a database in one
//! transaction, so that the contents appear as a whole or not at all. Both use a connection of their own, without the time
//! limits of requests.

use agora_domain::Result;
use agora_domain::media::ImageKey;
use futures_util::stream;
use futures_util::stream::Stream;

use crate::backend::Backend;
use crate::database::Database;
use crate::rows::count;
pub use crate::schema::{Position, Rows, Table};
use crate::{postgres, sqlite};

/// The number of rows in a batch: some megabytes if all are posts of the greatest length.
const BATCH: i64 = 500;

/// The kind of row that refers to an image.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ReferringRow {
    /// A post, for its first image.
    Post,
    /// A post, for each image after the first.
    FurtherOfPost,
    /// A user, for the profile picture.
    User,
}

impl ReferringRow {
    /// Returns the kind that is read after this one.
    const fn next(self) -> Option<Self> {
        match self {
            Self::Post => Some(Self::FurtherOfPost),
            Self::FurtherOfPost => Some(Self::User),
            Self::User => None,
        }
    }
}

/// A transaction on a connection of its own.
pub(crate) enum Session {
    Sqlite(sqlite::Session),
    Postgres(Box<postgres::Session>),
}

/// Runs a query function on a session's connection: `run_in!(session, transfer::count(table))`.
macro_rules! run_in {
    ($session:expr, $module:ident::$query:ident($($arg:expr),*)) => {
        match $session {
            crate::transfer::Session::Sqlite(session) => {
                let work = move |conn: &mut diesel::SqliteConnection| {
                    crate::sqlite::complete(crate::sqlite::queries::$module::$query(conn, $($arg),*))
                };
                session.run(work).await
            }
            crate::transfer::Session::Postgres(session) => {
                session.run(move |conn| Box::pin(crate::postgres::queries::$module::$query(conn, $($arg),*))).await
            }
        }
    };
}

pub(crate) use run_in;

impl Session {
    /// Begins a transaction that reads the database as it is now.
    pub(crate) async fn snapshot(database: &Database) -> Result<Self> {
        Ok(match &database.backend {
            Backend::Sqlite(database) => Self::Sqlite(sqlite::Session::snapshot(&database.file).await?),
            Backend::Postgres(database) => {
                Self::Postgres(Box::new(postgres::Session::snapshot(&database.connector, database.flavor).await?))
            }
        })
    }

    /// Begins a transaction that changes these tables and keeps everyone else from changing them.
    pub(crate) async fn change(database: &Database, tables: &'static [Table]) -> Result<Self> {
        Ok(match &database.backend {
            Backend::Sqlite(database) => Self::Sqlite(sqlite::Session::load(&database.file).await?),
            Backend::Postgres(database) => {
                Self::Postgres(Box::new(postgres::Session::change(&database.connector, tables).await?))
            }
        })
    }

    /// Commits the transaction.
    pub(crate) async fn commit(self) -> Result<()> {
        match self {
            Self::Sqlite(mut session) => session.commit().await,
            Self::Postgres(mut session) => session.commit().await,
        }
    }
}

/// The contents of a database as of one moment.
pub struct Snapshot(Session);

impl Snapshot {
    /// Returns the number of rows of the table.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn count(&mut self, table: Table) -> Result<u64> {
        run_in!(&mut self.0, transfer::count(table)).map(count)
    }

    /// Returns whether no table has a row.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn is_empty(&mut self) -> Result<bool> {
        for table in Table::ALL {
            if !run_in!(&mut self.0, transfer::page(table, None, 1))?.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the next rows of a table in the order of its primary key, from the beginning or after a position. An empty page
    /// means that no rows are left.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn page(&mut self, table: Table, from: Option<Position>) -> Result<Rows> {
        run_in!(&mut self.0, transfer::page(table, from, BATCH))
    }

    /// Returns the images that posts and profiles refer to, in batches.
    pub fn images(&mut self) -> impl Stream<Item = Result<Vec<ImageKey>>> + Send + '_ {
        let begin = Some((ReferringRow::Post, String::new()));
        stream::try_unfold((self, begin), async |(snapshot, from)| {
            let Some((by, after)) = from else { return Ok(None) };
            let names = run_in!(&mut snapshot.0, images::referenced_after(by, after, BATCH))?;
            let next = match names.last() {
                Some(last) if i64::try_from(names.len()) == Ok(BATCH) => Some((by, last.clone())),
                _ => by.next().map(|next| (next, String::new())),
            };
            let keys = names.iter().filter_map(|name| ImageKey::parse(name)).collect();
            Ok(Some((keys, (snapshot, next))))
        })
    }
}

/// A database being filled. Nothing is visible to others before [`Load::commit`]; dropping it rolls everything back.
pub struct Load(Snapshot);

impl Load {
    /// Returns the contents of the database so far.
    pub fn contents(&mut self) -> &mut Snapshot {
        &mut self.0
    }

    /// Deletes the previous contents of the database.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn clear(&mut self) -> Result<()> {
        run_in!(&mut self.0.0, transfer::clear())
    }

    /// Adds rows. Tables are filled in the order of [`Table::ALL`].
    ///
    /// # Errors
    /// [`agora_domain::Error::Conflict`] if such a row exists already, and if the database fails.
    pub async fn insert(&mut self, rows: Rows) -> Result<()> {
        run_in!(&mut self.0.0, transfer::insert(rows)).map(|_| ())
    }

    /// Counts the loaded rows, and commits.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn commit(mut self) -> Result<()> {
        run_in!(&mut self.0.0, transfer::count_all())?;
        self.0.0.commit().await
    }
}

impl Database {
    /// Returns whether both are the same database, even if their URLs differ. Returns `false` for distributed databases, of which
    /// it cannot be known.
    ///
    /// # Errors
    /// If either of them fails.
    pub async fn is_same(&self, other: &Self) -> Result<bool> {
        match (&self.backend, &other.backend) {
            (Backend::Sqlite(one), Backend::Sqlite(other)) => Ok(one.opened == other.opened),
            (Backend::Postgres(one), Backend::Postgres(other)) => one.is_same(other).await,
            _ => Ok(false),
        }
    }

    /// Begins to read the whole database as it is now.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn snapshot(&self) -> Result<Snapshot> {
        Session::snapshot(self).await.map(Snapshot)
    }

    /// Begins to fill the database. Others should not write to it meanwhile.
    ///
    /// # Errors
    /// If the database fails, or another process writes to it.
    pub async fn load(&self) -> Result<Load> {
        let mut session = Session::change(self, &Table::ALL).await?;
        run_in!(&mut session, transfer::count_later())?;
        Ok(Load(Snapshot(session)))
    }
}
