//! `agora products import` and `agora products export`: the catalog as a file.
//!
//! An import reads the file twice: first to check all of it, then to write. So the catalog is not locked while a long file is
//! checked, and every bad row is reported at once. What a row changes is decided in the domain.

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
        /// The file to read, or - for standard input
        file: PathBuf,
        /// The format of the file, if its extension is not .json, .jsonl, .ndjson or .csv
        #[arg(long, value_enum)]
        format: Option<Format>,
        /// Validate the file and print what would change, without changing anything
        #[arg(long)]
        dry_run: bool,
    },
    /// Export all products to a file that can be imported
    Export {
        /// The file to write, which must not exist; standard output if omitted or -
        file: Option<PathBuf>,
        /// The format of the file, if its extension is not .json, .jsonl, .ndjson or .csv; jsonl by default on standard output
        #[arg(long, value_enum)]
        format: Option<Format>,
    },
}

/// Carries out the command; returns a text for the operator.
///
/// # Errors
/// When a file or the catalog cannot be read or written, or a row is invalid. Then nothing was changed.
pub async fn products(config: &Config, command: ProductsCommand, interrupt: Interrupt) -> Result<String> {
    match command {
        ProductsCommand::Import { file, format, dry_run } => import(config, file, format, dry_run, interrupt).await,
        ProductsCommand::Export { file, format } => export(config, file, format, interrupt).await,
    }
}
