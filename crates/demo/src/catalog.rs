//! Generates the product catalog.

use agora_domain::clock::Timestamp;
use agora_domain::products::{
    self, Description, NewProduct, Price, Product, ProductName, Sku, Stock, Variant, VariantFields,
};
use anyhow::Result;
use rand::RngExt;
use rand::rngs::StdRng;

use super::network::{JOINS_UNTIL, START, new_id, nth_instant};

/// How many products there are.
pub(super) const PRODUCTS: usize = 200;

const KINDS: [&str; 10] =
    ["Classic", "Nordic", "Compact", "Handmade", "Travel", "Organic", "Vintage", "Light", "Everyday", "Grand"];

const SIZES: [&str; 4] = ["S", "M", "L", "XL"];
const COLORS: [&str; 6] = ["black", "white", "red", "forest green", "navy", "sand"];

/// A category: its name, the prefix of its SKUs, its products, the range of prices in hundredths, and whether products have
/// sizes.
type Category = (&'static str, &'static str, [&'static str; 5], (i64, i64), bool);

const CATEGORIES: [Category; 8] = [
    ("Books", "BOK", ["Novel", "Atlas", "Cookbook", "Diary", "Guide"], (590, 4_990), false),
    ("Clothing", "CLO", ["Jacket", "Shirt", "Scarf", "Jumper", "Rain coat"], (1_290, 18_900), true),
    ("Kitchen", "KIT", ["Kettle", "Pan", "Bread knife", "Coffee mill", "Bowl"], (790, 24_900), false),
    ("Garden", "GAR", ["Spade", "Lantern", "Bench", "Seed box", "Watering can"], (490, 39_900), false),
    ("Music", "MUS", ["Ukulele", "Metronome", "Record", "Songbook", "Drum"], (990, 59_900), false),
    ("Outdoor", "OUT", ["Tent", "Backpack", "Flask", "Head lamp", "Sleeping bag"], (1_490, 44_900), false),
    ("Shoes", "SHO", ["Boots", "Sandals", "Trainers", "Slippers", "Clogs"], (2_490, 21_900), true),
    ("Toys", "TOY", ["Kite", "Puzzle", "Train set", "Marbles", "Card game"], (390, 12_900), false),
];

/// Returns the products, oldest first.
pub(super) fn products(random: &mut StdRng) -> Result<Vec<Product>> {
    let product = |number: usize| {
        let at = nth_instant(START, JOINS_UNTIL, number as u64, PRODUCTS as u64);
        let product = new_product(number, random)?;
        Ok(product.into_product(new_id(at, random).into(), Timestamp::from_unix_millis(at)))
    };
    (0..PRODUCTS).map(product).collect()
}

fn new_product(number: usize, random: &mut StdRng) -> Result<NewProduct> {
    let (name, code, things, prices, has_sizes) = CATEGORIES[number % CATEGORIES.len()];
    // A category uses every pair of product and kind before it repeats one.
    let nth = number / CATEGORIES.len();
    let (thing, kind) = (things[nth % things.len()], KINDS[nth / things.len() % KINDS.len()]);
    let hundredths = random.random_range(prices.0..prices.1);
    let color = COLORS[random.random_range(0..COLORS.len())];
    let variants = SIZES.map(|size| VariantFields {
        color: Some(color.to_owned()),
        size: Some(size.to_owned()),
        stock: Some(random.random_range(0..40)),
    });
    let variants = if has_sizes { Variant::parse_all(variants.into())? } else { Vec::new() };
    let description = format!("{thing} of our {} range, in {color}. Made to be used for years.", kind.to_lowercase());
    Ok(NewProduct {
        sku: Sku::parse(&format!("{code}-{:04}", nth + 1))?,
        name: ProductName::parse(&format!("{kind} {}", thing.to_lowercase()))?,
        description: Description::parse(&description)?,
        price: Price::from_hundredths(hundredths)?,
        category: products::Category::parse(name)?,
        stock: match has_sizes {
            true => Stock::of_variants(&variants, None)?,
            false => Stock::parse(random.random_range(0..300))?,
        },
        variants,
        images: Vec::new(),
    })
}
