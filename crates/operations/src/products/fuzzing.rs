//! Private functions that the fuzz targets (`fuzz/`) call.

use agora_domain::FieldErrors;
use agora_domain::products::{ProductEdit, RowPosition};
use anyhow::Result;

use super::row::{Format, ParsedRow, Position};
use super::source::read;

/// A row of a file of products: its position and, if it has fields, those that are valid and the errors of the others.
pub type ReadRow = (RowPosition, Option<(ProductEdit, FieldErrors)>);

/// Reads a file of products as an import does. Its name determines the format.
///
/// # Errors
/// When it is not a file of products at all.
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
