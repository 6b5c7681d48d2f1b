//! Deletion of accounts (`contract`: Accounts): an account disappears at once, and its data is erased in the background.

mod model;
mod ports;
mod service;

pub use model::*;
pub use ports::*;
pub use service::*;

#[cfg(test)]
mod tests;
