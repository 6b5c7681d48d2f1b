//! Backfill of entities for texts that were stored without.

mod ports;
mod service;

pub use ports::*;
pub use service::*;

#[cfg(test)]
mod tests;
