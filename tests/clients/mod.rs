//! Clients that are generated from `docs/openapi.json`, with the real binary.

mod browser;
mod fuzzing;
mod python;
mod typescript;

use std::path::{Path, PathBuf};

/// A path of the repository.
fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
