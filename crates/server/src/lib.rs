//! The `agora` binary: command line, configuration and wiring. The rules are in the domain, the work in the adapters.

#![forbid(unsafe_code)]

pub mod admin;
pub mod app;
pub mod cli;
pub mod config;
mod data_dir;
mod demo;
mod files;
mod listen;
mod metrics;
mod progress;
mod sweep;
mod system;
mod transfer;

#[cfg(feature = "fuzzing")]
pub use transfer::fuzzing;
