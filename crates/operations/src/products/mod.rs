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

use std::path::PathBuf;

use agora_config::Config;
use anyhow::Result;
use clap::Subcommand;

use self::export::export;
use self::import::import;
pub use self::row::Format;
use crate::progress::Interrupt;

/// What `agora products` does.
#[derive(Debug, Subcommand)]
pub enum ProductsCommand {
    /// Import products from a file, all of them or none. A product whose SKU exists, in any letter case, is updated; others
    /// are created
    Import {
        /// The file to read, or - for the standard input
        file: PathBuf,
        /// What the file is, if its ending (.json, .jsonl, .ndjson, .csv) does not tell
        #[arg(long, value_enum)]
        format: Option<Format>,
        /// Validate the file and print what would change, without changing anything
        #[arg(long)]
        dry_run: bool,
    },
    /// Export all products to a file that can be imported
    Export {
        /// The file to write, which must not exist; the standard output without, or for -
        file: Option<PathBuf>,
        /// What the file is to be, if its ending does not tell; jsonl on the standard output
        #[arg(long, value_enum)]
        format: Option<Format>,
    },
}

/// Does what the command says; returns what to tell the operator.
///
/// # Errors
/// What could not be read or written, or taken over. Then nothing was changed.
pub async fn products(config: &Config, command: ProductsCommand, interrupt: Interrupt) -> Result<String> {
    match command {
        ProductsCommand::Import { file, format, dry_run } => import(config, file, format, dry_run, interrupt).await,
        ProductsCommand::Export { file, format } => export(config, file, format, interrupt).await,
    }
}
