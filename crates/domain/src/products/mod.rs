//! The product catalog.

mod fields;
mod import;
mod model;
mod ports;
mod service;

pub use fields::*;
pub use import::*;
pub use model::*;
pub use ports::*;
pub use service::*;

#[cfg(test)]
mod tests;
