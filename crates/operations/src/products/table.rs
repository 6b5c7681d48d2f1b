//! Reads products from comma-separated values.

use std::io::Read;

use agora_domain::error::FieldName;
use agora_domain::products::{Category, Description, Price, ProductName, Sku, Stock};
use anyhow::{Context, ensure};
use csv::{ByteRecord, ReaderBuilder, Terminator};

use super::json::wrong_type;
use super::row::{BadRow, FIELDS, ParsedRow, Position, Take, spelling};

/// Reads a table, whose first line names its columns.
pub(super) fn read(input: impl Read, position: &Position, take: Take<'_>) -> anyhow::Result<()> {
    // Every line ends with a line feed, so that lines can be counted: one is added to the last line, and `cells` removes a
    // carriage return before it.
    let input = input.chain(&b"\n"[..]);
    let builder = &mut ReaderBuilder::new();
    let builder = builder.has_headers(false).flexible(true).terminator(Terminator::Any(b'\n'));
    let mut table = builder.from_reader(input);
    let mut record = ByteRecord::new();
    let mut columns = None;
    loop {
        position.begin_row();
        let before = table.position().line();
        match table.read_byte_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(_) if position.is_too_long() => {
                take(before, Err(BadRow::too_long("; the rest was not read: is a quote not closed?")));
                return Ok(());
            }
            Err(error) => return Err(error).context("cannot read the file"),
        }
        // Without the line breaks within cells and the one at its end, this is the line on which the record begins. It is smaller
        // than the line before the record only if the last line break was read as part of a quoted cell.
        let breaks = record.iter().flatten().filter(|byte| **byte == b'\n').count();
        let line = (table.position().line() - 1).saturating_sub(u64::try_from(breaks)?);
        if line < before {
            take(before, Err(BadRow::new("a quote is not closed")));
            return Ok(());
        }
        let cells = cells(&record);
        if cells == [&b""[..]] {
            continue;
        }
        let row = match &columns {
            None => {
                columns = Some(parse_columns(&cells)?);
                continue;
            }
            Some(columns) => parse_row(columns, &cells),
        };
        if !take(line, row) {
            return Ok(());
        }
    }
    ensure!(columns.is_some(), "the file is empty");
    Ok(())
}

/// Returns the cells of a record, without the carriage return at the end of its line.
fn cells(record: &ByteRecord) -> Vec<&[u8]> {
    let mut cells: Vec<&[u8]> = record.iter().collect();
    if let Some(last) = cells.last_mut() {
        *last = last.strip_suffix(b"\r").unwrap_or(last);
    }
    cells
}

/// Parses the names of the columns in the first line.
fn parse_columns(cells: &[&[u8]]) -> anyhow::Result<Vec<FieldName>> {
    let names: Vec<_> = cells.iter().map(|cell| String::from_utf8_lossy(cell).trim().to_owned()).collect();
    let (mut columns, mut unknown): (Vec<FieldName>, Vec<String>) = (Vec::new(), Vec::new());
    for name in names {
        match FIELDS.into_iter().find(|(_, spelling)| *spelling == name) {
            Some((field, _)) => {
                ensure!(!columns.contains(&field), "the column {name} appears twice");
                columns.push(field);
            }
            None => unknown.push(format!("{name:?}")),
        }
    }
    let known = FIELDS.map(|(_, spelling)| spelling).join(", ");
    ensure!(unknown.is_empty(), "unknown columns {}: the first line may name {known}", unknown.join(", "));
    ensure!(columns.contains(&FieldName::Sku), "the column sku is missing");
    Ok(columns)
}

fn parse_row(columns: &[FieldName], cells: &[&[u8]]) -> Result<ParsedRow, BadRow> {
    if cells.len() != columns.len() {
        let reason = format!("it has {} cells, and the first line has {}", cells.len(), columns.len());
        // With a cell too many or too few, only the first is certain to be in its column.
        let first = columns.first().zip(cells.first()).filter(|(column, _)| **column == FieldName::Sku);
        let sku = first.and_then(|(_, cell)| Sku::parse(str::from_utf8(cell).ok()?).ok());
        return Err(BadRow { reason, sku });
    }
    let mut row = ParsedRow::default();
    for (column, cell) in columns.iter().zip(cells) {
        let text = str::from_utf8(cell).map_err(|_| BadRow {
            reason: format!("{} is not valid UTF-8", spelling(*column)),
            sku: row.edit.sku.clone(),
        })?;
        // A blank cell leaves the field out, except that an empty description is valid.
        if text.trim().is_empty() && *column != FieldName::Description {
            continue;
        }
        let ParsedRow { edit, errors } = &mut row;
        match *column {
            FieldName::Sku => edit.sku = errors.check(*column, Sku::parse(text)),
            FieldName::Name => edit.name = errors.check(*column, ProductName::parse(text)),
            FieldName::Description => edit.description = errors.check(*column, Description::parse(text)),
            FieldName::Price => edit.price = errors.check(*column, Price::parse(text.trim())),
            FieldName::Category => edit.category = errors.check(*column, Category::parse(text)),
            FieldName::Variants => row.set_variants(text),
            FieldName::Images => row.set_images(text),
            _ => {
                let pieces = text.trim().parse().map_err(|_| wrong_type(*column, "a whole number"));
                edit.stock = errors.check(*column, pieces.and_then(Stock::parse));
            }
        }
    }
    Ok(row)
}
