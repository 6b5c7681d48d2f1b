//! Parsing and validating the fields of a product.

use super::{Color, ImageUrl, NewProduct, ProductEdit, Size, Stock, Variant};
use crate::error::{FieldErrors, FieldName, Result, Violation, ViolationKind};

/// The fields of a variant as a client sent them, not yet parsed.
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

impl ProductEdit {
    /// Returns the new product with these values. SKU, name, price, category and, without variants, stock are required. `errors`
    /// are the violations found so far while parsing.
    ///
    /// # Errors
    /// Every invalid or missing field.
    pub fn into_new(mut self, mut errors: FieldErrors) -> Result<NewProduct, FieldErrors> {
        let has_variants =
            errors.contains(FieldName::Variants) || self.variants.as_ref().is_some_and(|all| !all.is_empty());
        let required = [
            (FieldName::Sku, "SKU is required", self.sku.is_none()),
            (FieldName::Name, "Name is required", self.name.is_none()),
            (FieldName::Price, "Price is required", self.price.is_none()),
            (FieldName::Category, "Category is required", self.category.is_none()),
            (FieldName::Stock, "Stock is required", self.stock.is_none() && !has_variants),
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
            errors.check(FieldName::Stock, Stock::of_variants(&variants, self.stock))
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
