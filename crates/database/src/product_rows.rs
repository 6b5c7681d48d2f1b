//! The rows of the catalog, and their conversion to products and back.

use std::collections::HashMap;

use agora_domain::Error;
use agora_domain::error::Violation;
use agora_domain::products::{
    Category, Color, Description, ImageUrl, Price, Product, ProductName, Size, Sku, Stock, Variant,
};
use agora_domain::search::{IndexedText, Kind};

use crate::error::{Failure, Outcome};
use crate::schema::{ImageRow, ProductRow, VariantRow};
use crate::search_index::TextRow;
use crate::sql_types::{DbId, DbInstant};

/// The rows of some products with their variants and images, all in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProductRows {
    pub(crate) products: Vec<ProductRow>,
    pub(crate) variants: Vec<VariantRow>,
    pub(crate) images: Vec<ImageRow>,
    /// The texts for the search index; empty for products that were read.
    pub(crate) texts: Vec<TextRow>,
}

impl ProductRows {
    pub(crate) fn of_all(products: &[Product]) -> Self {
        products.iter().map(Self::of).fold(Self::default(), |mut all, rows| {
            all.products.extend(rows.products);
            all.variants.extend(rows.variants);
            all.images.extend(rows.images);
            all.texts.extend(rows.texts);
            all
        })
    }

    pub(crate) fn of(product: &Product) -> Self {
        let product_id = DbId(product.id.uuid());
        let row = ProductRow {
            id: product_id,
            sku: product.sku.as_str().to_owned(),
            sku_key: product.sku.key(),
            name: product.name.as_str().to_owned(),
            description: product.description.as_str().to_owned(),
            price: product.price.hundredths(),
            category: product.category.as_str().to_owned(),
            category_key: product.category.key(),
            stock: product.stock.get(),
            search_key: product.search_key(),
            created_at: DbInstant(product.created_at),
            updated_at: DbInstant(product.updated_at),
        };
        let variant = |(position, variant): (i32, &Variant)| VariantRow {
            product_id,
            position,
            color: variant.color.as_str().to_owned(),
            size: variant.size.as_str().to_owned(),
            stock: variant.stock.get(),
        };
        let image = |(position, url): (i32, &ImageUrl)| ImageRow { product_id, position, url: url.as_str().to_owned() };
        let text = TextRow::new(Kind::Product, product_id, row.created_at, &IndexedText::of_product(product));
        Self {
            products: vec![row],
            texts: vec![text],
            variants: (0..).zip(&product.variants).map(variant).collect(),
            images: (0..).zip(&product.images).map(image).collect(),
        }
    }

    /// Assembles the products, each with its variants and images.
    pub(crate) fn products(self) -> Outcome<Vec<Product>> {
        let mut variants: HashMap<DbId, Vec<Variant>> = HashMap::new();
        for row in self.variants {
            let variant = Variant {
                color: Color::restore(row.color),
                size: Size::restore(row.size),
                stock: Stock::parse(row.stock.into()).map_err(corrupt)?,
            };
            variants.entry(row.product_id).or_default().push(variant);
        }
        let mut images: HashMap<DbId, Vec<ImageUrl>> = HashMap::new();
        for row in self.images {
            images.entry(row.product_id).or_default().push(ImageUrl::restore(row.url));
        }
        let product = |row: ProductRow| {
            Ok(Product {
                id: row.id.0.into(),
                sku: Sku::restore(row.sku),
                name: ProductName::restore(row.name),
                description: Description::restore(row.description),
                price: price(row.price)?,
                category: Category::restore(row.category),
                stock: Stock::parse(row.stock.into()).map_err(corrupt)?,
                variants: variants.remove(&row.id).unwrap_or_default(),
                images: images.remove(&row.id).unwrap_or_default(),
                created_at: row.created_at.0,
                updated_at: row.updated_at.0,
            })
        };
        self.products.into_iter().map(product).collect()
    }
}

pub(crate) fn price(hundredths: i64) -> Outcome<Price> {
    Price::from_hundredths(hundredths).map_err(corrupt)
}

/// Returns the error for a stored number that is out of bounds, which something other than this program has written.
fn corrupt(violation: Violation) -> Failure {
    Failure::Rule(Error::internal(format!("the database holds an invalid product: {violation}")))
}
