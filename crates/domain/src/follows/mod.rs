//! Who follows whom, and who may see it.

mod ports;
mod service;

pub use ports::*;
pub use service::*;

#[cfg(test)]
mod tests;
