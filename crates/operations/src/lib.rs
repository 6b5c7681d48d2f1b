//! The commands of the operator and the background tasks of the service. Commands with many arguments declare them here.
//!
//! | module | what it does |
//! |---|---|
//! | `transfer` | `agora copy`, `agora backup`, `agora restore` |
//! | `admin` | `agora admin`: the administrators, and any account |
//! | `moderation`, `outbox` | `agora audit` and `agora reports`; `agora mail` |
//! | `products` | `agora products`: the catalog from files and into files |
//! | `media` | `agora media`: compares the stored images with those that rows reference |
//! | `migrate` | `agora migrate`: the schema of the database |
//! | `doctor` | `agora doctor`: whether the service can work here |
//! | `health` | `agora health`: whether a running service is ready |
//! | `sweep`, `indexer`, `mailer`, `eraser`, `live`, `minutely` | background tasks of the service |
//! | `restart` | restarts a background task that panics |
//! | `open`, `data_dir` | opens the database, the image store and the data directory that the configuration names |
//! | `host` | the addresses the service listens on, and its limit on open files |
//! | `progress`, `context`, `background` | for long-running commands: progress, error messages, blocking work on a thread |
//! | `atomic_file`, `system` | files that appear only once complete; the system's clock and identifiers |

#![forbid(unsafe_code)]

pub mod admin;
mod atomic_file;
pub mod background;
pub mod context;
pub mod data_dir;
pub mod doctor;
pub mod eraser;
pub mod health;
pub mod host;
pub mod indexer;
pub mod live;
pub mod mailer;
pub mod media;
pub mod migrate;
pub mod minutely;
pub mod moderation;
pub mod open;
pub mod outbox;
pub mod products;
pub mod progress;
pub mod restart;
pub mod sweep;
pub mod system;
pub mod transfer;

/// Private functions that the fuzz targets (`fuzz/`) call.
#[cfg(feature = "fuzzing")]
pub mod fuzzing {
    pub use crate::products::fuzzing::*;
    pub use crate::transfer::fuzzing::*;
}
