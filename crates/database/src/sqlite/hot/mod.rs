//! What takes one statement on PostgreSQL, where functions of the same names are in `postgres::hot`.

pub(crate) mod comments;
mod feeds;
pub(crate) mod follows;
pub(crate) mod health;
pub(crate) mod posts;
pub(crate) mod sessions;

use super::{Conn, RunQueryDsl, queries};

#[cfg(test)]
mod tests;
