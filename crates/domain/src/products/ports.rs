//! What the catalog use cases need of an adapter.

use async_trait::async_trait;

use super::{CatalogChange, CatalogVersion, Price, Product, ProductEdit, ProductFilter, ProductName};
use crate::audit::AuditEntry;
use crate::error::Result;
use crate::id::ProductId;
use crate::idempotency::AttemptId;
use crate::page::{Keyset, Page, PageRequest};

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
    /// [`Sku::key`](super::Sku::key), however many try at once; so must [`edit`](Self::edit). Each change records `entry`.
    async fn create(&self, product: &Product, entry: &AuditEntry, attempt: Option<AttemptId>) -> Result<()>;

    /// Returns the product; `None` when there is none.
    async fn find(&self, id: ProductId) -> Result<Option<Product>>;

    /// Which state the catalog is in: MUST be another one, never met before, after each change of any product.
    async fn version(&self) -> Result<CatalogVersion>;

    /// Returns the products that pass the filter.
    async fn list(&self, filter: &ProductFilter, page: PageRequest) -> Result<Page<Product>>;

    /// Returns all products, in short.
    async fn list_short(&self, page: PageRequest) -> Result<Page<ProductSummary>>;

    /// Applies [`Product::apply`] to the stored product and returns it; what leaves it as it was is not recorded.
    ///
    /// This and the next one MUST fail with [`Error::NotFound`](crate::Error::NotFound) when there is no such product.
    async fn edit(&self, id: ProductId, edit: &ProductEdit, entry: &AuditEntry) -> Result<Product>;

    /// Deletes a product.
    async fn delete(&self, id: ProductId, entry: &AuditEntry) -> Result<()>;
}

/// The whole catalog as of one moment.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait CatalogSnapshot: Send {
    /// Returns the products whose [`Sku::key`](super::Sku::key) is one of these, a few hundred at most, in any order.
    async fn find_by_sku(&mut self, keys: Vec<String>) -> Result<Vec<Product>>;

    /// Returns the products after a position, oldest first, from the very first one on without; so many at most. None
    /// are left when there is none.
    async fn after(&mut self, position: Option<Keyset>, limit: usize) -> Result<Vec<Product>>;
}

/// A change of the whole catalog. It sees its own changes; nothing of it lasts before it is committed, and dropping it
/// undoes everything.
#[async_trait]
pub trait CatalogTransaction: CatalogSnapshot {
    /// Makes changes, a few hundred at most. MUST fail with [`Conflict::Sku`](crate::error::Conflict) when a product
    /// that is added has the SKU of another; nothing can be done then but to drop it.
    async fn store(&mut self, changes: Vec<CatalogChange>) -> Result<()>;

    /// Records an entry, if there is one, and makes everything last.
    async fn commit(self: Box<Self>, entry: Option<AuditEntry>) -> Result<()>;
}

/// Keeps the catalog, for work on all of it that takes long. What reads goes on meanwhile.
#[async_trait]
pub trait Catalog: Send + Sync {
    /// Returns the catalog as it is now.
    async fn snapshot(&self) -> Result<Box<dyn CatalogSnapshot>>;

    /// Begins to change the catalog. Nobody else can, until it is over.
    async fn change(&self) -> Result<Box<dyn CatalogTransaction>>;
}
