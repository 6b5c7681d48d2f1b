//! The product catalog.

mod fields;
mod model;
mod ports;
mod service;

pub use fields::*;
pub use model::*;
pub use ports::*;
pub use service::*;

#[cfg(test)]
mod tests;
