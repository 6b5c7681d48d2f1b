//! The cases of products, by what they show.

mod lists;
mod storage;

pub use lists::*;
pub use storage::*;
