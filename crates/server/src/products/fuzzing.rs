//! What the fuzz targets (`fuzz/`) call, of what is otherwise this crate's own.

use agora_domain::FieldErrors;
use agora_domain::products::ProductEdit;
use anyhow::Result;

use super::format::Format;
use super::row::{Position, Row};
use super::source::read;

/// A row of a file of products: where it begins, counted from 1, and what it gives with what is invalid in it, if they
/// can be told.
pub type ReadRow = (u64, Option<(ProductEdit, FieldErrors)>);

/// Reads a file of products, whose name tells what it is, as an import does.
///
/// # Errors
/// When it is no file of products at all.
pub fn read_products(name: &str, bytes: &[u8]) -> Result<Vec<ReadRow>> {
    let format = Format::of(name.as_ref())?;
    let mut rows = Vec::new();
    read(format, bytes, &Position::default(), &mut |row| {
        rows.push(match row {
            Row::Fields(row) => (row.line, Some((row.edit, row.errors))),
            Row::Bad { line, .. } => (line, None),
        });
        true
    })?;
    Ok(rows)
}
