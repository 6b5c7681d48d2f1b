//! Accounts: who a user is, how they log in, what they may do.

mod model;
mod picture;
mod ports;
mod service;
mod sessions;
mod values;

pub use model::*;
pub use picture::*;
pub use ports::*;
pub use service::*;
pub use sessions::*;
pub use values::*;

#[cfg(test)]
mod tests;
