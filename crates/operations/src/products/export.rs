//! `agora products export`: writes the catalog to a file.

use std::io;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use agora_config::Config;
use agora_domain::page::Keyset;
use agora_domain::products::{Catalog, Product, Variant};
use anyhow::{Context, Result};
use serde_json::json;

use super::import::CATALOG;
use super::row::{FIELDS, Format, count_of};
use crate::atomic_file::AtomicFile;
use crate::context::OperatorContext;
use crate::open;
use crate::progress::{Interrupt, Progress};

/// How many products a query reads.
const BATCH: usize = 200;

/// Returns the cells of a product, in the order of [`FIELDS`]. Those that are not text are JSON.
fn cells(product: &Product) -> Result<[String; FIELDS.len()]> {
    let variant = |variant: &Variant| {
        let Variant { color, size, stock } = variant;
        json!({ "color": color.as_str(), "size": size.as_str(), "stock": stock.get() })
    };
    let variants: Vec<_> = product.variants.iter().map(variant).collect();
    let images: Vec<_> = product.images.iter().map(|url| url.as_str()).collect();
    Ok([
        product.sku.as_str().to_owned(),
        product.name.as_str().to_owned(),
        product.description.as_str().to_owned(),
        product.price.to_string(),
        product.category.as_str().to_owned(),
        product.stock.get().to_string(),
        serde_json::to_string(&variants)?,
        serde_json::to_string(&images)?,
    ])
}

/// Returns a product as a JSON object. The price is a number with all its digits, never a rounded float.
fn object(product: &Product) -> Result<String> {
    let fields = FIELDS.into_iter().zip(cells(product)?).map(|((_, field), cell)| {
        let is_text = ["sku", "name", "description", "category"].contains(&field);
        let value = if is_text { serde_json::to_string(&cell)? } else { cell };
        Ok(format!("\"{field}\":{value}"))
    });
    Ok(format!("{{{}}}", fields.collect::<Result<Vec<_>>>()?.join(",")))
}

/// Returns a line of CSV.
fn line(cells: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<Vec<u8>> {
    let mut line = csv::Writer::from_writer(Vec::new());
    line.write_record(cells)?;
    Ok(line.into_inner()?)
}

/// Writes a snapshot of all products, oldest first, to a file, or to standard output if `file` is `None` or `-`. Returns a text
/// for the operator, which is empty after an export to standard output.
///
/// # Errors
/// When the catalog cannot be read or the file cannot be written. Then no file is left behind.
pub(super) async fn export(
    config: &Config,
    file: Option<PathBuf>,
    format: Option<Format>,
    interrupt: Interrupt,
) -> Result<String> {
    let file = file.filter(|file| file.as_os_str() != "-");
    let format = match (format, &file) {
        (Some(format), _) => format,
        (None, Some(file)) => Format::of(file)?,
        (None, None) => Format::Jsonl,
    };
    let database = open::existing_database(config).await?;
    let mut progress = Progress::new(interrupt);
    let Some(path) = file else {
        write_all(&database, format, io::stdout().lock(), &mut progress).await.context("cannot write the products")?;
        return Ok(String::new());
    };
    let name = path.display();
    let file = AtomicFile::begin(&path, ".agora-export-")?;
    let count = write_all(&database, format, file.file(), &mut progress).await;
    let count = count.with_context(|| format!("cannot write {name}"))?;
    file.keep()?;
    Ok(format!("Exported {} to {name}.", count_of(count)))
}

/// Writes all products; returns how many there are.
async fn write_all(catalog: &dyn Catalog, format: Format, out: impl Write, progress: &mut Progress) -> Result<u64> {
    progress.phase("products", None);
    let mut snapshot = catalog.snapshot().await.operator_context(CATALOG)?;
    let mut out = BufWriter::new(out);
    match format {
        Format::Json => out.write_all(b"[")?,
        Format::Jsonl => {}
        Format::Csv => out.write_all(&line(FIELDS.map(|(_, spelling)| spelling))?)?,
    }
    let mut count = 0;
    let mut last = None;
    loop {
        let products = snapshot.after(last, BATCH).await.operator_context(CATALOG)?;
        let Some(end) = products.last() else { break };
        last = Some(Keyset { at: end.created_at, id: end.id.uuid() });
        for product in &products {
            match format {
                Format::Json => write!(out, "{}\n{}", if count == 0 { "" } else { "," }, object(product)?)?,
                Format::Jsonl => writeln!(out, "{}", object(product)?)?,
                Format::Csv => out.write_all(&line(cells(product)?)?)?,
            }
            count += 1;
        }
        progress.advance(u64::try_from(products.len())?)?;
    }
    if format == Format::Json {
        out.write_all(b"\n]\n")?;
    }
    out.flush()?;
    Ok(count)
}
