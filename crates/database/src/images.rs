//! Which images are named by a row.

use std::collections::HashSet;

use agora_domain::{
    Result,
    media::{ImageKey, ImageReferences},
};
use async_trait::async_trait;

use crate::{Database, read};

#[async_trait]
impl ImageReferences for Database {
    async fn referenced(&self, keys: &[ImageKey]) -> Result<HashSet<ImageKey>> {
        let texts: Vec<String> = keys.iter().map(|key| key.as_str().to_owned()).collect();
        let found = read!(self, images::referenced(texts))?;
        Ok(found.into_iter().flatten().filter_map(|text| ImageKey::parse(&text)).collect())
    }
}
