//! The end-to-end tests of PostgreSQL and S3 once more, in the mode for engines over many machines. PostgreSQL stands in for one:
//! serializable, so that it refuses what conflicts, as they do; and reading by indexes, since it counts as read what it looks at: of the small
//! tables of a test it would look at all rows, and every two writers would conflict.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

/// What the service is told of the database, and what its URL says besides.
const FLAVOR: &str = "distributed";
const URL_PARAMETERS: &str = "?options=-c%20default_transaction_isolation%3Dserializable%20-c%20enable_seqscan%3Doff";

include!("../end_to_end_scaled/suite.rs");
