//! The `agora` binary: command line and wiring. The rules are in the domain; adapters and operations do the work.

#![forbid(unsafe_code)]

mod adapters;
pub mod app;
pub mod cli;
mod greeting;
mod logging;
mod manual;
mod metrics;
mod shown_settings;
#[cfg_attr(not(feature = "telemetry"), path = "no_telemetry.rs")]
mod telemetry;

pub use shown_settings::shown_settings;
