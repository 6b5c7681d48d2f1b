//! The real binary, on a fresh directory, over HTTP.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod administrators;
mod api;
mod configuration;
mod connection;
mod crash;
mod embedded;
mod first_start;
mod life;
mod parallel;
#[allow(dead_code, reason = "some of it serves the tests on PostgreSQL and S3 alone")]
mod process;
mod secrecy;
mod shutdown;
mod tour;

/// The embedded default: a database and images as files in the data directory.
mod backend {
    use std::path::{Path, PathBuf};

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
}
