//! Products, and the rules about them.

use std::fmt;

use uuid::Uuid;

use crate::clock::Timestamp;
use crate::error::ViolationKind::{InvalidFormat, Mismatch, OutOfRange};
use crate::error::{Error, FieldName, Result, Violation};
use crate::id::ProductId;
use crate::text;
use crate::text::text_types;
use crate::version::{Versions, next_version};

text_types! {
    /// A stock keeping unit: 1 to 64 characters, unique in any letter case.
    Sku(64, required "SKU");
    /// A product's name: 1 to 200 characters.
    ProductName(200, required "Name");
    /// A product's description: up to 5,000 characters, possibly none.
    #[derive(Default)]
    Description(5000, trimmed "Description");
    /// A product's category: 1 to 100 characters, compared in any letter case.
    Category(100, required "Category");
    /// A variant's color: up to 100 characters, possibly none.
    Color(100, trimmed "Color");
    /// A variant's size: up to 100 characters, possibly none.
    Size(100, trimmed "Size");
    /// The address of a product image: an absolute `http` or `https` URL of at most 2,048 characters.
    ImageUrl(2048);
}

impl Sku {
    /// Returns the form in which SKUs must be unique: equal for SKUs that differ in letter case only.
    pub fn key(&self) -> String {
        text::fold(&self.0)
    }
}

impl Category {
    /// Returns the form in which categories are compared: equal for those that differ in letter case only.
    pub fn key(&self) -> String {
        text::fold(&self.0)
    }
}

/// An exact price in hundredths of the currency's unit: 0 to under 10^12 units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Price(i64);

impl Price {
    /// The exclusive upper bound, in hundredths.
    const LIMIT: i64 = 100_000_000_000_000;

    /// Parses a decimal literal such as `19.90`, without rounding through floating point.
    ///
    /// # Errors
    /// The violation, in words for the client.
    pub fn parse(literal: &str) -> Result<Self, Violation> {
        let is_out_of_range = literal.parse::<f64>().is_ok_and(|price| !(0.0..1e12).contains(&price));
        let kind = if is_out_of_range { OutOfRange } else { InvalidFormat };
        let message = "Price must be a number with at most two decimals, 0 to under 10^12";
        let violation = || Violation::new(kind, message);
        let (units, decimals) = literal.split_once('.').unwrap_or((literal, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let significant = decimals.trim_end_matches('0');
        if !digits(units) || !digits(decimals) || units.len() > 12 || significant.len() > 2 {
            return Err(violation());
        }
        let number = |text: &str| text.parse::<i64>().map_err(|_| violation());
        let hundredths = number(&format!("{significant:0<2}"))?;
        Self::from_hundredths(number(units)? * 100 + hundredths)
    }

    /// Returns the price of `hundredths` of a unit.
    ///
    /// # Errors
    /// The violation, when it is out of bounds.
    pub fn from_hundredths(hundredths: i64) -> Result<Self, Violation> {
        if (0..Self::LIMIT).contains(&hundredths) {
            Ok(Self(hundredths))
        } else {
            Err(Violation::new(OutOfRange, "Price must be 0 to under 10^12"))
        }
    }

    /// Returns the price in hundredths of a unit.
    pub const fn hundredths(self) -> i64 {
        self.0
    }
}

/// Formats the price as a decimal literal with two decimals.
impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.0 / 100, self.0 % 100)
    }
}

/// The number of pieces in stock: 0 to 2,147,483,647.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Stock(i32);

impl Stock {
    /// Parses what a client sent.
    ///
    /// # Errors
    /// The violation, in words for the client.
    pub fn parse(pieces: i64) -> Result<Self, Violation> {
        match i32::try_from(pieces) {
            Ok(pieces @ 0..) => Ok(Self(pieces)),
            _ => Err(Violation::new(OutOfRange, format!("Stock must be 0 to {}", i32::MAX))),
        }
    }

    /// Returns the number of pieces.
    pub const fn get(self) -> i32 {
        self.0
    }

    /// Returns the stock of a product with these variants: the sum of theirs.
    ///
    /// # Errors
    /// The violation, when the sum is out of bounds or differs from `given`.
    pub fn of_variants(variants: &[Variant], given: Option<Self>) -> Result<Self, Violation> {
        let sum = Self::parse(variants.iter().map(|variant| i64::from(variant.stock.0)).sum())?;
        match given {
            Some(given) if given != sum => {
                Err(Violation::new(Mismatch, format!("Stock must be the sum of the variants' stock, {}", sum.0)))
            }
            _ => Ok(sum),
        }
    }
}

impl ImageUrl {
    /// Parses what a client sent.
    ///
    /// # Errors
    /// The violation, in words for the client.
    pub fn parse(url: &str) -> Result<Self, Violation> {
        let url = text::required("Image", url, Self::MAX_CHARS)?;
        let (scheme, host) = url.split_once("://").unwrap_or_default();
        let is_http = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
        let begins_with_host = is_http && host.starts_with(|c: char| c.is_alphanumeric() || c == '[');
        if !begins_with_host || url.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(Violation::new(InvalidFormat, "Image must be an absolute http or https URL"));
        }
        Ok(Self(url))
    }
}

