//! `agora copy`, `agora backup`, `agora restore`, `agora demo seed` and `agora products import` of the real binary, with real
//! databases.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod backup;
mod catalog;
#[path = "../support/client.rs"]
mod client;
mod copy;
mod demo;
mod drill;
mod hostile;
mod images;
mod large;
#[path = "../support/picture.rs"]
mod picture;
mod place;
#[path = "../support/port.rs"]
mod port;
#[path = "../support/postgres.rs"]
mod private_postgres;
#[path = "../support/s3.rs"]
mod private_s3;
#[path = "../support/process.rs"]
mod process;
mod restore;
#[path = "../support/world.rs"]
mod world;

/// The default backend, with an S3 server in addition; the tests choose databases and stores themselves.
mod backend {
    use std::path::{Path, PathBuf};

    use crate::private_s3::S3Server;

    pub(crate) struct Backend {
        pub(crate) s3: S3Server,
    }

    impl Backend {
        pub(crate) fn new() -> Self {
            Self { s3: S3Server::start() }
        }

        /// Returns the environment variables for the binary.
        pub(crate) fn variables(&self) -> Vec<(String, String)> {
            self.s3.variables()
        }

        /// Returns the directory in which images are files.
        pub(crate) fn images(&self, data_dir: &Path) -> PathBuf {
            data_dir.join("media")
        }
    }
}
