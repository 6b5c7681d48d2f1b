//! Comments on posts.

mod model;
mod ports;
mod service;

pub use model::*;
pub use ports::*;
pub use service::*;

#[cfg(test)]
mod tests;
