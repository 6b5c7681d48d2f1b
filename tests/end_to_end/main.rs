//! The real binary, on a fresh directory, over HTTP.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod access_log;
mod administrators;
#[path = "../support/backend.rs"]
mod backend;
mod catalog;
#[path = "../support/client.rs"]
mod client;
mod configuration;
mod connection;
mod crash;
mod crash_changes;
mod doctor;
mod embedded;
mod first_start;
mod hashes;
mod interrupts;
mod life;
mod manual;
mod media;
mod metrics;
mod migrations;
mod operator;
mod parallel;
#[path = "../support/picture.rs"]
mod picture;
#[path = "../support/process.rs"]
mod process;
mod retries;
mod rotation;
mod secrecy;
mod shutdown;
mod times;
mod tour;
#[path = "../support/world.rs"]
mod world;
