//! SQLite: threads that own their connections.
//!
//! A use case's database work runs as one job on one thread, so that nothing is awaited while a transaction is open and
//! a cancelled request leaves none behind. Readers run in parallel; one writer commits the jobs that have queued up as one
//! group, each in a savepoint of its own, so that many writes share one flush to disk.

mod comments;
mod connect;
mod database;
mod dialect;
mod events;
mod feeds;
mod gathered;
mod is_in;
mod jobs;
mod likers;
mod locks;
mod log;
mod migrate;
#[cfg(test)]
mod plan_tests;
mod postings;
#[path = "../queries/mod.rs"]
pub(crate) mod queries;
mod queue;
mod session;
mod statements;
mod text_in;
mod workers;

pub(crate) use self::connect::{applied, open_to_inspect};
pub(crate) use self::database::Sqlite;
pub(crate) use self::dialect::complete;
pub use self::locks::files;
pub(crate) use self::session::Session;
