//! The formats of a file of products, and its rows.

use std::cell::Cell;
use std::path::Path;

use agora_config::Invalid;
use agora_domain::FieldErrors;
use agora_domain::error::FieldName;
use agora_domain::products::{ProductEdit, RowPosition, Sku};
use clap::ValueEnum;

/// The fields of a row, in the order of an export, each with its name in files.
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

/// Returns the name of a field in files; an empty string for a field that rows do not have.
pub(super) fn spelling(field: FieldName) -> &'static str {
    FIELDS.into_iter().find(|(known, _)| *known == field).map_or("", |(_, spelling)| spelling)
}

/// The format of a file of products.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One JSON array of objects
    Json,
    /// One JSON object per line
    #[value(alias = "ndjson")]
    Jsonl,
    /// Comma-separated values; the first line names the columns
    Csv,
}

impl Format {
    /// Returns the format of a file by the extension of its name.
    ///
    /// # Errors
    /// When the extension is unknown.
    pub(super) fn of(file: &Path) -> Result<Self, Invalid> {
        let ending = file.extension().unwrap_or_default().to_string_lossy();
        let file = file.display();
        let advice =
            || Invalid(format!("the format of {file} is unknown: use --format json, --format jsonl or --format csv"));
        Self::from_str(&ending, true).map_err(|_| advice())
    }
}

/// The most bytes of a row.
pub(super) const MAX_ROW: u64 = 1 << 20;

/// A row of a file.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) at: RowPosition,
    pub(super) content: Result<ParsedRow, BadRow>,
}

/// The valid fields of a row, and the errors of the others.
#[derive(Debug, Default)]
pub(super) struct ParsedRow {
    pub(super) edit: ProductEdit,
    pub(super) errors: FieldErrors,
}

/// Why the fields of a row cannot be read.
#[derive(Debug)]
pub(super) struct BadRow {
    pub(super) reason: String,
    /// The SKU of the row, if it can be read.
    pub(super) sku: Option<Sku>,
}

impl BadRow {
    /// Creates the error of a row whose SKU is unknown.
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), sku: None }
    }

    /// Creates the error of a row longer than [`MAX_ROW`]; `more` is appended to the message.
    pub(super) fn too_long(more: &str) -> Self {
        Self::new(format!("it is longer than {} MiB{more}", MAX_ROW >> 20))
    }
}

/// A callback that receives each row with the line it begins on, counted from 1. It returns `false` to stop reading.
pub(super) type Take<'a> = &'a mut dyn FnMut(u64, Result<ParsedRow, BadRow>) -> bool;

/// How far a file has been read.
#[derive(Default)]
pub(super) struct Position {
    /// The number of line breaks read.
    pub(super) line: Cell<u64>,
    /// The number of bytes read.
    pub(super) offset: Cell<u64>,
    /// The offset at which the current row began.
    row: Cell<u64>,
}

impl Position {
    /// Marks the beginning of a row.
    pub(super) fn begin_row(&self) {
        self.row.set(self.offset.get());
    }

    /// Returns whether the current row is longer than [`MAX_ROW`].
    pub(super) fn is_too_long(&self) -> bool {
        self.offset.get() - self.row.get() > MAX_ROW
    }
}

/// Returns a text such as "1 product" or "2 products".
pub(super) fn count_of(count: u64) -> String {
    if count == 1 { "1 product".to_owned() } else { format!("{count} products") }
}
