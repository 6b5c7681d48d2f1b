//! What a file of products can be.

use std::path::Path;

use clap::ValueEnum;

use crate::config::Invalid;

/// The fields of a row, in the order of an export.
pub(super) const FIELDS: [&str; 8] = ["sku", "name", "description", "price", "category", "stock", "variants", "images"];

/// What a file of products is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One JSON array of objects
    Json,
    /// A JSON object a line
    Jsonl,
    /// Comma-separated values; the first line names the columns
    Csv,
}

impl Format {
    /// Returns what a file with this name is.
    ///
    /// # Errors
    /// When its ending does not tell.
    pub(super) fn of(file: &Path) -> Result<Self, Invalid> {
        let ending = file.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        Ok(match &*ending {
            "json" => Self::Json,
            "jsonl" | "ndjson" => Self::Jsonl,
            "csv" => Self::Csv,
            _ => {
                let file = file.display();
                let what = format!("say what {file} is: --format json, --format jsonl or --format csv");
                return Err(Invalid::because(&what));
            }
        })
    }
}
