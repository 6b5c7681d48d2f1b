//! Backups that administrators download.

mod ports;
mod service;

pub use ports::*;
pub use service::*;
