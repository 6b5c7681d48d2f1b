//! What the fuzz targets (`fuzz/`) call, of what is otherwise this crate's own.

use agora_domain::FieldErrors;
use agora_domain::products::{ProductFields, RowPosition};
use anyhow::Result;

use super::row::{Format, ParsedRow, Position};
use super::source::read;

/// A row of a file of products: where it is, and its fields with what is wrong with them, if they can be told.
pub type ReadRow = (RowPosition, Option<(ProductFields, FieldErrors)>);

/// Reads a file of products, whose name tells what it is, as an import does.
///
/// # Errors
/// When it is no file of products at all.
pub fn read_products(name: &str, bytes: &[u8]) -> Result<Vec<ReadRow>> {
    let format = Format::of(name.as_ref())?;
    let mut rows = Vec::new();
    read(format, bytes, &Position::default(), &mut |row| {
        let fields = row.content.ok().map(|ParsedRow { fields, wrong }| (fields, wrong));
        rows.push((row.at, fields));
        true
    })?;
    Ok(rows)
}
