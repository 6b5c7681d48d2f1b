//! Products, and the rules about them.

use std::fmt;

use uuid::Uuid;

use crate::clock::Timestamp;
use crate::error::ViolationKind::{InvalidFormat, Mismatch, OutOfRange};
use crate::error::{Error, FieldName, Result, Violation};
use crate::id::ProductId;
use crate::text;
use crate::text::texts;
use crate::version::{Versions, next_version};

texts! {
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
    /// Returns the form that is unique: equal for SKUs that differ in letter case only.
    pub fn key(&self) -> String {
        text::fold(&self.0)
    }
}

impl Category {
    /// Returns the form that is compared: equal for categories that differ in letter case only.
    pub fn key(&self) -> String {
        text::fold(&self.0)
    }
}

/// An exact price in hundredths of the currency's unit: 0 to under 10^12 units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Price(i64);

impl Price {
    /// The first price that is too high, in hundredths.
    const LIMIT: i64 = 100_000_000_000_000;

    /// Parses a decimal literal such as `19.90`, never by way of floating point.
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

    /// Returns the price of so many hundredths of a unit.
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

/// As a decimal literal with two decimals.
impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.0 / 100, self.0 % 100)
    }
}

/// How many pieces are there: 0 to 2,147,483,647.
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

    /// Returns the rule that the stock of a product with variants is the sum of theirs.
    ///
    /// # Errors
    /// The violation, when the sum is out of bounds or not the number `given`.
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
    /// How many pieces are there.
    pub stock: Stock,
}

/// A product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// Names it.
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
    /// Returns the form in which a text filter finds it: name, description and SKU in the form of [`text::fold`].
    pub fn search_key(&self) -> String {
        text::fold(&format!("{}\n{}\n{}", self.name.as_str(), self.description.as_str(), self.sku.as_str()))
    }

    /// Returns the product after an edit at `at`: what is given changes.
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

/// A change of a product; what is `None` stays.
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
    /// The variants from now on.
    pub variants: Option<Vec<Variant>>,
    /// The images from now on.
    pub images: Option<Vec<ImageUrl>>,
    /// The versions it is meant for.
    pub versions: Versions,
}

/// Names a state of the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogVersion(Uuid);

impl CatalogVersion {
    /// The state with this name.
    pub const fn new(value: Uuid) -> Self {
        Self(value)
    }

    /// Returns the name.
    pub const fn uuid(self) -> Uuid {
        self.0
    }
}

texts! {
    /// A text to look for in products, in any letter case: 1 to 100 characters, since more would make the search costly.
    SearchText(100, required "Search text");
}

impl SearchText {
    /// Returns the form that is compared: equal for texts that differ in letter case only.
    pub fn key(&self) -> String {
        text::fold(&self.0)
    }
}

/// Which products a list shows. Both forms are those of [`text::fold`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProductFilter {
    /// Those of this category, in any letter case.
    pub category_key: Option<String>,
    /// Those with this text in name, description or SKU, in any letter case.
    pub text_key: Option<String>,
}

impl ProductFilter {
    /// The filter for what is given of these.
    pub fn new(category: Option<&Category>, text: Option<&SearchText>) -> Self {
        Self { category_key: category.map(Category::key), text_key: text.map(SearchText::key) }
    }
}
