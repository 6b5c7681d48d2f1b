//! SQLite: threads that own their connections.
//!
//! A use case's database work runs as one job on one thread, so that nothing is awaited while a transaction is open and
//! a cancelled request leaves none behind. Readers work side by side; one writer commits what has queued up as one
//! group, each job in a savepoint of its own, so that many writers share one flush to disk.

mod connect;
mod database;
mod dialect;
pub(crate) mod hot;
mod jobs;
mod locks;
mod migrate;
mod post_in;
#[path = "../queries/mod.rs"]
pub(crate) mod queries;
mod readers;
mod session;
mod text_in;
mod threads;
mod work;

pub(crate) use self::connect::{applied, open_to_inspect};
pub(crate) use self::database::Sqlite;
pub(crate) use self::dialect::{
    Conn, RunQueryDsl, complete, has_migrations, lock_admins, lock_counters, lock_counters_of, lock_post, lock_product,
    lock_user,
};
pub(crate) use self::post_in::post_in;
pub(crate) use self::session::Session;
pub(crate) use self::text_in::may_have_text;
