//! The end-to-end tests that are not about the embedded database, unchanged on PostgreSQL.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../end_to_end/administrators.rs"]
mod administrators;
#[path = "../end_to_end/api.rs"]
mod api;
#[path = "../end_to_end/connection.rs"]
mod connection;
#[path = "../end_to_end/crash.rs"]
mod crash;
#[path = "../end_to_end/life.rs"]
mod life;
#[path = "../end_to_end/parallel.rs"]
mod parallel;
#[path = "../support/postgres.rs"]
mod private_postgres;
#[allow(dead_code, reason = "some of it serves the tests of the embedded database alone")]
#[path = "../end_to_end/process.rs"]
mod process;
#[path = "../end_to_end/secrecy.rs"]
mod secrecy;
#[path = "../end_to_end/shutdown.rs"]
mod shutdown;
#[path = "../end_to_end/tour.rs"]
mod tour;
#[path = "../end_to_end/world.rs"]
mod world;

/// On a fresh database of a private PostgreSQL server.
mod backend {
    pub(crate) fn database_url() -> Option<String> {
        Some(crate::private_postgres::fresh_database())
    }
}
