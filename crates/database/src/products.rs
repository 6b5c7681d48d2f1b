//! The product repository.

use agora_domain::Result;
use agora_domain::audit::AuditEntry;
use agora_domain::id::ProductId;
use agora_domain::idempotency::{AttemptId, Outcome};
use agora_domain::page::{Keyset, Page, PageRequest};
use agora_domain::products::{
    CatalogVersion, Product, ProductEdit, ProductFilter, ProductName, ProductRepository, ProductSummary,
};
use async_trait::async_trait;

use crate::product_rows::{ProductRows, price};
use crate::rows::{Slice, keyset, page_of};
use crate::schema::AuditRecord;
use crate::sql_types::DbId;
use crate::values::TextFilter;
use crate::{Database, call, once};

#[async_trait]
impl ProductRepository for Database {
    async fn create(&self, product: &Product, entry: &AuditEntry, attempt: Option<AttemptId>) -> Result<()> {
        let (rows, entry) = (ProductRows::of(product), AuditRecord::of(entry));
        let id = product.id;
        once!(self, attempt, write products::create(rows, entry), did given => Outcome::ProductCreated(id))
    }

    async fn find(&self, id: ProductId) -> Result<Option<Product>> {
        Ok(call!(self, read products::find(DbId(id.uuid())))?.products()?.pop())
    }

    async fn version(&self) -> Result<CatalogVersion> {
        Ok(CatalogVersion::new(call!(self, read products::version())?.0))
    }

    async fn list(&self, filter: &ProductFilter, page: PageRequest) -> Result<Page<Product>> {
        let (category, slice) = (filter.category_key.clone(), Slice::oldest_first(page));
        let found = match filter.text_key.as_deref().map(TextFilter::new) {
            // Not on the `list` lane: with hundreds of variants each, products would keep a thread that serves requests busy for
            // long.
            None => call!(self, search_catalog products::list(category, slice)),
            Some(text) => call!(self, search_catalog products::search(category, text, slice)),
        };
        Ok(page.page_of(found?.products()?, |product| Keyset { at: product.created_at, id: product.id.uuid() }))
    }

    async fn list_short(&self, page: PageRequest) -> Result<Page<ProductSummary>> {
        let rows = call!(self, list products::list_short(Slice::oldest_first(page)))?;
        page_of(page, rows, |(at, id, name, hundredths)| {
            let name = ProductName::restore(name);
            Ok((keyset(at, id), ProductSummary { id: id.0.into(), name, price: price(hundredths)? }))
        })
    }

    async fn edit(&self, id: ProductId, edit: &ProductEdit, entry: &AuditEntry) -> Result<Product> {
        let (edit, entry) = (edit.clone(), AuditRecord::of(entry));
        call!(self, write products::edit(DbId(id.uuid()), edit, entry))
    }

    async fn delete(&self, id: ProductId, entry: &AuditEntry) -> Result<()> {
        let entry = AuditRecord::of(entry);
        call!(self, write products::delete(DbId(id.uuid()), entry))
    }
}
