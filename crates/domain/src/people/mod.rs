//! What users see of each other: profiles with their counts, and the lists in which they are found.

mod model;
mod ports;
mod service;

pub use model::*;
pub use ports::*;
pub use service::*;

#[cfg(test)]
mod tests;
