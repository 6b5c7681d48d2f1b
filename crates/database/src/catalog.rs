//! Access to the whole catalog in one transaction.

use agora_domain::Result;
use agora_domain::audit::AuditEntry;
use agora_domain::page::Keyset;
use agora_domain::products::{Catalog, CatalogChange, CatalogSnapshot, CatalogTransaction, Product};
use async_trait::async_trait;

use crate::product_rows::ProductRows;
use crate::rows::{Slice, Toward};
use crate::schema::AuditRecord;
use crate::transfer::{Session, run_in};
use crate::{Database, Table};

/// The tables of the catalog.
const TABLES: [Table; 3] = [Table::Products, Table::ProductVariants, Table::ProductImages];

/// A transaction over the catalog.
struct OpenCatalog(Session);

#[async_trait]
impl CatalogSnapshot for OpenCatalog {
    async fn find_by_sku(&mut self, keys: Vec<String>) -> Result<Vec<Product>> {
        Ok(run_in!(&mut self.0, products::find_by_sku(keys))?.products()?)
    }

    async fn after(&mut self, position: Option<Keyset>, limit: usize) -> Result<Vec<Product>> {
        let slice = Slice::new(Toward::Newer, position, limit);
        Ok(run_in!(&mut self.0, products::list(None, slice))?.products()?)
    }
}

#[async_trait]
impl CatalogTransaction for OpenCatalog {
    async fn store(&mut self, changes: Vec<CatalogChange>) -> Result<()> {
        let (mut created, mut updated) = (Vec::new(), Vec::new());
        for change in changes {
            match change {
                CatalogChange::Create(product) => created.push(product),
                CatalogChange::Update(product) => updated.push(product),
            }
        }
        let (created, updated) = (ProductRows::of_all(&created), ProductRows::of_all(&updated));
        run_in!(&mut self.0, products::update(updated))?;
        run_in!(&mut self.0, products::insert(created))
    }

    async fn commit(mut self: Box<Self>, entry: Option<AuditEntry>) -> Result<()> {
        if let Some(entry) = entry.as_ref().map(AuditRecord::of) {
            run_in!(&mut self.0, audit::record(entry))?;
        }
        self.0.commit().await
    }
}

#[async_trait]
impl Catalog for Database {
    async fn snapshot(&self) -> Result<Box<dyn CatalogSnapshot>> {
        Ok(Box::new(OpenCatalog(Session::snapshot(self).await?)))
    }

    async fn change(&self) -> Result<Box<dyn CatalogTransaction>> {
        Ok(Box::new(OpenCatalog(Session::change(self, &TABLES).await?)))
    }
}
