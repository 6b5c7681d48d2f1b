//! The end of an account (`contract`: Account life): gone for everybody at once, and erased in the background.

mod model;
mod ports;
mod service;

pub use model::*;
pub use ports::*;
pub use service::*;

#[cfg(test)]
mod tests;