/// One form in which a product is sold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// Its color.
    pub color: Color,
    /// Its size.
    pub size: Size,
    /// The number of pieces in stock.
    pub stock: Stock,
}

/// A product of the catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// The unique identifier.
    pub id: ProductId,
    /// Its stock keeping unit.
    pub sku: Sku,
    /// Its name.
    pub name: ProductName,
    /// Its description.
    pub description: Description,
    /// Its price.
    pub price: Price,
    /// Its category.
    pub category: Category,
    /// How many pieces are there; with variants, the sum of theirs.
    pub stock: Stock,
    /// The forms it is sold in.
    pub variants: Vec<Variant>,
    /// The addresses of its images.
    pub images: Vec<ImageUrl>,
    /// When it was added to the catalog.
    pub created_at: Timestamp,
    /// When it was last changed; at first, when it was added.
    pub updated_at: Timestamp,
}

/// A valid product that is not in the catalog yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewProduct {
    /// Its stock keeping unit.
    pub sku: Sku,
    /// Its name.
    pub name: ProductName,
    /// Its description.
    pub description: Description,
    /// Its price.
    pub price: Price,
    /// Its category.
    pub category: Category,
    /// How many pieces are there; with variants, the sum of theirs.
    pub stock: Stock,
    /// The forms it is sold in.
    pub variants: Vec<Variant>,
    /// The addresses of its images.
    pub images: Vec<ImageUrl>,
}

impl NewProduct {
    /// Returns the product as it enters the catalog.
    pub fn into_product(self, id: ProductId, at: Timestamp) -> Product {
        let Self { sku, name, description, price, category, stock, variants, images } = self;
        let (created_at, updated_at) = (at, at);
        Product { id, sku, name, description, price, category, stock, variants, images, created_at, updated_at }
    }
}

impl Product {
    /// Returns the text that a text filter searches: name, description and SKU, folded by [`text::fold`].
    pub fn search_key(&self) -> String {
        text::fold(&format!("{}\n{}\n{}", self.name.as_str(), self.description.as_str(), self.sku.as_str()))
    }

    /// Returns the product after an edit at `at`.
    ///
    /// # Errors
    /// [`Error::Stale`] when the edit is not meant for this version; [`Error::Invalid`] naming the stock when it is not the
    /// sum of the variants'.
    pub fn apply(mut self, edit: &ProductEdit, at: Timestamp) -> Result<Self> {
        edit.versions.ensure_include(self.updated_at)?;
        let before = self.clone();
        let edit = edit.clone();
        self.sku = edit.sku.unwrap_or(self.sku);
        self.name = edit.name.unwrap_or(self.name);
        self.description = edit.description.unwrap_or(self.description);
        self.price = edit.price.unwrap_or(self.price);
        self.category = edit.category.unwrap_or(self.category);
        self.variants = edit.variants.unwrap_or(self.variants);
        self.images = edit.images.unwrap_or(self.images);
        self.stock = if self.variants.is_empty() {
            edit.stock.unwrap_or(self.stock)
        } else {
            Stock::of_variants(&self.variants, edit.stock)
                .map_err(|violation| Error::field(FieldName::Stock, violation))?
        };
        if self != before {
            self.updated_at = next_version(before.updated_at, at);
        }
        Ok(self)
    }
}

/// An edit of a product; fields that are `None` stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProductEdit {
    /// The new SKU.
    pub sku: Option<Sku>,
    /// The new name.
    pub name: Option<ProductName>,
    /// The new description.
    pub description: Option<Description>,
    /// The new price.
    pub price: Option<Price>,
    /// The new category.
    pub category: Option<Category>,
    /// The new stock.
    pub stock: Option<Stock>,
    /// The new list of variants.
    pub variants: Option<Vec<Variant>>,
    /// The new list of images.
    pub images: Option<Vec<ImageUrl>>,
    /// The versions of the product to which the edit applies.
    pub versions: Versions,
}

/// The version of the catalog, which changes with every change of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogVersion(Uuid);

impl CatalogVersion {
    /// Creates the version with this value.
    pub const fn new(value: Uuid) -> Self {
        Self(value)
    }

    /// Returns the value.
    pub const fn uuid(self) -> Uuid {
        self.0
    }
}

text_types! {
    /// The text of a product filter, in any letter case: 1 to 100 characters, since longer ones would make the search costly.
    SearchText(100, required "Search text");
}

impl SearchText {
    /// Returns the form in which texts are compared: equal for texts that differ in letter case only.
    pub fn key(&self) -> String {
        text::fold(&self.0)
    }
}

/// The filter of a list of products. Both keys are folded by [`text::fold`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProductFilter {
    /// Selects the products of this category, in any letter case.
    pub category_key: Option<String>,
    /// Selects the products with this text in name, description or SKU, in any letter case.
    pub text_key: Option<String>,
}

impl ProductFilter {
    /// Creates the filter; what is `None` does not restrict it.
    pub fn new(category: Option<&Category>, text: Option<&SearchText>) -> Self {
        Self { category_key: category.map(Category::key), text_key: text.map(SearchText::key) }
    }
}
