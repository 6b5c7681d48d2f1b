//! The catalog as a file: `agora products import`, `agora products export`.
//!
//! A file is read once to check all of it and a second time to write, so that nobody waits for the catalog while a long
//! file is checked, and every bad row is told at once. What rows mean is the domain's matter.

mod export;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod import;
mod json;
mod row;
mod source;
mod table;
#[cfg(test)]
mod tests;

pub use self::export::export;
pub use self::import::import;
pub use self::row::Format;
