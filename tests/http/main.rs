//! Tests of the HTTP interface over real connections: each test has its own server, on its own database file.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod accounts;
mod attachments;
mod authorization;
mod backups;
mod blocks;
mod bookmarks;
mod browsers;
mod caching;
#[path = "../support/client.rs"]
mod client;
mod clock;
mod comments;
mod configuration;
#[path = "../support/contract.rs"]
mod contract;
mod deletion;
mod docs;
mod errors;
mod events;
mod export;
mod follows;
mod health;
mod hiding;
mod idempotency;
mod images;
mod limits;
mod lists;
mod mail;
mod notifications;
mod overview;
mod pages;
mod paging;
mod people;
mod posts;
mod privacy;
#[path = "../support/postgres.rs"]
mod private_postgres;
mod products;
#[path = "../support/python.rs"]
mod python;
mod reports;
mod search;
mod sessions;
#[path = "../support/smtp.rs"]
mod smtp;
#[path = "../support/sse.rs"]
mod sse;
mod support;
mod tags;
mod threads;
mod users;
