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
mod database;
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
mod task;
mod transfer;
mod values;
mod version;

pub use calls::{CallMeter, CallOutcome, QueryInstrumentation};
pub use check::damage;
pub use database::{Database, check_url};
pub use error::OpenError;
pub use figures::{Figures, Lane, WriteGroups};
pub use lock::TaskLock;
pub use options::Options;
pub use probe::{Probe, ServerProbe, probe};
pub use task::Task;
pub use transfer::{Load, Position, Rows, Snapshot, Table};
pub use version::{Migrated, Migrations, schema_version};

/// Runs a query function on a lane: `call!(self, read posts::find(id, viewer))`. PostgreSQL may run it again.
macro_rules! call {
    ($database:expr, $lane:ident $module:ident::$query:ident($($arg:expr),*)) => {{
        let call = $database.calls.begin(concat!(stringify!($module), ".", stringify!($query)));
        call.end(match &$database.backend {
            crate::database::Backend::Sqlite(database) => {
                let work = move |conn: &mut crate::sqlite::Conn| {
                    crate::sqlite::complete(crate::sqlite::queries::$module::$query(conn, $($arg),*))
                };
                database.$lane(work).await
            }
            crate::database::Backend::Postgres(database) => {
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
            crate::database::Backend::Sqlite(database) => {
                let work = move |conn: &mut crate::sqlite::Conn| {
                    crate::sqlite::complete(crate::sqlite::hot::$module::$query(conn, $($arg),*))
                };
                database.$kind(work).await
            }
            crate::database::Backend::Postgres(database) => {
                let statement = crate::postgres::hot::$module::$query(database, $($arg),*);
                statement.await.map_err(agora_domain::Error::from)
            }
        })
    }};
}

pub(crate) use {call, hot, list, read, write};
