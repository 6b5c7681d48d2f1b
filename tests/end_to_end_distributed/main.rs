//! The end-to-end tests on PostgreSQL and S3, in the mode for distributed databases.
//!
//! PostgreSQL stands in for such a database. Transactions are serializable, so that conflicting ones are refused. Sequential scans
//! are disabled: PostgreSQL would scan the small tables of the tests, which counts as a read of all rows, and all writers would
//! conflict.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

/// The value of `AGORA_DATABASE_FLAVOR`, and the parameters of the URL.
const FLAVOR: &str = "distributed";
const URL_PARAMETERS: &str = "?options=-c%20default_transaction_isolation%3Dserializable%20-c%20enable_seqscan%3Doff";

include!("../end_to_end_scaled/suite.rs");
