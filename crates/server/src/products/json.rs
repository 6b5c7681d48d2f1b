//! Products as JSON, spelled as the HTTP interface takes them.

use std::fmt;
use std::io::{BufRead, Read};

use agora_domain::FieldErrors;
use agora_domain::error::{Violation, ViolationKind};
use agora_domain::products::{ImportRow, ProductFields, VariantFields};
use anyhow::{Context, Result, bail, ensure};
use serde::de::{DeserializeOwned, DeserializeSeed, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::row::{MAX_ROW, Position, Row, Take, too_long};

/// The fields as they are spelled. Which type they have is seen later, so that every wrong one can be named.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RowJson {
    sku: Option<Box<RawValue>>,
    name: Option<Box<RawValue>>,
    description: Option<Box<RawValue>>,
    /// The literal as it is: a price is never a floating point number.
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

/// The fields of a row, with what is wrong with them.
#[derive(Default)]
pub(super) struct ParsedRow {
    pub(super) fields: ProductFields,
    pub(super) wrong: FieldErrors,
}

impl ParsedRow {
    fn value<T: DeserializeOwned>(&mut self, field: &'static str, json: &str, expected: &str) -> Option<T> {
        let value = serde_json::from_str(json).ok();
        if value.is_none() {
            self.wrong.add(field, Violation::new(ViolationKind::WrongType, format!("{field} must be {expected}")));
        }
        value
    }

    fn text(&mut self, field: &'static str, raw: Option<Box<RawValue>>) -> Option<String> {
        raw.and_then(|raw| self.value(field, raw.get(), "a string"))
    }

    pub(super) fn variants(&mut self, json: &str) {
        let given: Option<Vec<VariantJson>> =
            self.value("variants", json, "an array of objects with color, size and stock");
        let variant = |given: VariantJson| VariantFields { color: given.color, size: given.size, stock: given.stock };
        self.fields.variants = given.map(|given| given.into_iter().map(variant).collect());
    }

    pub(super) fn images(&mut self, json: &str) {
        self.fields.images = self.value("images", json, "an array of strings");
    }

    pub(super) fn into_row(self, line: u64) -> Row {
        Row::Fields(ImportRow { line, fields: self.fields, wrong: self.wrong })
    }
}

/// Returns the row that a JSON text is.
fn row(line: u64, json: &str) -> Row {
    let bad = |reason| Row::Bad { line, reason };
    if !json.trim_start().starts_with('{') {
        return bad("it is no JSON object".to_owned());
    }
    let row: RowJson = match serde_json::from_str(json) {
        Ok(row) => row,
        Err(error) => return bad(in_words(&error)),
    };
    let mut given = ParsedRow::default();
    given.fields.sku = given.text("sku", row.sku);
    given.fields.name = given.text("name", row.name);
    given.fields.description = given.text("description", row.description);
    given.fields.price = row.price.map(|literal| literal.get().to_owned());
    given.fields.category = given.text("category", row.category);
    given.fields.stock = row.stock.and_then(|raw| given.value("stock", raw.get(), "a whole number"));
    if let Some(raw) = row.variants {
        given.variants(raw.get());
    }
    if let Some(raw) = row.images {
        given.images(raw.get());
    }
    given.into_row(line)
}

/// Returns what is wrong with a JSON text, without its lines, which are not those of the file.
fn in_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.rsplit_once(" at line ").map_or(&*text, |(what, _)| what);
    if error.is_data() { what.to_owned() } else { format!("{what} (column {})", error.column()) }
}

/// Reads a JSON object a line.
pub(super) fn read_lines(mut input: impl BufRead, position: &Position, take: Take<'_>) -> Result<()> {
    let mut text = Vec::new();
    let mut is_empty = true;
    for line in 1.. {
        position.begin_row();
        text.clear();
        let read = (&mut input).take(MAX_ROW).read_until(b'\n', &mut text);
        let mut read = read.context("the file cannot be read")?;
        if read == 0 {
            break;
        }
        let is_whole = text.ends_with(b"\n") || read < usize::try_from(MAX_ROW)?;
        // What is left of a line that is too long is passed over, so that the next ones are looked at too.
        while !is_whole && read > 0 && !text.ends_with(b"\n") {
            position.begin_row();
            text.clear();
            read = (&mut input).take(MAX_ROW).read_until(b'\n', &mut text).context("the file cannot be read")?;
        }
        let row = match str::from_utf8(&text) {
            _ if !is_whole => Row::Bad { line, reason: too_long() },
            Ok(text) if text.trim().is_empty() => continue,
            Ok(text) => row(line, text.trim_end()),
            Err(_) => Row::Bad { line, reason: "it is not valid UTF-8".to_owned() },
        };
        is_empty = false;
        if !take(row) {
            return Ok(());
        }
    }
    ensure!(!is_empty, "the file is empty");
    Ok(())
}

/// Reads one JSON array, an element at a time.
pub(super) fn read_array(input: impl Read, position: &Position, take: Take<'_>) -> Result<()> {
    let mut json = serde_json::Deserializer::from_reader(input);
    let mut taken = Taken { is_array: false, wanted: true };
    let read = json.deserialize_any(Elements { position, take, taken: &mut taken }).and_then(|()| json.end());
    let Err(error) = read else { return Ok(()) };
    match (taken, error.classify()) {
        (Taken { wanted: false, .. }, _) => Ok(()),
        (Taken { is_array: true, .. }, _) if position.is_too_long() => {
            take(Row::Bad { line: position.line.get(), reason: format!("{}; what follows was not read", too_long()) });
            Ok(())
        }
        (_, serde_json::error::Category::Io) => Err(error).context("the file cannot be read"),
        (Taken { is_array: true, .. }, _) => {
            let line = u64::try_from(error.line())?;
            take(Row::Bad { line, reason: format!("{}; what follows was not read", in_words(&error)) });
            Ok(())
        }
        (_, serde_json::error::Category::Eof) if error.column() == 0 => bail!("the file is empty"),
        _ => bail!("the file is no JSON array: it must begin with [ (--format jsonl reads an object a line)"),
    }
}

struct Taken {
    is_array: bool,
    wanted: bool,
}

/// The elements of an array, each taken as soon as it is read.
struct Elements<'a> {
    position: &'a Position,
    take: Take<'a>,
    taken: &'a mut Taken,
}

impl<'de> Visitor<'de> for Elements<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of products")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        self.taken.is_array = true;
        while let Some((line, raw)) = elements.next_element_seed(Element(self.position))? {
            if !(self.take)(row(line, raw.get())) {
                self.taken.wanted = false;
                return Err(serde::de::Error::custom("no more is wanted"));
            }
        }
        Ok(())
    }
}

/// An element, as text, and the line on which it begins.
struct Element<'a>(&'a Position);

impl<'de> DeserializeSeed<'de> for Element<'_> {
    type Value = (u64, Box<RawValue>);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        // The first byte of the element is read already, and it ends no line.
        let line = self.0.line.get();
        self.0.begin_row();
        Ok((line, Box::deserialize(deserializer)?))
    }
}
