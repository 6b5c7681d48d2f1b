//! The fields of a product as a client sends them, and how they become a product.

use super::{
    Category, Color, Description, ImageUrl, NewProduct, Price, ProductEdit, ProductName, Size, Sku, Stock, Variant,
};
use crate::error::{FieldErrors, Result, Violation, ViolationKind};
use crate::version::Versions;

/// The fields of a product that were sent, not yet parsed. What is `None` was not sent.
#[derive(Debug, Clone, Default)]
pub struct ProductFields {
    /// The SKU.
    pub sku: Option<String>,
    /// The name.
    pub name: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The price, as the literal that was sent.
    pub price: Option<String>,
    /// The category.
    pub category: Option<String>,
    /// The stock.
    pub stock: Option<i64>,
    /// The variants.
    pub variants: Option<Vec<VariantFields>>,
    /// The addresses of the images.
    pub images: Option<Vec<String>>,
}

/// The fields of a variant that were sent, not yet parsed.
#[derive(Debug, Clone, Default)]
pub struct VariantFields {
    /// The color.
    pub color: Option<String>,
    /// The size.
    pub size: Option<String>,
    /// The stock; required.
    pub stock: Option<i64>,
}

fn stock_required() -> Violation {
    Violation::new(ViolationKind::Required, "Stock is required")
}

impl Variant {
    /// Parses the variants of a product. A violation names the entry, counted from 1.
    ///
    /// # Errors
    /// The first violation, in words for the client.
    pub fn parse_all(given: Vec<VariantFields>) -> Result<Vec<Self>, Violation> {
        parse_entries(given, |fields| {
            Ok(Self {
                color: Color::parse(fields.color.as_deref().unwrap_or_default())?,
                size: Size::parse(fields.size.as_deref().unwrap_or_default())?,
                stock: Stock::parse(fields.stock.ok_or_else(stock_required)?)?,
            })
        })
    }
}

impl ImageUrl {
    /// Parses the addresses of a product's images. A violation names the entry, counted from 1.
    ///
    /// # Errors
    /// The first violation, in words for the client.
    pub fn parse_all(given: Vec<String>) -> Result<Vec<Self>, Violation> {
        parse_entries(given, |url| Self::parse(&url))
    }
}

fn parse_entries<T, U>(given: Vec<T>, parse: impl Fn(T) -> Result<U, Violation>) -> Result<Vec<U>, Violation> {
    let named = |(i, entry)| {
        parse(entry).map_err(|violation| Violation::new(violation.kind(), format!("{violation} (entry {})", i + 1)))
    };
    given.into_iter().enumerate().map(named).collect()
}

impl ProductFields {
    /// Returns the change that these fields ask for.
    ///
    /// # Errors
    /// Every invalid field.
    pub fn into_edit(self) -> Result<ProductEdit, FieldErrors> {
        let mut errors = FieldErrors::default();
        let edit = self.check(&mut errors);
        if errors.is_empty() { Ok(edit) } else { Err(errors) }
    }

    /// Returns the new product that these fields describe.
    ///
    /// # Errors
    /// Every invalid or missing field.
    pub fn into_new(self) -> Result<NewProduct, FieldErrors> {
        let mut errors = FieldErrors::default();
        self.check(&mut errors).into_new(errors)
    }

    fn check(self, errors: &mut FieldErrors) -> ProductEdit {
        ProductEdit {
            sku: errors.check_given("sku", self.sku.as_deref(), Sku::parse),
            name: errors.check_given("name", self.name.as_deref(), ProductName::parse),
            description: errors.check_given("description", self.description.as_deref(), Description::parse),
            price: errors.check_given("price", self.price.as_deref(), Price::parse),
            category: errors.check_given("category", self.category.as_deref(), Category::parse),
            stock: errors.check_given("stock", self.stock, Stock::parse),
            variants: errors.check_given("variants", self.variants, Variant::parse_all),
            images: errors.check_given("images", self.images, ImageUrl::parse_all),
            versions: Versions::Any,
        }
    }
}

impl ProductEdit {
    /// Returns the new product that these values make, of which those in `errors` are invalid. `sku`, `name`, `price`,
    /// `category` and, without variants, `stock` are required.
    ///
    /// # Errors
    /// Every invalid or missing field.
    pub fn into_new(mut self, mut errors: FieldErrors) -> Result<NewProduct, FieldErrors> {
        let has_variants = errors.contains("variants") || self.variants.as_ref().is_some_and(|all| !all.is_empty());
        let required = [
            ("sku", "SKU is required", self.sku.is_none()),
            ("name", "Name is required", self.name.is_none()),
            ("price", "Price is required", self.price.is_none()),
            ("category", "Category is required", self.category.is_none()),
            ("stock", "Stock is required", self.stock.is_none() && !has_variants),
        ];
        for (field, message, is_missing) in required {
            if is_missing && !errors.contains(field) {
                errors.add(field, Violation::new(ViolationKind::Required, message));
            }
        }
        let variants = self.variants.take().unwrap_or_default();
        let stock = if variants.is_empty() {
            self.stock
        } else {
            errors.check("stock", Stock::of_variants(&variants, self.stock))
        };
        match (self.sku, self.name, self.price, self.category, stock) {
            (Some(sku), Some(name), Some(price), Some(category), Some(stock)) if errors.is_empty() => {
                let description = self.description.unwrap_or_default();
                let images = self.images.unwrap_or_default();
                Ok(NewProduct { sku, name, description, price, category, stock, variants, images })
            }
            _ => Err(errors),
        }
    }
}
