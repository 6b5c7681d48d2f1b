//! The HTTP interface through the real router, over real HTTP: a server per test, on a database file of its own.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod accounts;
mod authorization;
mod caching;
mod comments;
#[path = "../support/contract.rs"]
mod contract;
mod docs;
mod errors;
mod follows;
mod idempotency;
mod images;
mod paging;
mod posts;
mod products;
mod support;
mod users;
