//! What a file of products can be.

use std::path::Path;

use agora_domain::error::FieldName;
use clap::ValueEnum;

use crate::config::Invalid;

/// The fields of a row, in the order of an export, each with its spelling.
pub(super) const FIELDS: [(FieldName, &str); 8] = [
    (FieldName::Sku, "sku"),
    (FieldName::Name, "name"),
    (FieldName::Description, "description"),
    (FieldName::Price, "price"),
    (FieldName::Category, "category"),
    (FieldName::Stock, "stock"),
    (FieldName::Variants, "variants"),
    (FieldName::Images, "images"),
];

/// Returns the spelling of a field; nothing when it is none of a row.
pub(super) fn spelling(field: FieldName) -> &'static str {
    FIELDS.into_iter().find(|(known, _)| *known == field).map_or("", |(_, spelling)| spelling)
}

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
