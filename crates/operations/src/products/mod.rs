//! The catalog as a file: `agora products import`, `agora products export`.
//!
//! | module | what it does |
//! |---|---|
//! | `command` | arguments, and what they open |
//! | `row` | what a file can be, and its rows |
//! | `source` | a file that is read twice, row by row, and no row without a bound |
//! | `json`, `table` | rows of JSON, rows of CSV |
//! | `import`, `export` | into the catalog, and out of it |
//!
//! A file is read once to check all of it and a second time to write, so that nobody waits for the catalog while a long
//! file is checked, and every bad row is told at once. What rows mean is the domain's matter.

mod command;
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

pub use self::command::{ExportArguments, ImportArguments, ProductsCommand, products};
pub use self::row::Format;

/// So many products, in words.
fn count_of(count: u64) -> String {
    if count == 1 { "1 product".to_owned() } else { format!("{count} products") }
}
