//! The rules of Agora: entities, value types, use cases, and the ports the use cases need.
//!
//! The crate is pure. It knows no web, SQL, file or JSON, reads no clock and draws no randomness: all of that
//! comes in through traits ("ports") that other crates implement and unit tests mock (feature `mocks`).
//!
//! # Map
//!
//! | module | what it rules |
//! |---|---|
//! | [`accounts`] | registration, login and sessions, roles, profiles |
//! | [`posts`] | posts, who may view and edit them, likes |
//! | [`comments`] | comments on posts |
//! | [`bookmarks`] | posts that users keep for themselves |
//! | [`follows`] | who follows whom, and who may know |
//! | [`blocks`] | whom users keep apart from themselves, and whom they do not want to hear |
//! | [`reports`] | what users report to the administrators |
//! | [`export`] | everything that an account has stored, for its user to take along |
//! | [`audit`] | what administrative acts leave behind |
//! | [`audit_log`] | what administrators did |
//! | [`backups`] | backups that administrators download |
//! | [`overview`] | how much there is of everything |
//! | [`notices`] | what a change tells whom |
//! | [`notifications`] | what users were told, and what they want to be told |
//! | [`events`] | what happens, told to those who listen while they do |
//! | [`people`] | what users see of each other, and how they find each other |
//! | [`products`] | the product catalog |
//! | [`idempotency`] | requests that take effect once, however often they are sent |
//! | [`limits`] | how often an address or an account may call, log in, register and try passwords |
//! | [`mail`] | mail to users: forgotten passwords, and addresses that are verified |
//! | [`deletion`] | the end of an account: gone at once, and erased in the background |
//! | [`replica`] | reading lists from a replica, where users see what they wrote |
//! | [`health`] | whether what the service depends on answers |
//! | [`entities`] | what a text names: accounts, hashtags, addresses of the web |
//! | [`texts`] | texts whose entities are not extracted yet |
//! | [`search`] | the words of a text, what a query finds, and searching |
//! | [`media`] | images: stored before the row that names them, swept when no row does |
//!
//! Each feature has `model` (entities, values, pure rules), `ports` (what an adapter must do) and `service` (the
//! use cases); `entities` uses the accounts of another feature to look users up. [`error`], [`page`], [`clock`], [`id`], [`relation`], [`text`] and
//! [`version`] serve all of them.
//!
//! # Invariants
//!
//! - A value of a domain type is valid: what comes from outside becomes one only by its `parse`, which holds the rule
//!   and its message; `restore` is for adapters that read back what was stored.
//! - A use case takes parsed values, and beside them, as [`FieldErrors`], what could not be parsed: so everything invalid
//!   is reported at once. An input is named by [`error::FieldName`]; how it is spelled is a matter of adapters.
//! - A use case that needs a role takes [`accounts::Member`] or [`accounts::Admin`], which only a caller with that
//!   role can become.
//! - One method of a repository is one atomic state change. A rule that depends on the stored state is a pure function
//!   here (such as [`posts::Post::apply`]) that the adapter calls inside its transaction.
//! - What is missing is `None` to a lookup and [`Error::NotFound`] to a change.

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
mod named;
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
pub mod text;
pub mod texts;
pub mod version;

pub use error::{Error, FieldErrors, Result};
