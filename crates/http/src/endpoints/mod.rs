//! The handlers, each next to the types of its requests. This layer uses all others.
//!
//! The method and the path of a handler are declared in [`routes`](crate::routes). `#[utoipa::path]` requires both as well; there
//! they are always `get` and an empty path, and have no effect.

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
