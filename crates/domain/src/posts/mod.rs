//! Posts: text, image, or both; who may view them; likes.

mod model;
mod ports;
mod service;

pub use model::*;
pub use ports::*;
pub use service::*;

#[cfg(test)]
mod tests;
