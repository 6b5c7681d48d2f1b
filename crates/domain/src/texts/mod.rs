//! The texts whose entities are not extracted yet.

mod ports;
mod service;

pub use ports::*;
pub use service::*;

#[cfg(test)]
mod tests;
