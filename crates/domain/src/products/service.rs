//! The use cases of the catalog.

use std::sync::Arc;

use super::{CatalogVersion, NewProduct, Product, ProductEdit, ProductFilter, ProductRepository, ProductSummary};
use crate::accounts::{Admin, Member};
use crate::clock::Clock;
use crate::error::{Error, Resource, Result};
use crate::id::{IdGenerator, ProductId};
use crate::idempotency::{Attempt, Outcome};
use crate::page::{Page, PageRequest};

/// Shows and changes the catalog.
pub struct Products {
    /// Where products are kept.
    pub products: Arc<dyn ProductRepository>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Makes product ids.
    pub ids: Arc<dyn IdGenerator>,
}

/// A product that an administrator is about to change: proof that it exists and that the caller may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ManagedProduct(ProductId);

impl Products {
    /// Which state the catalog is in: as long as it is the same one, every list shows the same.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn version(&self) -> Result<CatalogVersion> {
        self.products.version().await
    }

    /// Returns the products that pass the filter, oldest first. Public.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn list(&self, filter: &ProductFilter, page: PageRequest) -> Result<Page<Product>> {
        self.products.list(filter, page).await
    }

    /// Returns all products in short, oldest first.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn list_short(&self, _: &Member, page: PageRequest) -> Result<Page<ProductSummary>> {
        self.products.list_short(page).await
    }

    /// One product. Public.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none.
    pub async fn get(&self, id: ProductId) -> Result<Product> {
        self.products.find(id).await?.ok_or(Error::NotFound(Resource::Product))
    }

    /// Adds a product.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the SKU is taken, in any letter case; [`Error::NotFound`] when the product was added
    /// before, and is removed.
    pub async fn create(&self, _: &Admin, new: NewProduct, attempt: Attempt) -> Result<Product> {
        if let Some(Outcome::ProductCreated(id)) = attempt.outcome() {
            return self.get(id).await;
        }
        let product = new.into_product(ProductId::new(self.ids.generate()), self.clock.now());
        self.products.create(&product, attempt.id()).await?;
        Ok(product)
    }

    /// Checks that a product exists, before anything of its change is looked at.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none.
    pub async fn managed(&self, _: &Admin, id: ProductId) -> Result<ManagedProduct> {
        self.get(id).await.map(|product| ManagedProduct(product.id))
    }

    /// Changes what is given of a product.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the stock when it is not the sum of the variants'; [`Error::Conflict`] when the SKU is
    /// taken; [`Error::Stale`] when the edit is not meant for the present version; [`Error::NotFound`] when the product
    /// was deleted meanwhile.
    pub async fn update(&self, ManagedProduct(id): ManagedProduct, edit: &ProductEdit) -> Result<Product> {
        self.products.edit(id, edit, self.clock.now()).await
    }

    /// Removes a product.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none.
    pub async fn delete(&self, _: &Admin, id: ProductId) -> Result<()> {
        self.products.delete(id).await
    }
}
