//! The real binary, on a fresh directory, over HTTP.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod administrators;
mod api;
mod configuration;
mod connection;
mod crash;
mod first_start;
mod life;
mod parallel;
#[allow(dead_code, reason = "other tests use the rest")]
mod process;
mod secrecy;
mod shutdown;
mod tour;
mod world;

/// On the embedded default.
mod backend {
    pub(crate) fn database_url() -> Option<String> {
        None
    }
}
