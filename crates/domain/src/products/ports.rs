//! The ports of the catalog use cases.

use async_trait::async_trait;

use super::{CatalogChange, CatalogVersion, Price, Product, ProductEdit, ProductFilter, ProductName};
use crate::audit::AuditEntry;
use crate::error::Result;
use crate::id::ProductId;
use crate::idempotency::AttemptId;
use crate::page::{Keyset, Page, PageRequest};

/// A product in the short list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductSummary {
    /// The unique identifier.
    pub id: ProductId,
    /// Its name.
    pub name: ProductName,
    /// Its price.
    pub price: Price,
}

/// Stores the catalog. Each method is one atomic change or one consistent read. Lists are sorted oldest first.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ProductRepository: Send + Sync {
    /// Adds a product. This and [`edit`](Self::edit) MUST fail with [`Conflict::Sku`](crate::error::Conflict) when another
    /// product has the same [`Sku::key`](super::Sku::key), also among concurrent calls. Each change records `entry`.
    async fn create(&self, product: &Product, entry: &AuditEntry, attempt: Option<AttemptId>) -> Result<()>;

    /// Returns the product; `None` when there is none.
    async fn find(&self, id: ProductId) -> Result<Option<Product>>;

    /// Returns the version of the catalog. Each change of any product MUST give it a new value that it never had before.
    async fn version(&self) -> Result<CatalogVersion>;

    /// Returns the products that pass the filter.
    async fn list(&self, filter: &ProductFilter, page: PageRequest) -> Result<Page<Product>>;

    /// Returns summaries of all products.
    async fn list_short(&self, page: PageRequest) -> Result<Page<ProductSummary>>;

    /// Applies [`Product::apply`] to the stored product and returns it; `entry` is not recorded if nothing changes.
    ///
    /// This and [`delete`](Self::delete) MUST fail with [`Error::NotFound`](crate::Error::NotFound) when there is no such
    /// product.
    async fn edit(&self, id: ProductId, edit: &ProductEdit, entry: &AuditEntry) -> Result<Product>;

    /// Deletes a product.
    async fn delete(&self, id: ProductId, entry: &AuditEntry) -> Result<()>;
}

/// The whole catalog as of one moment.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait CatalogSnapshot: Send {
    /// Returns the products whose [`Sku::key`](super::Sku::key) is one of `keys`, a few hundred at most, in any order.
    async fn find_by_sku(&mut self, keys: Vec<String>) -> Result<Vec<Product>>;

    /// Returns up to `limit` products after a position, oldest first; without a position, from the first product on. An empty
    /// list means that there are no more.
    async fn after(&mut self, position: Option<Keyset>, limit: usize) -> Result<Vec<Product>>;
}

/// A transaction on the whole catalog. Its reads see its own changes. Dropping it without a commit rolls everything back.
#[async_trait]
pub trait CatalogTransaction: CatalogSnapshot {
    /// Makes changes, a few hundred at most. MUST fail with [`Conflict::Sku`](crate::error::Conflict) when an added product has
    /// the SKU of another; after that, the transaction can only be dropped.
    async fn store(&mut self, changes: Vec<CatalogChange>) -> Result<()>;

    /// Records `entry`, if there is one, and commits all changes.
    async fn commit(self: Box<Self>, entry: Option<AuditEntry>) -> Result<()>;
}

/// Stores the catalog, for long operations on all of it. Reads by others go on meanwhile.
#[async_trait]
pub trait Catalog: Send + Sync {
    /// Opens a snapshot of the catalog as it is now.
    async fn snapshot(&self) -> Result<Box<dyn CatalogSnapshot>>;

    /// Begins a transaction. Nobody else can change the catalog until it ends.
    async fn change(&self) -> Result<Box<dyn CatalogTransaction>>;
}
