//! The `agora` binary: command line, configuration and wiring. The rules are in the domain, the work in the adapters.

#![forbid(unsafe_code)]

mod admin;
pub mod app;
mod atomic_file;
pub mod cli;
pub mod config;
mod data_dir;
mod demo;
mod doctor;
mod files;
mod greeting;
mod health;
mod listen;
mod logging;
mod manual;
mod media;
mod metrics;
mod migrate;
mod output;
mod products;
mod progress;
mod sweep;
mod system;
mod transfer;

/// What the fuzz targets (`fuzz/`) call, of what is otherwise this crate's own.
#[cfg(feature = "fuzzing")]
pub mod fuzzing {
    pub use crate::products::fuzzing::*;
    pub use crate::transfer::fuzzing::*;
}
