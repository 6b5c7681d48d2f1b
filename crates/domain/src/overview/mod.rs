//! How much there is of everything, for administrators.

mod ports;
mod service;

pub use ports::*;
pub use service::*;
