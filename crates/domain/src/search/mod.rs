//! What is looked for, and what has it.
//!
//! Nothing here knows an index. [`words()`] says which words a text has, [`Query`] what somebody looks for, and
//! [`Query::finds`] whether a text has it: an adapter may find texts in whatever way it likes, as long as it finds those.

mod query;
mod words;

pub use query::*;
pub use words::*;

#[cfg(test)]
mod tests;
