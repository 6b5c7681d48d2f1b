//! Export of everything that an account has stored, for its user to download.

mod ports;
mod service;
#[cfg(test)]
mod tests;

pub use ports::*;
pub use service::*;
