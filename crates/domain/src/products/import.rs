//! Taking over many products at once, each by its SKU.

use std::collections::HashMap;
use std::sync::Arc;

use super::{CatalogSnapshot, Product, ProductEdit, Sku};
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, FieldErrors, FieldName, Result, Violation, ViolationKind};
use crate::id::{IdGenerator, ProductId};

/// A row of a file of products.
#[derive(Debug, Clone, Default)]
pub struct ImportRow {
    /// Where it begins, counted from 1.
    pub line: u64,
    /// What it gives.
    pub edit: ProductEdit,
    /// What is invalid in it, to be reported together with what the rules find.
    pub errors: FieldErrors,
}

/// A row that cannot be taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedRow {
    /// Where it begins, counted from 1.
    pub line: u64,
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

/// One pass over the rows of a file. It remembers the SKUs that it saw, each with its line.
pub struct ImportPass {
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
    lines: HashMap<String, u64>,
}

impl ImportPass {
    /// The most rows that are planned at once.
    pub const MAX_ROWS: usize = 200;

    /// A pass that makes and changes products at the clock's time.
    pub fn new(clock: Arc<dyn Clock>, ids: Arc<dyn IdGenerator>) -> Self {
        Self { clock, ids, lines: HashMap::new() }
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
            let key = row.edit.sku.as_ref().map(Sku::key);
            if let (Some(sku), Some(key)) = (&row.edit.sku, key.clone())
                && let Some(line) = self.lines.insert(key.clone(), row.line)
            {
                let message = format!("SKU {} is on line {line} already", sku.as_str());
                row.errors.add(FieldName::Sku, Violation::new(ViolationKind::Duplicate, message));
                self.lines.insert(key, line);
            }
            named.push((key, row));
        }
        let keys: Vec<String> = named.iter().filter_map(|(key, _)| key.clone()).collect();
        let stored = if keys.is_empty() { Vec::new() } else { catalog.find_by_sku(keys).await? };
        let stored: HashMap<String, Product> = stored.into_iter().map(|product| (product.sku.key(), product)).collect();
        // Of these rows, not of the whole file: the catalog is listed by time, and a place among products of one moment
        // is found by walking through them.
        let at = self.clock.now();
        let mut plan = ImportPlan::default();
        for (key, row) in named {
            match self.change(key.and_then(|key| stored.get(&key)), row.edit, row.errors, at) {
                Ok(Some(change)) => plan.changes.push(change),
                Ok(None) => plan.unchanged += 1,
                Err(Error::Invalid(reasons)) => plan.refused.push(RefusedRow { line: row.line, reasons }),
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
