//! The end-to-end tests on PostgreSQL and S3, and outages of S3.
//!
//! Four modules are left out: `../end_to_end/embedded.rs` tests the files of the embedded default, and `../end_to_end/metrics.rs`
//! its metrics (here, `lanes.rs` tests them). `hashes.rs` and `interrupts.rs` would do the same as there.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

/// The value of `AGORA_DATABASE_FLAVOR`, and the parameters of the URL.
const FLAVOR: &str = "postgresql";
const URL_PARAMETERS: &str = "";

include!("suite.rs");
