//! The fields of a product as a client sends them, and how they become a product.

use super::{
    Category, Color, Description, ImageUrl, NewProduct, Price, ProductEdit, ProductName, Size, Sku, Stock, Variant,
};
use crate::{
    error::{FieldErrors, Result, Violation},
    version::Versions,
};

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

impl VariantFields {
    fn parse(self) -> Result<Variant, Violation> {
        Ok(Variant {
            color: Color::parse(self.color.as_deref().unwrap_or_default())?,
            size: Size::parse(self.size.as_deref().unwrap_or_default())?,
            stock: Stock::parse(self.stock.ok_or("Stock is required")?)?,
        })
    }
}

/// Parses each entry; a violation names the entry, counted from 1.
fn entries<T, U>(given: Vec<T>, parse: impl Fn(T) -> Result<U, Violation>) -> Result<Vec<U>, Violation> {
    let parse = |(i, entry)| parse(entry).map_err(|violation| format!("{violation} (entry {})", i + 1).into());
    given.into_iter().enumerate().map(parse).collect()
}

impl ProductFields {
    /// The change these fields ask for.
    ///
    /// # Errors
    /// Every invalid field.
    pub fn into_edit(self) -> Result<ProductEdit, FieldErrors> {
        let mut errors = FieldErrors::default();
        let edit = self.check(&mut errors);
        if errors.is_empty() { Ok(edit) } else { Err(errors) }
    }

    /// The new product these fields describe. `sku`, `name`, `price`, `category` and, without variants, `stock` are
    /// required.
    ///
    /// # Errors
    /// Every invalid or missing field.
    pub fn into_new(self) -> Result<NewProduct, FieldErrors> {
        let mut errors = FieldErrors::default();
        let required = [
            ("sku", "SKU is required", self.sku.is_none()),
            ("name", "Name is required", self.name.is_none()),
            ("price", "Price is required", self.price.is_none()),
            ("category", "Category is required", self.category.is_none()),
            ("stock", "Stock is required", self.stock.is_none() && self.variants.as_ref().is_none_or(Vec::is_empty)),
        ];
        for (field, message, _) in required.into_iter().filter(|(.., missing)| *missing) {
            errors.add(field, message);
        }
        let mut edit = self.check(&mut errors);
        let variants = edit.variants.take().unwrap_or_default();
        let stock = if variants.is_empty() {
            edit.stock
        } else {
            errors.check("stock", Stock::of_variants(&variants, edit.stock))
        };
        match (edit.sku, edit.name, edit.price, edit.category, stock) {
            (Some(sku), Some(name), Some(price), Some(category), Some(stock)) if errors.is_empty() => {
                let description = edit.description.unwrap_or_default();
                let images = edit.images.unwrap_or_default();
                Ok(NewProduct { sku, name, description, price, category, stock, variants, images })
            }
            _ => Err(errors),
        }
    }

    fn check(self, errors: &mut FieldErrors) -> ProductEdit {
        ProductEdit {
            sku: errors.check_given("sku", self.sku.as_deref(), Sku::parse),
            name: errors.check_given("name", self.name.as_deref(), ProductName::parse),
            description: errors.check_given("description", self.description.as_deref(), Description::parse),
            price: errors.check_given("price", self.price.as_deref(), Price::parse),
            category: errors.check_given("category", self.category.as_deref(), Category::parse),
            stock: errors.check_given("stock", self.stock, Stock::parse),
            variants: errors.check_given("variants", self.variants, |given| entries(given, VariantFields::parse)),
            images: errors.check_given("images", self.images, |given| entries(given, |url| ImageUrl::parse(&url))),
            versions: Versions::Any,
        }
    }
}
