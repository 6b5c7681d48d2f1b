//! Posts that a user keeps to find them again; nobody else knows.

mod ports;
mod service;

pub use ports::*;
pub use service::*;

#[cfg(test)]
mod tests;
