//! Programs that know the interface from `docs/openapi.json` alone, against the real binary.

mod browser;
mod fuzzing;
mod python;
mod typescript;

use std::path::{Path, PathBuf};

/// A path of the repository.
fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
