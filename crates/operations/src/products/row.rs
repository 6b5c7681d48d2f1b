//! What a file of products can be, and its rows.

use std::cell::Cell;
use std::path::Path;

use agora_config::Invalid;
use agora_domain::FieldErrors;
use agora_domain::error::FieldName;
use agora_domain::products::{ProductEdit, RowPosition, Sku};
use clap::ValueEnum;

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
pub enum Format {
    /// One JSON array of objects
    Json,
    /// A JSON object a line
    #[value(alias = "ndjson")]
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
        let ending = file.extension().unwrap_or_default().to_string_lossy();
        let file = file.display();
        let advice = || Invalid(format!("say what {file} is: --format json, --format jsonl or --format csv"));
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

/// What a row gives, with what is invalid in it.
#[derive(Debug, Default)]
pub(super) struct ParsedRow {
    pub(super) edit: ProductEdit,
    pub(super) errors: FieldErrors,
}

/// Why a row has no fields that can be told.
#[derive(Debug)]
pub(super) struct BadRow {
    pub(super) reason: String,
    /// Its SKU, if that can be told.
    pub(super) sku: Option<Sku>,
}

impl BadRow {
    /// Of a row whose SKU is unknown.
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), sku: None }
    }

    /// Of a row that is longer than it may be.
    pub(super) fn too_long(more: &str) -> Self {
        Self::new(format!("it is longer than {} MiB{more}", MAX_ROW >> 20))
    }
}

/// Takes rows, each with the line that it begins on, counted from 1, as long as it says so.
pub(super) type Take<'a> = &'a mut dyn FnMut(u64, Result<ParsedRow, BadRow>) -> bool;

/// How far a file is read.
#[derive(Default)]
pub(super) struct Position {
    /// How many lines have ended.
    pub(super) line: Cell<u64>,
    /// How many bytes were read.
    pub(super) offset: Cell<u64>,
    /// How many had been when the present row began.
    row: Cell<u64>,
}

impl Position {
    /// A row begins.
    pub(super) fn begin_row(&self) {
        self.row.set(self.offset.get());
    }

    /// Returns whether the present row is longer than it may be.
    pub(super) fn is_too_long(&self) -> bool {
        self.offset.get() - self.row.get() > MAX_ROW
    }
}

/// Returns so many products, in words.
pub(super) fn count_of(count: u64) -> String {
    if count == 1 { "1 product".to_owned() } else { format!("{count} products") }
}
