//! The embedded default: a database and images as files in the data directory.

use std::path::{Path, PathBuf};

/// Nothing besides the data directory.
pub(crate) struct Backend;

impl Backend {
    pub(crate) fn new() -> Self {
        Self
    }

    /// The variables that lead the binary to it.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Where stored images are files.
    pub(crate) fn images(&self, data_dir: &Path) -> PathBuf {
        data_dir.join("media")
    }

    /// What no log may show.
    pub(crate) fn secrets(&self) -> Vec<&'static str> {
        Vec::new()
    }
}
