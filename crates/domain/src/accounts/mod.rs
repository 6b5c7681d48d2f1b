//! Accounts: who a user is, how they log in, what they may do.

mod model;
mod ports;
mod service;
mod sessions;
mod values;

pub use model::*;
pub use ports::*;
pub use service::*;
pub use sessions::*;
pub use values::*;

#[cfg(test)]
mod tests;
