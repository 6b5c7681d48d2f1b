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
use std::sync::Arc;

use anyhow::Result;
use clap::{Args, Subcommand};

use self::import::Import;
pub use self::row::Format;
use self::source::Source;
use crate::open;
use crate::progress::{Interrupt, Progress};
use crate::system::{SystemClock, SystemIds};
use agora_config::Config;

/// What `agora products` does.
#[derive(Debug, Subcommand)]
pub enum ProductsCommand {
    /// Import products from a file, all of them or none. A product whose SKU exists, in any letter case, is updated; others
    /// are created
    Import(ImportArguments),
    /// Export all products to a file that can be imported
    Export(ExportArguments),
}

/// What `agora products import` takes.
#[derive(Debug, Args)]
pub struct ImportArguments {
    /// The file to read, or - for the standard input
    file: PathBuf,
    /// What the file is, if its ending (.json, .jsonl, .ndjson, .csv) does not tell
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Validate the file and print what would change, without changing anything
    #[arg(long)]
    dry_run: bool,
}

/// What `agora products export` takes.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// The file to write, which must not exist; the standard output without, or for -
    file: Option<PathBuf>,
    /// What the file is to be, if its ending does not tell; jsonl on the standard output
    #[arg(long, value_enum)]
    format: Option<Format>,
}

/// Imports or exports the catalog; returns what to tell the operator.
///
/// # Errors
/// Every row that cannot be taken over, and what could not be read or written. Then nothing was changed, and there is
/// no file.
pub async fn products(config: &Config, command: ProductsCommand, interrupt: Interrupt) -> Result<String> {
    let progress = Progress::new(interrupt.clone());
    match command {
        ProductsCommand::Import(ImportArguments { file, format, dry_run }) => {
            let format = match format {
                Some(format) => format,
                None => Format::of(&file)?,
            };
            // First of all: whoever pipes a file into this is not to wait for a database that is not there.
            let database = open::existing_database(config).await?;
            let source = Source::open(file, format, &interrupt).await?;
            let (clock, ids) = (Arc::new(SystemClock), Arc::new(SystemIds));
            let import = Import { catalog: database.catalog(), clock, ids, source };
            import::import(import, dry_run, progress).await
        }
        ProductsCommand::Export(ExportArguments { file, format }) => {
            let file = file.filter(|file| file.as_os_str() != "-");
            let format = match (format, &file) {
                (Some(format), _) => format,
                (None, Some(file)) => Format::of(file)?,
                (None, None) => Format::Jsonl,
            };
            let database = open::existing_database(config).await?;
            export::export(&*database.catalog(), file.as_deref(), format, progress).await
        }
    }
}
