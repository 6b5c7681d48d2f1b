//! The queries, each written once and compiled for every database that mounts this folder.
//!
//! A function takes a connection and rows' values, and neither begins nor ends a transaction: whoever calls it has.
//! The few steps that differ (`lock_...`, `has_migrations`) are functions of the database's own file, side by side
//! with the others'.

pub(crate) use super::{
    Conn, RunQueryDsl, has_migrations, lock_admins, lock_counters, lock_counters_of, lock_post, lock_product,
    lock_user, post_in,
};

pub(crate) mod accounts;
pub(crate) mod comments;
pub(crate) mod follows;
pub(crate) mod idempotency;
pub(crate) mod images;
pub(crate) mod posts;
pub(crate) mod products;
pub(crate) mod sessions;
pub(crate) mod transfer;

/// What comes after a position in a list that runs from new to old. In this form both databases walk the index from
/// the position on.
macro_rules! older {
    ($table:ident, $after:expr) => {
        $table::created_at.le($after.0).and($table::created_at.lt($after.0).or($table::id.lt($after.1)))
    };
}

/// What comes after a position in a list that runs from old to new.
macro_rules! newer {
    ($table:ident, $after:expr) => {
        $table::created_at.ge($after.0).and($table::created_at.gt($after.0).or($table::id.gt($after.1)))
    };
}

pub(crate) use {newer, older};
