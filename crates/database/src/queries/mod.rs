//! The queries, each written once and compiled for every database that mounts this folder.
//!
//! A query function takes a connection and values of rows. It neither begins nor ends a transaction; its caller does.
//! The few steps that differ between databases are functions of the same names in each database's own folder, re-exported below.

pub(crate) use super::comments::list_comments;
pub(crate) use super::dialect::{
    Conn, RunQueryDsl, built, count_all, count_later, database_bytes, has_migrations, id_in, is_packed, lock_admins,
    lock_all_counters, lock_comment, lock_comments, lock_counters, lock_counters_of, lock_oldest_unpacked, lock_post,
    lock_product, lock_report, lock_user, lock_whole_user, number_in, post_in, try_lock_buckets, word_in,
};
pub(crate) use super::events::record;
pub(crate) use super::feeds::{feed_positions, in_timeline, list_all, list_by_author, load_feed, read_with_changes};
pub(crate) use super::gathered::{gather, withdraw};
pub(crate) use super::likers::{likers, with_likers};
pub(crate) use super::postings::postings_between;
pub(crate) use super::statements::{insert_comment, insert_post, toggle_like};
pub(crate) use super::text_in::may_have_text;

pub(crate) mod accounts;
pub(crate) mod audit;
pub(crate) mod blocks;
pub(crate) mod bookmarks;
pub(crate) mod comments;
pub(crate) mod deletion;
pub(crate) mod events;
pub(crate) mod exports;
pub(crate) mod feeds;
pub(crate) mod follows;
pub(crate) mod hidden;
pub(crate) mod idempotency;
pub(crate) mod images;
pub(crate) mod indexing;
pub(crate) mod kept_names;
pub(crate) mod likes;
pub(crate) mod mail;
pub(crate) mod mail_tokens;
pub(crate) mod notices;
pub(crate) mod notifications;
pub(crate) mod overview;
pub(crate) mod packing;
pub(crate) mod people;
pub(crate) mod posts;
pub(crate) mod products;
pub(crate) mod reports;
pub(crate) mod search;
pub(crate) mod sessions;
pub(crate) mod texts;
pub(crate) mod timelines;
pub(crate) mod transfer;
pub(crate) mod views;

/// Loads the rows of a slice of what a query selects, in the order of their creation.
macro_rules! load {
    ($query:expr, $table:ident, $slice:expr, $conn:expr) => {
        $crate::rows::load_by!($query, $table::created_at, $table::id, $slice, $conn)
    };
}

pub(crate) use load;
