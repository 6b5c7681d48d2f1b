//! Products as comma-separated values.

use std::io::Read;

use agora_domain::products::Sku;
use anyhow::{Context, ensure};
use csv::{ByteRecord, ReaderBuilder, Terminator};

use super::row::{BadRow, FIELDS, ParsedRow, Position, Take};

/// Reads a table. Its first line names its columns.
pub(super) fn read(input: impl Read, position: &Position, take: Take<'_>) -> anyhow::Result<()> {
    // Lines end with a line feed, the last one too, so that they can be counted. A carriage return before it is taken off
    // below.
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
                take(before, Err(BadRow::too_long("; what follows was not read: is a quote left open?")));
                return Ok(());
            }
            Err(error) => return Err(error).context("the file cannot be read"),
        }
        // Without the breaks within cells and the one at the end, it is the line that the row begins on. An end that is
        // missing is that of a quote.
        let breaks = record.iter().flatten().filter(|byte| **byte == b'\n').count();
        let line = (table.position().line() - 1).saturating_sub(u64::try_from(breaks)?);
        if line < before {
            take(before, Err(BadRow::new("a quote is left open")));
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

/// Returns the cells of a record, the last without the carriage return of its line.
fn cells(record: &ByteRecord) -> Vec<&[u8]> {
    let mut cells: Vec<&[u8]> = record.iter().collect();
    if let Some(last) = cells.last_mut() {
        *last = last.strip_suffix(b"\r").unwrap_or(last);
    }
    cells
}

/// Returns the columns that the first line names.
fn parse_columns(cells: &[&[u8]]) -> anyhow::Result<Vec<&'static str>> {
    let names: Vec<_> = cells.iter().map(|cell| String::from_utf8_lossy(cell).trim().to_owned()).collect();
    let (mut columns, mut unknown): (Vec<&str>, Vec<String>) = (Vec::new(), Vec::new());
    for name in names {
        match FIELDS.into_iter().find(|field| *field == name) {
            Some(field) => {
                ensure!(!columns.contains(&field), "the column {field} is there twice");
                columns.push(field);
            }
            None => unknown.push(format!("{name:?}")),
        }
    }
    let known = FIELDS.join(", ");
    ensure!(unknown.is_empty(), "there are no columns {}: the first line names some of {known}", unknown.join(", "));
    ensure!(columns.contains(&"sku"), "the column sku is missing");
    Ok(columns)
}

fn parse_row(columns: &[&'static str], cells: &[&[u8]]) -> Result<ParsedRow, BadRow> {
    if cells.len() != columns.len() {
        return Err(BadRow::new(format!("it has {} cells, and the first line has {}", cells.len(), columns.len())));
    }
    let mut row = ParsedRow::default();
    for (column, cell) in columns.iter().zip(cells) {
        let text = str::from_utf8(cell).map_err(|_| BadRow {
            reason: format!("{column} is not valid UTF-8"),
            sku: row.fields.sku.as_deref().and_then(|sku| Sku::parse(sku).ok()),
        })?;
        // An empty description is one; elsewhere nothing is given.
        if text.trim().is_empty() && *column != "description" {
            continue;
        }
        match *column {
            "sku" => row.fields.sku = Some(text.to_owned()),
            "name" => row.fields.name = Some(text.to_owned()),
            "description" => row.fields.description = Some(text.to_owned()),
            "price" => row.fields.price = Some(text.trim().to_owned()),
            "category" => row.fields.category = Some(text.to_owned()),
            "variants" => row.set_variants(text),
            "images" => row.set_images(text),
            _ => row.fields.stock = row.value("stock", text.trim().parse().ok(), "a whole number"),
        }
    }
    Ok(row)
}
