//! The rules of Agora: entities, value types, use cases, and the ports the use cases need.
//!
//! The crate is pure. It does no HTTP, SQL, file access or JSON, reads no clock and draws no randomness: all of that
//! comes in through traits ("ports") that other crates implement and unit tests mock (feature `mocks`).
//!
//! # Map
//!
//! | module | what it covers |
//! |---|---|
//! | [`accounts`] | registration, login and sessions, roles, profiles |
//! | [`posts`] | posts, who may view and edit them, likes |
//! | [`comments`] | comments on posts |
//! | [`bookmarks`] | posts that users save, visible to nobody else |
//! | [`follows`] | who follows whom, and who may see it |
//! | [`blocks`] | blocks and mutes between users |
//! | [`reports`] | what users report to the administrators |
//! | [`export`] | the export of everything that is stored of an account, for its user |
//! | [`audit`] | the entries of the audit log that administrative acts leave |
//! | [`audit_log`] | reading the audit log |
//! | [`backups`] | backups that administrators download |
//! | [`overview`] | counts of everything there is, for administrators |
//! | [`notices`] | which notification a change causes, and for whom |
//! | [`notifications`] | the notifications of users, and their settings for them |
//! | [`events`] | live updates for connected clients |
//! | [`people`] | what users see of each other, and how they find each other |
//! | [`products`] | the product catalog |
//! | [`idempotency`] | requests that take effect once, however often they are sent |
//! | [`limits`] | rate limits by address and by account: requests, logins, registrations, wrong passwords |
//! | [`mail`] | mail to users: forgotten passwords, and addresses that are verified |
//! | [`deletion`] | the deletion of an account: invisible at once, erased in the background |
//! | [`replica`] | reading lists from a replica in which users see their own writes |
//! | [`health`] | health checks of the dependencies of the service |
//! | [`entities`] | mentions, hashtags and URLs in a text |
//! | [`texts`] | texts whose entities are not extracted yet |
//! | [`search`] | the words of texts and queries, and searching |
//! | [`media`] | images: stored before the row that refers to them, deleted once no row does |
//!
//! A feature with use cases has `ports` (what an adapter must do), `service` (the use cases) and, if it has entities or rules of
//! its own, `model`. A module without use cases is one file. In comments, (`contract`: NAME) stands for the section NAME of
//! `docs/api.md`, which clients rely on. `entities` looks users up through the port of [`accounts`]. All of them use [`error`],
//! [`page`], [`clock`], [`id`], [`relation`], [`text`] and [`version`].
//!
//! # Invariants
//!
//! - A value of a domain type is valid: input from outside becomes one only through `parse`, which holds the rule
//!   and its message; `restore` is for adapters that read back what was stored.
//! - A use case takes parsed values and, as [`FieldErrors`], the violations of inputs that failed to parse, so that every
//!   invalid field is reported at once. [`error::FieldName`] identifies an input; adapters decide how it is spelled.
//! - A use case that needs a role takes [`accounts::Member`] or [`accounts::Admin`], which can only be obtained from a
//!   caller with that role.
//! - One method of a repository is one atomic state change. A rule that depends on the stored state is a pure function
//!   here (such as [`posts::Post::apply`]) that the adapter calls inside its transaction.
//! - A lookup returns `None` for what does not exist; a change fails with [`Error::NotFound`].

#![forbid(unsafe_code)]

pub mod accounts;
pub mod audit;
pub mod audit_log;
pub mod backups;
pub mod blocks;
pub mod bookmarks;
pub mod clock;
pub mod comments;
pub mod deletion;
pub mod entities;
pub mod error;
pub mod events;
pub mod export;
#[cfg(test)]
mod fixtures;
pub mod follows;
pub mod health;
pub mod id;
pub mod idempotency;
pub mod limits;
pub mod mail;
pub mod media;
pub mod notices;
pub mod notifications;
pub mod overview;
pub mod page;
pub mod people;
pub mod posts;
pub mod products;
pub mod relation;
pub mod replica;
pub mod reports;
pub mod search;
mod string_enum;
pub mod text;
pub mod texts;
pub mod version;

pub use error::{Error, FieldErrors, Result};
