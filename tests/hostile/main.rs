//! Clients that mean harm, or do it: the service goes on.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod answers;
#[path = "../support/backend.rs"]
mod backend;
#[path = "../support/client.rs"]
mod client;
mod crowds;
mod framing;
mod heads;
mod mixed;
mod passwords;
#[path = "../support/picture.rs"]
mod picture;
mod pipelined;
#[path = "../support/process.rs"]
mod process;
mod raw;
mod slow;
mod stalled;
mod targets;
mod uploads;
