//! Reads products from JSON, with the field names of the HTTP interface.

use std::fmt;
use std::io::{BufRead, Read};

use agora_domain::error::{FieldName, Violation, ViolationKind};
use agora_domain::products::{Category, Description, ImageUrl, Price, ProductName, Sku, Stock, Variant, VariantFields};
use anyhow::{Context, bail, ensure};
use serde::de::{DeserializeOwned, DeserializeSeed, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::error::Category as Kind;
use serde_json::value::RawValue;

use super::row::{BadRow, MAX_ROW, ParsedRow, Position, Take, spelling};

/// The fields of a row as raw JSON. Their types are checked later, so that every field of a wrong type is reported.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RowJson {
    sku: Option<Box<RawValue>>,
    name: Option<Box<RawValue>>,
    description: Option<Box<RawValue>>,
    /// The literal, since a price is never parsed as a floating point number.
    price: Option<Box<RawValue>>,
    category: Option<Box<RawValue>>,
    stock: Option<Box<RawValue>>,
    variants: Option<Box<RawValue>>,
    images: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VariantJson {
    color: Option<String>,
    size: Option<String>,
    stock: Option<i64>,
}

impl ParsedRow {
    /// Parses the JSON value of a field, or records why it is invalid.
    fn value<T: DeserializeOwned, U>(
        &mut self,
        field: FieldName,
        json: &str,
        expected: &str,
        parse: impl FnOnce(T) -> Result<U, Violation>,
    ) -> Option<U> {
        let wrong_type = |_| wrong_type(field, expected);
        self.errors.check(field, serde_json::from_str(json).map_err(wrong_type).and_then(parse))
    }

    fn text<U>(
        &mut self,
        field: FieldName,
        raw: Option<Box<RawValue>>,
        parse: impl FnOnce(&str) -> Result<U, Violation>,
    ) -> Option<U> {
        raw.and_then(|raw| self.value(field, raw.get(), "a string", |text: String| parse(&text)))
    }

    pub(super) fn set_variants(&mut self, json: &str) {
        let fields = |given: VariantJson| VariantFields { color: given.color, size: given.size, stock: given.stock };
        let parse = |given: Vec<VariantJson>| Variant::parse_all(given.into_iter().map(fields).collect());
        let expected = "an array of objects with color, size and stock";
        self.edit.variants = self.value(FieldName::Variants, json, expected, parse);
    }

    pub(super) fn set_images(&mut self, json: &str) {
        self.edit.images = self.value(FieldName::Images, json, "an array of strings", ImageUrl::parse_all);
    }
}

/// Returns the violation of a field of a wrong type.
pub(super) fn wrong_type(field: FieldName, expected: &str) -> Violation {
    Violation::new(ViolationKind::WrongType, format!("{} must be {expected}", spelling(field)))
}

/// Parses a JSON object as a row.
fn parse_row(json: &str) -> Result<ParsedRow, BadRow> {
    if !json.trim_start().starts_with('{') {
        return Err(BadRow::new("it is not a JSON object"));
    }
    let json: RowJson = serde_json::from_str(json).map_err(|error| {
        // The SKU, if it can be read, identifies the row in the message.
        let sku = serde_json::from_str::<Value>(json).ok().and_then(|row| Sku::parse(row["sku"].as_str()?).ok());
        BadRow { reason: in_words(&error), sku }
    })?;
    let mut row = ParsedRow::default();
    row.edit.sku = row.text(FieldName::Sku, json.sku, Sku::parse);
    row.edit.name = row.text(FieldName::Name, json.name, ProductName::parse);
    row.edit.description = row.text(FieldName::Description, json.description, Description::parse);
    row.edit.price = row.errors.check_optional(FieldName::Price, json.price, |literal| Price::parse(literal.get()));
    row.edit.category = row.text(FieldName::Category, json.category, Category::parse);
    let stock = |raw: Box<RawValue>| row.value(FieldName::Stock, raw.get(), "a whole number", Stock::parse);
    row.edit.stock = json.stock.and_then(stock);
    if let Some(raw) = json.variants {
        row.set_variants(raw.get());
    }
    if let Some(raw) = json.images {
        row.set_images(raw.get());
    }
    Ok(row)
}

/// Returns the message of a JSON error without its line number, which counts from the row, not from the beginning of the file.
fn in_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.rsplit_once(" at line ").map_or(&*text, |(what, _)| what);
    if error.is_data() { what.to_owned() } else { format!("{what} (column {})", error.column()) }
}

