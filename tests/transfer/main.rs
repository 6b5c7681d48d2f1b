//! `agora copy`, `agora backup`, `agora restore`, `agora demo seed` and `agora products import`: the real binary, between
//! real databases.

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

/// An S3 server beside the embedded default; the tests name databases and stores themselves.
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

        /// The variables that lead the binary to it.
        pub(crate) fn variables(&self) -> Vec<(String, String)> {
            self.s3.variables()
        }

        /// Where stored images are files.
        pub(crate) fn images(&self, data_dir: &Path) -> PathBuf {
            data_dir.join("media")
        }
    }
}
