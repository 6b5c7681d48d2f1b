//! Taking over many products at once, each by its SKU.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::Arc;

use super::{CatalogSnapshot, Product, ProductEdit, Sku};
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, FieldErrors, FieldName, Result, Violation, ViolationKind};
use crate::id::{IdGenerator, ProductId};

/// Where a row is in its file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowPosition {
    /// Which row it is, counted from 1. The names of columns are no row.
    pub row: u64,
    /// The line that it begins on, counted from 1.
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
    /// Where it is.
    pub at: RowPosition,
    /// What it gives.
    pub edit: ProductEdit,
    /// What is invalid in it, to be reported together with what the rules find.
    pub errors: FieldErrors,
}

/// A row that cannot be taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedRow {
    /// Where it is.
    pub at: RowPosition,
    /// Its SKU, if it has one that can be.
    pub sku: Option<Sku>,
    /// What is wrong with it.
    pub reasons: FieldErrors,
}

/// What a row does to the catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatalogChange {
    /// Adds a product.
    Create(Product),
    /// Puts a product in the place of the one with its id.
    Update(Product),
}

/// What some rows do to the catalog, in their order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ImportPlan {
    /// The changes.
    pub changes: Vec<CatalogChange>,
    /// How many rows change nothing.
    pub unchanged: u64,
    /// The rows that cannot be taken over.
    pub refused: Vec<RefusedRow>,
}

/// One pass over the rows of a file. It remembers the SKUs that it saw, each with its row.
pub struct ImportPass {
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
    seen: HashMap<String, RowPosition>,
}

impl ImportPass {
    /// The most rows that are planned at once.
    pub const MAX_ROWS: usize = 200;

    /// A pass that makes and changes products at the clock's time.
    pub fn new(clock: Arc<dyn Clock>, ids: Arc<dyn IdGenerator>) -> Self {
        Self { clock, ids, seen: HashMap::new() }
    }

    /// Returns what the next rows, [`MAX_ROWS`](Self::MAX_ROWS) at most, do to the catalog. A product with the SKU of a
    /// row, in any letter case, is changed in what the row gives; without one, a product is added. A SKU that an
    /// earlier row of the pass has is refused.
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
        // Of these rows, not of the whole file: the catalog is listed by time, and a place among products of one moment
        // is found by walking through them.
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

    /// Returns what a row does to the product that has its SKU, if there is one.
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
