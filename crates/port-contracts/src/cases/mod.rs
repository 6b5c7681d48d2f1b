//! The cases, by port. A case that is missing from the list in `lib.rs` is dead code, which does not compile.
#![allow(missing_docs, reason = "the name of a case states the behaviour")]

pub(crate) mod accounts;
pub(crate) mod attachments;
pub(crate) mod audit_log;
pub(crate) mod blocks;
pub(crate) mod bookmarks;
pub(crate) mod catalog;
pub(crate) mod comments;
pub(crate) mod deletion;
pub(crate) mod events;
pub(crate) mod exports;
pub(crate) mod follows;
pub(crate) mod hiding;
pub(crate) mod idempotency;
pub(crate) mod images;
pub(crate) mod likes;
pub(crate) mod mail;
pub(crate) mod notifications;
pub(crate) mod overview;
pub(crate) mod paging;
pub(crate) mod people;
pub(crate) mod posts;
pub(crate) mod products;
pub(crate) mod reports;
pub(crate) mod search;
pub(crate) mod sessions;
pub(crate) mod texts;
pub(crate) mod threads;
pub(crate) mod writers;
