//! The use cases of the catalog.

use std::sync::Arc;

use super::{CatalogVersion, NewProduct, Product, ProductEdit, ProductFilter, ProductRepository, ProductSummary, Sku};
use crate::accounts::{Admin, Member};
use crate::audit::{Action, Actor, AuditEntry, Target};
use crate::clock::Clock;
use crate::error::{Error, Resource, Result};
use crate::id::{IdGenerator, ProductId};
use crate::idempotency::{Attempt, Outcome};
use crate::page::{Page, PageRequest};

/// The use cases of the catalog.
pub struct Products {
    /// Stores products.
    pub products: Arc<dyn ProductRepository>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Makes product ids.
    pub ids: Arc<dyn IdGenerator>,
}

/// Proof that the caller may change this product: it exists, and the caller is an administrator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagedProduct {
    id: ProductId,
    sku: Sku,
    actor: Actor,
}

impl ManagedProduct {
    fn of(product: &Product, admin: &Admin) -> Self {
        Self { id: product.id, sku: product.sku.clone(), actor: Actor::Account(admin.id()) }
    }
}

impl Products {
    /// Returns the version of the catalog. As long as it stays the same, so does every list.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn version(&self) -> Result<CatalogVersion> {
        self.products.version().await
    }

    /// Returns the products that pass the filter, oldest first. Requires no authentication.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn list(&self, filter: &ProductFilter, page: PageRequest) -> Result<Page<Product>> {
        self.products.list(filter, page).await
    }

    /// Returns summaries of all products, oldest first.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn list_short(&self, _: &Member, page: PageRequest) -> Result<Page<ProductSummary>> {
        self.products.list_short(page).await
    }

    /// Returns a product. Requires no authentication.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none.
    pub async fn get(&self, id: ProductId) -> Result<Product> {
        self.products.find(id).await?.ok_or(Error::NotFound(Resource::Product))
    }

    /// Adds a product.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the SKU is taken, in any letter case; [`Error::NotFound`] when an earlier attempt added the
    /// product and it was removed since.
    pub async fn create(&self, admin: &Admin, new: NewProduct, attempt: Attempt) -> Result<Product> {
        if let Some(Outcome::ProductCreated(id)) = attempt.outcome() {
            return self.get(id).await;
        }
        let product = new.into_product(ProductId::new(self.ids.generate()), self.clock.now());
        let entry = self.entry(&ManagedProduct::of(&product, admin), Action::ProductCreated);
        self.products.create(&product, &entry, attempt.id()).await?;
        Ok(product)
    }

    /// Checks that a product exists. Callers do this before they read the change from the request.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none.
    pub async fn managed(&self, admin: &Admin, id: ProductId) -> Result<ManagedProduct> {
        Ok(ManagedProduct::of(&self.get(id).await?, admin))
    }

    /// Changes the fields of a product that are given.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the stock when it is not the sum of the variants'; [`Error::Conflict`] when the SKU is
    /// taken; [`Error::Stale`] when the edit is not meant for the present version; [`Error::NotFound`] when the product
    /// was deleted meanwhile.
    pub async fn update(&self, product: ManagedProduct, edit: &ProductEdit) -> Result<Product> {
        self.products.edit(product.id, edit, &self.entry(&product, Action::ProductUpdated)).await
    }

    /// Removes a product.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none.
    pub async fn delete(&self, admin: &Admin, id: ProductId) -> Result<()> {
        let product = self.managed(admin, id).await?;
        self.products.delete(id, &self.entry(&product, Action::ProductDeleted)).await
    }

    /// Returns the audit entry of an action on a product.
    fn entry(&self, product: &ManagedProduct, action: Action) -> AuditEntry {
        let target = Target::Product(product.id);
        AuditEntry::new(&*self.ids, self.clock.now(), product.actor, action, target).with_details(product.sku.as_str())
    }
}
