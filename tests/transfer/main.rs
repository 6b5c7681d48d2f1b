//! `agora copy`, `agora backup` and `agora restore`: the real binary, between real databases.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../end_to_end/api.rs"]
mod api;
mod backup;
mod copy;
mod images;
mod large;
mod place;
#[path = "../support/postgres.rs"]
mod private_postgres;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../end_to_end/process.rs"]
mod process;
mod restore;
#[path = "../end_to_end/world.rs"]
mod world;

/// Homes have the embedded default; the tests name other databases themselves.
mod backend {
    pub(crate) fn database_url() -> Option<String> {
        None
    }
}
