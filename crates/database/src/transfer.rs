//! Everything that a database holds, read and written in bulk: for copies, backups and restores.
//!
//! A [`Snapshot`] reads all of it as of one moment while the service goes on. A [`Load`] fills a database in one
//! transaction, so that it is there whole or not at all. Both work on a connection of their own, without the time
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

/// How many rows are handled at once: some megabytes of the longest posts.
const BATCH: i64 = 500;

/// What names an image.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Naming {
    /// A post, its first image.
    Post,
    /// A post, another one.
    FurtherOfPost,
    /// A user.
    User,
}

impl Naming {
    /// Returns what comes after it.
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
    /// Begins to read everything, as it is now.
    pub(crate) async fn snapshot(database: &Database) -> Result<Self> {
        Ok(match &database.backend {
            Backend::Sqlite(database) => Self::Sqlite(sqlite::Session::snapshot(&database.file).await?),
            Backend::Postgres(database) => {
                Self::Postgres(Box::new(postgres::Session::snapshot(&database.connector, database.flavor).await?))
            }
        })
    }

    /// Begins to change these tables, with everybody else kept from changing them.
    pub(crate) async fn change(database: &Database, tables: &'static [Table]) -> Result<Self> {
        Ok(match &database.backend {
            Backend::Sqlite(database) => Self::Sqlite(sqlite::Session::load(&database.file).await?),
            Backend::Postgres(database) => {
                Self::Postgres(Box::new(postgres::Session::change(&database.connector, tables).await?))
            }
        })
    }

    /// Commits. Nothing can be done after it.
    pub(crate) async fn commit(self) -> Result<()> {
        match self {
            Self::Sqlite(mut session) => session.commit().await,
            Self::Postgres(mut session) => session.commit().await,
        }
    }
}

/// What a database holds, as of one moment.
pub struct Snapshot(Session);

impl Snapshot {
    /// Returns how many rows the table has.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn count(&mut self, table: Table) -> Result<u64> {
        run_in!(&mut self.0, transfer::count(table)).map(count)
    }

    /// Returns whether no table has a row.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn is_empty(&mut self) -> Result<bool> {
        for table in Table::ALL {
            if !run_in!(&mut self.0, transfer::page(table, None, 1))?.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the next rows of a table, in the order of its primary key, from its beginning or a position on. None are
    /// left when the page is empty.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn page(&mut self, table: Table, from: Option<Position>) -> Result<Rows> {
        run_in!(&mut self.0, transfer::page(table, from, BATCH))
    }

    /// Returns the images that posts and profiles name, some at a time.
    pub fn images(&mut self) -> impl Stream<Item = Result<Vec<ImageKey>>> + Send + '_ {
        let begin = Some((Naming::Post, String::new()));
        stream::try_unfold((self, begin), async |(snapshot, from)| {
            let Some((by, after)) = from else { return Ok(None) };
            let names = run_in!(&mut snapshot.0, images::named_after(by, after, BATCH))?;
            let next = match names.last() {
                Some(last) if i64::try_from(names.len()) == Ok(BATCH) => Some((by, last.clone())),
                _ => by.next().map(|next| (next, String::new())),
            };
            let keys = names.iter().filter_map(|name| ImageKey::parse(name)).collect();
            Ok(Some((keys, (snapshot, next))))
        })
    }
}

/// A database being filled. Nothing of it is there before [`Load::commit`]; dropping it undoes everything.
pub struct Load(Snapshot);

impl Load {
    /// Returns the database as it is in the course of being filled.
    pub fn contents(&mut self) -> &mut Snapshot {
        &mut self.0
    }

    /// Deletes what the database held before.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn clear(&mut self) -> Result<()> {
        run_in!(&mut self.0.0, transfer::clear())
    }

    /// Adds rows. Tables are filled in the order of [`Table::ALL`].
    ///
    /// # Errors
    /// [`agora_domain::Error::Conflict`] when such a row is there already, and when the database fails.
    pub async fn insert(&mut self, rows: Rows) -> Result<()> {
        run_in!(&mut self.0.0, transfer::insert(rows)).map(|_| ())
    }

    /// Makes everything last.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn commit(mut self) -> Result<()> {
        run_in!(&mut self.0.0, transfer::count_all())?;
        self.0.0.commit().await
    }
}

impl Database {
    /// Returns whether another is the same one, whatever the URLs call it. Of distributed databases that is not known.
    ///
    /// # Errors
    /// When one of them fails.
    pub async fn is_same(&self, other: &Self) -> Result<bool> {
        match (&self.backend, &other.backend) {
            (Backend::Sqlite(one), Backend::Sqlite(other)) => Ok(one.opened == other.opened),
            (Backend::Postgres(one), Backend::Postgres(other)) => one.is_same(other).await,
            _ => Ok(false),
        }
    }

    /// Begins to read everything, as it is now.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn snapshot(&self) -> Result<Snapshot> {
        Session::snapshot(self).await.map(Snapshot)
    }

    /// Begins to fill the database. Others should not write to it meanwhile.
    ///
    /// # Errors
    /// When the database fails, or another process writes to it.
    pub async fn load(&self) -> Result<Load> {
        let mut session = Session::change(self, &Table::ALL).await?;
        run_in!(&mut session, transfer::count_later())?;
        Ok(Load(Snapshot(session)))
    }
}
