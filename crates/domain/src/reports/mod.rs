//! Reports of users to the administrators.

mod model;
mod ports;
mod service;
#[cfg(test)]
mod tests;

pub use model::*;
pub use ports::*;
pub use service::*;
