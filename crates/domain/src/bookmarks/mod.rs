//! Posts that a user has bookmarked to find them again; nobody else sees the bookmarks.

mod ports;
mod service;

pub use ports::*;
pub use service::*;

#[cfg(test)]
mod tests;
