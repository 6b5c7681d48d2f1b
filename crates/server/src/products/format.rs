//! What a file of products can be.

use std::path::Path;

use anyhow::{Result, bail};
use clap::ValueEnum;

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
    /// What a file with this name is.
    pub(super) fn of(file: &Path) -> Result<Self> {
        let ending = file.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        Ok(match &*ending {
            "json" => Self::Json,
            "jsonl" | "ndjson" => Self::Jsonl,
            "csv" => Self::Csv,
            _ => bail!("say what {} is: --format json, --format jsonl or --format csv", file.display()),
        })
    }
}
