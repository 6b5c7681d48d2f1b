//! The database adapter: the domain's repositories over SQL.
//!
//! Each query is written once, as a function in `queries/`, against the names `Conn` and `RunQueryDsl`. The module of a
//! database (`sqlite/`, `postgres/`) says what these mean there and mounts `queries/` below itself, so that one text is
//! compiled for each database. The ports (`accounts.rs`, `posts.rs`, ...) turn domain values into rows' values and back,
//! and dispatch.

#![forbid(unsafe_code)]
#![allow(clippy::duplicate_mod, reason = "the queries are compiled once for each database")]

mod accounts;
mod apart;
mod attachments;
mod audit;
mod backend;
mod batches;
mod blocks;
mod bookmarks;
mod calls;
mod catalog;
mod check;
mod codes;
mod comments;
mod counted;
mod database;
mod deletion;
mod error;
mod event_rows;
mod event_window;
mod events;
mod exports;
mod expression;
mod feeds;
mod figures;
mod follows;
mod health;
mod idempotency;
mod images;
mod lock;
mod mail;
mod mutex;
mod notices;
mod notifications;
mod options;
mod overview;
mod parts;
mod people;
mod postgres;
mod posts;
mod prepared;
mod probe;
mod product_rows;
mod products;
#[cfg(test)]
mod query_count_tests;
mod random;
mod replica;
mod reports;
mod rows;
mod schema;
mod search;
mod search_index;
mod search_limit;
#[cfg(test)]
mod search_tests;
mod sessions;
mod sql_types;
mod sqlite;
mod tables;
mod texts;
mod transfer;
mod turn;
mod values;
mod version;

pub use calls::{CallMeter, CallOutcome, QueryInstrumentation};
pub use check::damage;
pub use database::{Database, check_replica_url, check_url};
pub use error::OpenError;
pub use figures::{Figures, Lane, WriteGroups};
pub use lock::Lock;
pub use options::{Flavor, Options};
pub use postgres::url_of_each_server;
pub use probe::{Probe, ServerProbe, probe, probe_replica};
pub use replica::Replica;
pub use sqlite::files;
pub use transfer::{Load, Position, Rows, Snapshot, Table};
pub use turn::Turn;
pub use version::{Backlog, Migrated, Migrations, schema_version};

/// Runs a query function on a lane of a backend: `run!(&self.backend, read posts::find(id, viewer))`. PostgreSQL may run it
/// again.
///
/// With `then` and a function of what it gives, SQLite does that once it is stored, before anybody is told so. With `at` and an
/// identifier, what writes that row of PostgreSQL takes turns: many may want to at once. SQLite has one connection that writes.
macro_rules! run {
    ($backend:expr, $lane:ident $module:ident::$query:ident($($arg:expr),*) $(, then $after:expr)? $(, at $row:expr)?) => {
        match $backend {
            crate::backend::Backend::Sqlite(database) => {
                let work = move |conn: &mut diesel::SqliteConnection| {
                    crate::sqlite::complete(crate::sqlite::queries::$module::$query(conn, $($arg),*))
                };
                $crate::on_sqlite!(database, $lane, work $(, $after)?)
            }
            crate::backend::Backend::Postgres(database) => {
                database
                    $(.at_row($row))?
                    .$lane(move |conn| {
                        Box::pin(crate::postgres::queries::$module::$query(conn, $(Clone::clone(&$arg)),*))
                    })
                    .await
            }
        }
    };
}

macro_rules! on_sqlite {
    // No connection is ever lost.
    ($database:expr, write_again, $work:expr) => {
        $database.write($work).await
    };
    ($database:expr, $lane:ident, $work:expr) => {
        $database.$lane($work).await
    };
    ($database:expr, $lane:ident, $work:expr, $after:expr) => {
        $database.write_then($work, $after).await
    };
}

/// Does what `run!` does on the backend of a database, and has the call counted and timed.
///
/// | lane | what goes there |
/// |---|---|
/// | `read` | what reads little |
/// | `list` | what reads a part of a list |
/// | `search` | what reads more the more there is to choose from, or for each entry: few at a time |
/// | `search_catalog` | the same of the catalog, which has a share of these |
/// | `statement` | what writes with one statement on PostgreSQL |
/// | `write` | what writes, as one transaction |
/// | `write_again` | what writes what is the same when it is written twice |
macro_rules! call {
    ($database:expr, $lane:ident $module:ident::$query:ident $($rest:tt)*) => {{
        let call = $database.calls.begin(concat!(stringify!($module), ".", stringify!($query)));
        call.end($crate::run!(&$database.backend, $lane $module::$query $($rest)*))
    }};
}

/// Reads a part of a list that [`Parts`](parts::Parts) puts together. The first reads no more than any page does; the further
/// ones take longer the more there is to pass over.
macro_rules! part {
    ($database:expr, $parts:expr, $module:ident::$query:ident $args:tt) => {
        if $parts.is_first() {
            $crate::call!($database, list $module::$query $args)
        } else {
            $crate::call!($database, search $module::$query $args)
        }
    };
}

/// Does what `call!` does with a write that may be part of an attempt: what it did is then stored in its transaction.
/// `once!(self, attempt, write follows::toggle(follow), did follows => Outcome::FollowToggled(follows))`.
macro_rules! once {
    (
        $database:expr, $attempt:expr,
        $lane:ident $module:ident::$query:ident($($arg:expr),*), did $given:ident => $outcome:expr $(, then $after:expr)?
        $(, at $row:expr)?
    ) => {
        match $attempt {
            None => $crate::call!($database, $lane $module::$query($($arg),*) $(, then $after)? $(, at $row)?),
            Some(attempt) => {
                let call = $database.calls.begin(concat!(stringify!($module), ".", stringify!($query)));
                let attempt = crate::sql_types::DbId(attempt.uuid());
                call.end(match &$database.backend {
                    crate::backend::Backend::Sqlite(database) => {
                        let work = move |conn: &mut diesel::SqliteConnection| {
                            crate::sqlite::complete(async {
                                let $given = crate::sqlite::queries::$module::$query(conn, $($arg),*).await?;
                                crate::sqlite::queries::idempotency::complete(conn, attempt, $outcome).await?;
                                Ok($given)
                            })
                        };
                        $crate::on_sqlite!(database, write, work $(, $after)?)
                    }
                    crate::backend::Backend::Postgres(database) => {
                        database
                            $(.at_row($row))?
                            .write_once(attempt, move |conn| {
                                let mut same = *conn;
                                let write = crate::postgres::queries::$module::$query(conn, $(Clone::clone(&$arg)),*);
                                Box::pin(async move {
                                    let $given = write.await?;
                                    crate::postgres::queries::idempotency::complete(&mut same, attempt, $outcome).await?;
                                    Ok($given)
                                })
                            })
                            .await
                    }
                })
            }
        }
    };
}

pub(crate) use {call, on_sqlite, once, part, run};
