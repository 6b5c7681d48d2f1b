//! The audit log: the recorded acts of administrators.

mod ports;
mod service;

pub use ports::*;
pub use service::*;
