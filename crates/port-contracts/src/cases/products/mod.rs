//! The cases of products.

mod lists;
mod storage;

pub use lists::*;
pub use storage::*;
