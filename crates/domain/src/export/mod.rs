//! Everything that an account has stored, for its user to take along.

mod ports;
mod service;
#[cfg(test)]
mod tests;

pub use ports::*;
pub use service::*;
