//! What the operator's commands do, with the arguments of those that have many.
//!
//! | module | what it does |
//! |---|---|
//! | `transfer` | `agora copy`, `agora backup`, `agora restore` |
//! | `admin` | `agora admin`: the administrators, and any account |
//! | `moderation`, `outbox` | `agora audit` and `agora reports`; `agora mail` |
//! | `products` | `agora products`: the catalog from files and into files |
//! | `media` | `agora media`: what is stored, and what rows name |
//! | `migrate` | `agora migrate`: the schema of the database |
//! | `doctor` | `agora doctor`: whether the service can work here |
//! | `health` | `agora health`: whether a running service is ready |
//! | `sweep`, `indexer`, `mailer`, `eraser`, `live`, `minutely` | what the service does in the background |
//! | `open`, `data_dir` | the database, the image store and the directory that the configuration names |
//! | `host` | the addresses and the open files of a service |
//! | `progress`, `context`, `background` | what long work has in common |
//! | `atomic_file`, `system` | files that are there once they are whole; the system's clock and identifiers |

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
pub mod sweep;
pub mod system;
pub mod transfer;
pub mod unending;

/// What the fuzz targets (`fuzz/`) call, of what is otherwise this crate's own.
#[cfg(feature = "fuzzing")]
pub mod fuzzing {
    pub use crate::products::fuzzing::*;
    pub use crate::transfer::fuzzing::*;
}
