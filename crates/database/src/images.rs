//! The record of the images that no row names.

use agora_domain::{
    Result,
    clock::Timestamp,
    media::{ImageKey, UnnamedImages},
};
use async_trait::async_trait;

use crate::{Database, sql_types::DbInstant, write};

#[async_trait]
impl UnnamedImages for Database {
    async fn announce(&self, key: &ImageKey, at: Timestamp) -> Result<()> {
        let key = key.as_str().to_owned();
        write!(self, images::announce(key, DbInstant(at)))
    }

    async fn condemn(&self, cutoff: Timestamp, now: Timestamp, limit: usize) -> Result<Vec<ImageKey>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let keys = write!(self, images::condemn(DbInstant(cutoff), DbInstant(now), limit))?;
        Ok(keys.iter().filter_map(|text| ImageKey::parse(text)).collect())
    }

    async fn forget(&self, keys: &[ImageKey]) -> Result<()> {
        let keys: Vec<String> = keys.iter().map(|key| key.as_str().to_owned()).collect();
        write!(self, images::forget(keys))
    }
}
