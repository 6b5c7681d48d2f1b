//! The product repository.

use agora_domain::Result;
use agora_domain::clock::Timestamp;
use agora_domain::id::ProductId;
use agora_domain::idempotency::Once;
use agora_domain::page::{Page, PageRequest};
use agora_domain::products::{
    CatalogVersion, Product, ProductEdit, ProductFilter, ProductName, ProductRepository, ProductSummary,
};
use async_trait::async_trait;

use crate::product_rows::{ProductRows, price};
use crate::rows::{Slice, keyset, page_of};
use crate::sql_types::DbId;
use crate::values::{Filter, TextFilter};
use crate::{Database, list, read, write};

#[async_trait]
impl ProductRepository for Database {
    async fn create(&self, product: &Product, once: Option<Once<()>>) -> Result<()> {
        let rows = ProductRows::of(product);
        write!(self, products::insert(rows, once))
    }

    async fn find(&self, id: ProductId) -> Result<Option<Product>> {
        Ok(read!(self, products::find(DbId(id.uuid())))?.products()?.pop())
    }

    async fn version(&self) -> Result<CatalogVersion> {
        Ok(CatalogVersion::new(read!(self, products::version())?.0))
    }

    async fn list(&self, filter: &ProductFilter, page: PageRequest) -> Result<Page<Product>> {
        let filter =
            Filter { category_key: filter.category_key.clone(), text: filter.text_key.as_deref().map(TextFilter::new) };
        let products = list!(self, products::list(filter, Slice::oldest_first(page)))?.products()?;
        Ok(page
            .page_of(products, |product| agora_domain::page::Keyset { at: product.created_at, id: product.id.uuid() }))
    }

    async fn list_short(&self, page: PageRequest) -> Result<Page<ProductSummary>> {
        let rows = list!(self, products::list_short(Slice::oldest_first(page)))?;
        let positioned = rows.into_iter().map(|(at, id, name, hundredths)| {
            let name = ProductName::restore(name);
            Ok((keyset(at, id), ProductSummary { id: id.0.into(), name, price: price(hundredths)? }))
        });
        Ok(page_of(page, positioned.collect::<Result<_>>()?))
    }

    async fn edit(&self, id: ProductId, edit: &ProductEdit, at: Timestamp) -> Result<Option<Product>> {
        let edit = edit.clone();
        write!(self, products::edit(DbId(id.uuid()), edit, at))
    }

    async fn delete(&self, id: ProductId) -> Result<Option<()>> {
        Ok(write!(self, products::delete(DbId(id.uuid())))?.then_some(()))
    }
}
