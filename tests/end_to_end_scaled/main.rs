//! The end-to-end tests unchanged on PostgreSQL and S3, and what happens when S3 is away.
//!
//! Four are left out: `../end_to_end/embedded.rs` is about the files of the embedded default, `../end_to_end/metrics.rs` about
//! all that it shows (here, `lanes.rs`), and `hashes.rs` and `interrupts.rs` would be the same here.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

/// What the service is told of the database, and what its URL says besides.
const FLAVOR: &str = "postgresql";
const URL_PARAMETERS: &str = "";

include!("suite.rs");
