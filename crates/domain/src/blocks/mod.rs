//! Whom users keep apart from themselves, and whom they do not want to hear.
//!
//! What comes of it is for the rules of what is shown: [`Audience`](crate::posts::Audience) for blocks, and the conditions of the
//! lists for both (`contract`: Safety).

mod model;
mod ports;
mod service;

pub use model::*;
pub use ports::*;
pub use service::*;

#[cfg(test)]
mod tests;
