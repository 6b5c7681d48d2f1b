//! Blocks and mutes between users.
//!
//! This module only keeps them. The rules of visibility apply them: [`Audience`](crate::posts::Audience) applies blocks, and
//! the conditions of the lists apply both (`contract`: Safety).

mod model;
mod ports;
mod service;

pub use model::*;
pub use ports::*;
pub use service::*;

#[cfg(test)]
mod tests;
