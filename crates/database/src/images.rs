//! The images that rows name, and the record of those that none does.

use agora_domain::Result;
use agora_domain::clock::Timestamp;
use agora_domain::id::UserId;
use agora_domain::media::{ImageKey, ImageReferences, UnreferencedImages};
use async_trait::async_trait;

use crate::sql_types::DbInstant;
use crate::{Database, call};

#[async_trait]
impl UnreferencedImages for Database {
    async fn announce(&self, key: &ImageKey, at: Timestamp) -> Result<()> {
        let key = key.as_str().to_owned();
        call!(self, write images::announce(key, DbInstant(at)))
    }

    async fn mark_for_deletion(&self, cutoff: Timestamp, now: Timestamp, limit: usize) -> Result<Vec<ImageKey>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let keys = call!(self, write images::mark_for_deletion(DbInstant(cutoff), DbInstant(now), limit))?;
        Ok(keys.iter().filter_map(|text| ImageKey::parse(text)).collect())
    }

    async fn recorded(&self, keys: &[ImageKey]) -> Result<Vec<ImageKey>> {
        let keys = texts(keys);
        let keys = call!(self, read images::recorded(keys))?;
        Ok(keys.iter().filter_map(|text| ImageKey::parse(text)).collect())
    }

    async fn forget(&self, keys: &[ImageKey]) -> Result<()> {
        let keys = texts(keys);
        call!(self, write images::forget(keys))
    }
}

#[async_trait]
impl ImageReferences for Database {
    async fn named_in(&self, folder: u8) -> Result<Vec<(ImageKey, UserId)>> {
        let named = call!(self, read images::named_in(folder))?;
        Ok(named.iter().filter_map(|(key, owner)| Some((ImageKey::parse(key)?, owner.0.into()))).collect())
    }

    async fn named_of(&self, keys: &[ImageKey]) -> Result<Vec<ImageKey>> {
        let keys = texts(keys);
        let named = call!(self, read images::named_of(keys))?;
        Ok(named.iter().filter_map(|text| ImageKey::parse(text)).collect())
    }
}

fn texts(keys: &[ImageKey]) -> Vec<String> {
    keys.iter().map(|key| key.as_str().to_owned()).collect()
}
