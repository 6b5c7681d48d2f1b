//! The handlers, each beside the types of its requests. They use every layer below them.
//!
//! The method and the path of a handler stand in [`routes`](crate::routes). `#[utoipa::path]` asks for both as well, and is
//! given `get` and an empty path, whatever the endpoint is.

pub(crate) mod accounts;
pub(crate) mod audit_log;
pub(crate) mod backups;
pub(crate) mod blocks;
pub(crate) mod bookmarks;
pub(crate) mod comments;
pub(crate) mod configuration;
pub(crate) mod docs;
pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod follows;
pub(crate) mod health;
pub(crate) mod hiding;
pub(crate) mod mail;
pub(crate) mod media;
pub(crate) mod notifications;
pub(crate) mod outbox;
pub(crate) mod overview;
pub(crate) mod pages;
pub(crate) mod people;
pub(crate) mod posts;
pub(crate) mod products;
pub(crate) mod reports;
pub(crate) mod search;
pub(crate) mod sessions;
pub(crate) mod static_files;
pub(crate) mod threads;
pub(crate) mod users;
