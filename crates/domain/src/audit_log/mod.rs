//! The audit log: what administrators did.

mod ports;
mod service;

pub use ports::*;
pub use service::*;