/// Reads JSON lines: one object per line.
pub(super) fn read_lines(mut input: impl BufRead, position: &Position, take: Take<'_>) -> anyhow::Result<()> {
    let mut text = Vec::new();
    let mut is_empty = true;
    for line in 1.. {
        position.begin_row();
        text.clear();
        let read = (&mut input).take(MAX_ROW).read_until(b'\n', &mut text);
        let mut read = read.context("cannot read the file")?;
        if read == 0 {
            break;
        }
        let is_whole = text.ends_with(b"\n") || read < usize::try_from(MAX_ROW)?;
        // The rest of a line that is too long is skipped, so that the next lines are checked too.
        while !is_whole && read > 0 && !text.ends_with(b"\n") {
            position.begin_row();
            text.clear();
            read = (&mut input).take(MAX_ROW).read_until(b'\n', &mut text).context("cannot read the file")?;
        }
        let row = match str::from_utf8(&text) {
            _ if !is_whole => Err(BadRow::too_long("")),
            Ok(text) if text.trim().is_empty() => continue,
            Ok(text) => parse_row(text.trim_end()),
            Err(_) => Err(BadRow::new("it is not valid UTF-8")),
        };
        is_empty = false;
        if !take(line, row) {
            return Ok(());
        }
    }
    ensure!(!is_empty, "the file is empty");
    Ok(())
}

/// Reads one JSON array, an element at a time.
pub(super) fn read_array(input: impl Read, position: &Position, take: Take<'_>) -> anyhow::Result<()> {
    let mut json = serde_json::Deserializer::from_reader(input);
    let (mut is_array, mut is_wanted) = (false, true);
    let elements = Elements { position, take, is_array: &mut is_array, is_wanted: &mut is_wanted };
    let Err(error) = json.deserialize_any(elements).and_then(|()| json.end()) else { return Ok(()) };
    match error.classify() {
        _ if !is_wanted => {}
        _ if is_array && position.is_too_long() => {
            take(position.line.get() + 1, Err(BadRow::too_long("; the rest was not read")));
        }
        Kind::Io => return Err(error).context("cannot read the file"),
        _ if is_array => {
            let bad = BadRow::new(format!("{}; the rest was not read", in_words(&error)));
            take(u64::try_from(error.line())?, Err(bad));
        }
        Kind::Eof if error.column() == 0 => bail!("the file is empty"),
        _ => bail!("the file is not a JSON array: it must begin with [ (use --format jsonl for an object per line)"),
    }
    Ok(())
}

/// A visitor of a JSON array that passes on each element as soon as it is read.
struct Elements<'a> {
    position: &'a Position,
    take: Take<'a>,
    is_array: &'a mut bool,
    is_wanted: &'a mut bool,
}

impl<'de> Visitor<'de> for Elements<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of products")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        *self.is_array = true;
        while let Some((line, raw)) = elements.next_element_seed(Element(self.position))? {
            if !(self.take)(line, parse_row(raw.get())) {
                *self.is_wanted = false;
                return Err(serde::de::Error::custom("no more is wanted"));
            }
        }
        Ok(())
    }
}

/// A seed that reads an element as raw JSON, with the line on which it begins.
struct Element<'a>(&'a Position);

impl<'de> DeserializeSeed<'de> for Element<'_> {
    type Value = (u64, Box<RawValue>);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        // The first byte of the element is read already, and it ends no line.
        let line = self.0.line.get() + 1;
        self.0.begin_row();
        Ok((line, Box::deserialize(deserializer)?))
    }
}
