//! What is looked for, and what has it.
//!
//! [`words()`] says which words a text has, [`Query`] what somebody looks for, and [`Query::finds`] whether a text has it.
//! Adapters keep each text as an [`IndexedText`], which has the [`Needles`] of a query exactly if the query finds the text:
//! they may find texts in whatever way they like, as long as it finds those.

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
