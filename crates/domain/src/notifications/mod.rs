//! Notifications: what users are told of the acts of others.

mod model;
mod ports;
mod service;

pub use model::*;
pub use ports::*;
pub use service::*;

#[cfg(test)]
mod tests;
