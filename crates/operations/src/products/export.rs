//! `agora products export`: the catalog into a file.

use std::io;
use std::io::{BufWriter, Write};
use std::path::Path;

use agora_domain::page::Keyset;
use agora_domain::products::{Catalog, Product, Variant};
use anyhow::{Context, Result};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::count_of;
use super::import::CATALOG;
use super::row::{FIELDS, Format};
use crate::atomic_file::AtomicFile;
use crate::context::OperatorContext;
use crate::progress::Progress;

/// How many products are read at once.
const BATCH: usize = 200;

/// A price as a JSON number, digit by digit.
struct PriceNumber(String);

impl Serialize for PriceNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.0.clone()).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

#[derive(Serialize)]
struct VariantJson<'a> {
    color: &'a str,
    size: &'a str,
    stock: i32,
}

/// A product as an import takes it, in the order of [`FIELDS`].
#[derive(Serialize)]
struct ProductJson<'a> {
    sku: &'a str,
    name: &'a str,
    description: &'a str,
    price: PriceNumber,
    category: &'a str,
    stock: i32,
    variants: Vec<VariantJson<'a>>,
    images: Vec<&'a str>,
}

impl<'a> ProductJson<'a> {
    fn of(product: &'a Product) -> Self {
        let variant = |variant: &'a Variant| VariantJson {
            color: variant.color.as_str(),
            size: variant.size.as_str(),
            stock: variant.stock.get(),
        };
        Self {
            sku: product.sku.as_str(),
            name: product.name.as_str(),
            description: product.description.as_str(),
            price: PriceNumber(product.price.to_string()),
            category: product.category.as_str(),
            stock: product.stock.get(),
            variants: product.variants.iter().map(variant).collect(),
            images: product.images.iter().map(|url| url.as_str()).collect(),
        }
    }

    fn cells(&self) -> Result<[String; 8]> {
        Ok([
            self.sku.to_owned(),
            self.name.to_owned(),
            self.description.to_owned(),
            self.price.0.clone(),
            self.category.to_owned(),
            self.stock.to_string(),
            serde_json::to_string(&self.variants)?,
            serde_json::to_string(&self.images)?,
        ])
    }
}

/// Writes products in a format.
enum Writer<W: Write> {
    Json { out: W, is_empty: bool },
    Jsonl(W),
    Csv(Box<csv::Writer<W>>),
}

impl<W: Write> Writer<W> {
    fn new(format: Format, mut out: W) -> Result<Self> {
        Ok(match format {
            Format::Json => {
                out.write_all(b"[")?;
                Self::Json { out, is_empty: true }
            }
            Format::Jsonl => Self::Jsonl(out),
            Format::Csv => {
                let mut table = csv::Writer::from_writer(out);
                table.write_record(FIELDS)?;
                Self::Csv(Box::new(table))
            }
        })
    }

    fn write(&mut self, product: &Product) -> Result<()> {
        let product = ProductJson::of(product);
        match self {
            Self::Json { out, is_empty } => {
                out.write_all(if *is_empty { b"\n" } else { b",\n" })?;
                *is_empty = false;
                serde_json::to_writer(out, &product)?;
            }
            Self::Jsonl(out) => {
                serde_json::to_writer(&mut *out, &product)?;
                out.write_all(b"\n")?;
            }
            Self::Csv(table) => table.write_record(product.cells()?)?,
        }
        Ok(())
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::Json { mut out, .. } => {
                out.write_all(b"\n]\n")?;
                out.flush()?;
            }
            Self::Jsonl(mut out) => out.flush()?,
            Self::Csv(mut table) => table.flush()?,
        }
        Ok(())
    }
}

/// Writes all products as they are at one moment, oldest first; what to tell the operator, which is nothing after an
/// export to the standard output.
///
/// # Errors
/// What could not be read or written. Then there is no file.
pub(super) async fn export(
    catalog: &dyn Catalog,
    file: Option<&Path>,
    format: Format,
    mut progress: Progress,
) -> Result<String> {
    let Some(path) = file else {
        write_all(catalog, format, io::stdout().lock(), &mut progress).await.context("cannot write the products")?;
        return Ok(String::new());
    };
    let name = path.display();
    let file = AtomicFile::begin(path, ".agora-export-")?;
    let count = write_all(catalog, format, file.file(), &mut progress).await;
    let count = count.with_context(|| format!("cannot write {name}"))?;
    file.keep()?;
    Ok(format!("Exported {} to {name}.", count_of(count)))
}

/// Writes all products; how many they are.
async fn write_all(catalog: &dyn Catalog, format: Format, out: impl Write, progress: &mut Progress) -> Result<u64> {
    progress.phase("products", None);
    let mut snapshot = catalog.snapshot().await.operator_context(CATALOG)?;
    let mut writer = Writer::new(format, BufWriter::new(out))?;
    let mut count = 0;
    let mut last = None;
    loop {
        let products = snapshot.after(last, BATCH).await.operator_context(CATALOG)?;
        let Some(end) = products.last() else { break };
        last = Some(Keyset { at: end.created_at, id: end.id.uuid() });
        products.iter().try_for_each(|product| writer.write(product))?;
        let read = u64::try_from(products.len())?;
        count += read;
        progress.advance(read)?;
    }
    writer.finish()?;
    Ok(count)
}
