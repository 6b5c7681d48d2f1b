//! Importing many products at once, each identified by its SKU.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::Arc;

use super::{CatalogSnapshot, Product, ProductEdit, Sku};
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, FieldErrors, FieldName, Result, Violation, ViolationKind};
use crate::id::{IdGenerator, ProductId};

/// The position of a row in its file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowPosition {
    /// The number of the row, counted from 1. The header does not count.
    pub row: u64,
    /// The number of the line on which it begins, counted from 1.
    pub line: u64,
}

impl fmt::Display for RowPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {} (line {})", self.row, self.line)
    }
}

/// A row of a file of products.
#[derive(Debug, Clone, Default)]
pub struct ImportRow {
    /// Its position in the file.
    pub at: RowPosition,
    /// The fields that the row sets.
    pub edit: ProductEdit,
    /// The violations found while parsing it, to be reported together with those that the rules find.
    pub errors: FieldErrors,
}

/// A row that cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedRow {
    /// Its position in the file.
    pub at: RowPosition,
    /// Its SKU, if it has a valid one.
    pub sku: Option<Sku>,
    /// Its violations.
    pub reasons: FieldErrors,
}

/// A change of the catalog that a row makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatalogChange {
    /// Adds a product.
    Create(Product),
    /// Replaces the product with the same id.
    Update(Product),
}

/// The effects of a batch of rows on the catalog, in the order of the rows.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ImportPlan {
    /// The changes.
    pub changes: Vec<CatalogChange>,
    /// The number of rows that change nothing.
    pub unchanged: u64,
    /// The rows that cannot be imported.
    pub refused: Vec<RefusedRow>,
}

/// One pass over the rows of a file. It remembers the SKU of each row, to find duplicates.
pub struct ImportPass {
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
    seen: HashMap<String, RowPosition>,
}

impl ImportPass {
    /// The most rows that one call of [`plan`](Self::plan) takes.
    pub const MAX_ROWS: usize = 200;

    /// Creates a pass over a file. `clock` tells the time of the changes, and `ids` generates the ids of new products.
    pub fn new(clock: Arc<dyn Clock>, ids: Arc<dyn IdGenerator>) -> Self {
        Self { clock, ids, seen: HashMap::new() }
    }

    /// Returns the effects of the next rows, [`MAX_ROWS`](Self::MAX_ROWS) at most, on the catalog.
    ///
    /// If the catalog has a product with the SKU of a row, in any letter case, the row changes the fields that it sets; otherwise
    /// it adds a product. A row with the SKU of an earlier row of the pass is refused.
    ///
    /// # Errors
    /// Those of the catalog.
    pub async fn plan(&mut self, catalog: &mut dyn CatalogSnapshot, rows: Vec<ImportRow>) -> Result<ImportPlan> {
        let mut named = Vec::with_capacity(rows.len());
        for mut row in rows {
            let sku = row.edit.sku.clone();
            if let Some(sku) = &sku {
                match self.seen.entry(sku.key()) {
                    Entry::Vacant(first) => _ = first.insert(row.at),
                    Entry::Occupied(first) => {
                        let message = format!("SKU {} is in {} already", sku.as_str(), first.get());
                        row.errors.add(FieldName::Sku, Violation::new(ViolationKind::Duplicate, message));
                    }
                }
            }
            named.push((sku, row));
        }
        let keys: Vec<String> = named.iter().filter_map(|(sku, _)| Some(sku.as_ref()?.key())).collect();
        let stored = if keys.is_empty() { Vec::new() } else { catalog.find_by_sku(keys).await? };
        let stored: HashMap<String, Product> = stored.into_iter().map(|product| (product.sku.key(), product)).collect();
        // One instant for these rows, not for the whole file: the catalog is listed by time, and a position among products of
        // the same instant is found by walking through them.
        let at = self.clock.now();
        let mut plan = ImportPlan::default();
        for (sku, row) in named {
            let stored = sku.as_ref().and_then(|sku| stored.get(&sku.key()));
            match self.change(stored, row.edit, row.errors, at) {
                Ok(Some(change)) => plan.changes.push(change),
                Ok(None) => plan.unchanged += 1,
                Err(Error::Invalid(reasons)) => plan.refused.push(RefusedRow { at: row.at, sku, reasons }),
                Err(error) => return Err(error),
            }
        }
        Ok(plan)
    }

    /// Returns the change that a row makes, given the stored product with its SKU, if any; `None` if it changes nothing.
    fn change(
        &self,
        stored: Option<&Product>,
        edit: ProductEdit,
        errors: FieldErrors,
        at: Timestamp,
    ) -> Result<Option<CatalogChange>> {
        let Some(stored) = stored else {
            let id = ProductId::new(self.ids.generate());
            return Ok(Some(CatalogChange::Create(edit.into_new(errors)?.into_product(id, at))));
        };
        errors.into_result()?;
        let edited = stored.clone().apply(&edit, at)?;
        Ok((edited != *stored).then_some(CatalogChange::Update(edited)))
    }
}
