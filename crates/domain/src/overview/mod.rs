//! Totals of what is stored, for administrators.

mod ports;
mod service;

pub use ports::*;
pub use service::*;
