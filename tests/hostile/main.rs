//! Clients that mean harm, or do it: the service goes on.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod answers;
#[allow(dead_code, reason = "some of it serves other tests")]
#[path = "../support/api.rs"]
mod api;
#[allow(dead_code, reason = "some of it serves other tests")]
#[path = "../support/backend.rs"]
mod backend;
mod crowds;
mod framing;
mod heads;
mod mixed;
mod passwords;
mod pipelined;
#[allow(dead_code, reason = "some of it serves other tests")]
#[path = "../support/process.rs"]
mod process;
mod raw;
mod slow;
mod stalled;
mod targets;
mod uploads;
