//! What the fuzz targets (`fuzz/`) call, of what is otherwise this crate's own.

use agora_domain::FieldErrors;
use agora_domain::products::{ProductEdit, RowPosition};
use anyhow::Result;

use super::row::{Format, ParsedRow, Position};
use super::source::read;

/// A row of a file of products: where it is, and what it gives with what is invalid in it, if they can be told.
pub type ReadRow = (RowPosition, Option<(ProductEdit, FieldErrors)>);

/// Reads a file of products, whose name tells what it is, as an import does.
///
/// # Errors
/// When it is no file of products at all.
pub fn read_products(name: &str, bytes: &[u8]) -> Result<Vec<ReadRow>> {
    let format = Format::of(name.as_ref())?;
    let mut rows = Vec::new();
    read(format, bytes, &Position::default(), &mut |row| {
        let fields = row.content.ok().map(|ParsedRow { edit, errors }| (edit, errors));
        rows.push((row.at, fields));
        true
    })?;
    Ok(rows)
}
