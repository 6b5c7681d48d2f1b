//! PostgreSQL: connections that reads share, and a pool for everything else.
//!
//! A write is one transaction at READ COMMITTED, which locks the rows that its decisions depend on before it reads them.
//! A transaction that PostgreSQL aborts to resolve a deadlock is retried.

mod built;
mod comments;
mod conflict;
mod connect;
mod database;
mod dialect;
mod event_reader;
mod events;
mod feeds;
mod gathered;
mod job_lease;
mod lease;
mod likers;
mod opening;
mod pipeline;
#[cfg(test)]
mod plan_tests;
mod pool;
pub(crate) mod positions;
mod postings;
#[path = "../queries/mod.rs"]
pub(crate) mod queries;
mod row_write_limit;
mod session;
mod statement;
mod statements;
mod text_in;
mod work;

pub(crate) use self::connect::check_url;
pub use self::connect::url_of_each_server;
pub(crate) use self::database::Postgres;
#[cfg(test)]
pub(crate) use self::database::private_postgres;
pub(crate) use self::job_lease::Lease;
pub(crate) use self::opening::{connect_to_probe, connect_to_replica};
pub(crate) use self::session::Session;
