//! PostgreSQL: connections for single statements, and a pool for work in several steps.
//!
//! A write is one transaction at READ COMMITTED; what it decides on it locks first. A transaction that PostgreSQL ends
//! to resolve a deadlock is run again.

mod connect;
mod database;
mod dialect;
pub(crate) mod hot;
pub(crate) mod pipeline;
mod pool;
#[path = "../queries/mod.rs"]
pub(crate) mod queries;
pub(crate) mod query_error;
mod records;
mod session;
mod text_in;

pub(crate) use self::database::{Postgres, check_url, connect_to_inspect};
pub(crate) use self::dialect::{
    Conn, RunQueryDsl, has_migrations, lock_admins, lock_counters, lock_counters_of, lock_post, lock_product,
    lock_user, post_in,
};
pub(crate) use self::session::Session;
pub(crate) use self::text_in::may_have_text;
