//! Full-text search of posts, users and products.
//!
//! [`words()`] splits a text into words, [`Query`] is a parsed search query, and [`Query::finds`] defines whether it matches a
//! text. Adapters store each text as an [`IndexedText`], which contains the [`Needles`] of a query exactly if the query matches
//! the text. They may search in any way that finds exactly these texts.

mod indexed;
mod ports;
mod query;
mod service;
mod words;

pub use indexed::*;
pub use ports::*;
pub use query::*;
pub use service::*;
pub use words::*;

#[cfg(test)]
mod tests;
