//! What the catalog use cases need of an adapter.

use async_trait::async_trait;

use super::{Price, Product, ProductEdit, ProductFilter, ProductName};
use crate::{
    clock::Timestamp,
    error::Result,
    id::ProductId,
    idempotency::Once,
    page::{Page, PageRequest},
};

/// A product in the short listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductSummary {
    /// Names it.
    pub id: ProductId,
    /// Its name.
    pub name: ProductName,
    /// Its price.
    pub price: Price,
}

/// Keeps the catalog. Each method is one atomic change or one consistent read. Lists run oldest first.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ProductRepository: Send + Sync {
    /// Adds a product. MUST fail with [`Conflict::Sku`](crate::error::Conflict) when another one has the same
    /// [`Sku::key`](super::Sku::key), however many try at once; so must [`edit`](Self::edit).
    async fn create(&self, product: &Product, once: Option<Once<()>>) -> Result<()>;

    /// The product; `None` when there is none.
    async fn find(&self, id: ProductId) -> Result<Option<Product>>;

    /// The products that pass the filter.
    async fn list(&self, filter: &ProductFilter, page: PageRequest) -> Result<Page<Product>>;

    /// All products, in short.
    async fn list_short(&self, page: PageRequest) -> Result<Page<ProductSummary>>;

    /// Applies [`Product::apply`] to the stored product and returns it; `None` when there is none.
    async fn edit(&self, id: ProductId, edit: &ProductEdit, at: Timestamp) -> Result<Option<Product>>;

    /// Deletes a product; `None` when there is none.
    async fn delete(&self, id: ProductId) -> Result<Option<()>>;
}
