//! Programs of others that know the interface from `docs/openapi.json` alone, against the real binary.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/backend.rs"]
mod backend;
#[path = "../support/client.rs"]
mod client;
mod fuzzing;
#[path = "../support/picture.rs"]
mod picture;
#[path = "../support/process.rs"]
mod process;
#[path = "../support/python.rs"]
mod python;
mod typescript;

use std::path::{Path, PathBuf};

/// A path of the repository.
fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
