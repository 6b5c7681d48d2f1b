//! The database adapter: the domain's repositories over SQL.
//!
//! Each query is written once, as a function in `queries/`, against the names `Conn` and `RunQueryDsl`. The module of each
//! database (`sqlite/`, `postgres/`) defines these names and mounts `queries/` as a submodule, so that the same source is
//! compiled once per database. The port implementations (`accounts.rs`, `posts.rs`, ...) convert between domain values and
//! rows, and dispatch to the open database.

#![forbid(unsafe_code)]
#![allow(clippy::duplicate_mod, reason = "the queries are compiled once for each database")]

mod account_filters;
mod accounts;
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
mod exclusive_job;
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
mod values;
mod version;

pub use calls::{CallMeter, CallOutcome, QueryInstrumentation};
pub use check::damage;
pub use database::{Database, check_replica_url, check_url};
pub use error::OpenError;
pub use exclusive_job::ExclusiveJob;
pub use figures::{Figures, Lane, WriteGroups};
pub use lock::Lock;
pub use options::{Flavor, Options};
pub use postgres::url_of_each_server;
pub use probe::{Probe, ServerProbe, probe, probe_replica};
pub use replica::Replica;
pub use sqlite::files;
pub use transfer::{Load, Position, Rows, Snapshot, Table};
pub use version::{Backlog, Migrated, Migrations, schema_version};

/// Runs a query function on a lane of a backend: `run!(&self.backend, read posts::find(id, viewer))`. PostgreSQL may run the
/// function more than once.
///
/// `then` takes a function of the result, which SQLite calls after the commit and before the caller gets the result. `at` takes
/// the identifier of a row that many requests may write at the same time: on PostgreSQL it limits how many connections write that
/// row or wait for its lock. SQLite has a single writing connection.
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
    // SQLite never loses a connection, so there is nothing to repeat.
    ($database:expr, write_idempotent, $work:expr) => {
        $database.write($work).await
    };
    ($database:expr, $lane:ident, $work:expr) => {
        $database.$lane($work).await
    };
    ($database:expr, $lane:ident, $work:expr, $after:expr) => {
        $database.write_then($work, $after).await
    };
}

/// Runs a query function on a lane of a database, as `run!` does, and counts and times the call.
///
/// | lane | queries |
/// |---|---|
/// | `read` | reads of a few rows |
/// | `list` | reads of a part of a list |
/// | `search` | reads whose cost grows with the table or with each entry; few run at the same time |
/// | `search_catalog` | searches of the catalog, which have a share of the `search` lane |
/// | `statement` | writes that are a single statement on PostgreSQL |
/// | `write` | writes, as one transaction |
/// | `write_idempotent` | writes whose repetition changes nothing, such as `set_like`: repeated if the connection was lost. For an `Idempotency-Key` see `once!` |
macro_rules! call {
    ($database:expr, $lane:ident $module:ident::$query:ident $($rest:tt)*) => {{
        let call = $database.calls.begin(concat!(stringify!($module), ".", stringify!($query)));
        call.end($crate::run!(&$database.backend, $lane $module::$query $($rest)*))
    }};
}

/// Reads one part of a list for [`Parts`](parts::Parts). The first part costs no more than any page and runs on the `list` lane;
/// the cost of further ones grows with the number of entries to skip, so they run on the `search` lane.
macro_rules! part {
    ($database:expr, $parts:expr, $module:ident::$query:ident $args:tt) => {
        if $parts.is_first() {
            $crate::call!($database, list $module::$query $args)
        } else {
            $crate::call!($database, search $module::$query $args)
        }
    };
}

/// Calls a write as `call!` does. If it belongs to an idempotency attempt, its outcome is stored in the same transaction.
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
