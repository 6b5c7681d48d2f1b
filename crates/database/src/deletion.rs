//! The repository of deletions.

use agora_domain::Result;
use agora_domain::accounts::ConfirmedPassword;
use agora_domain::clock::Timestamp;
use agora_domain::deletion::{DeletionRepository, Erased, ErasurePosition};
use agora_domain::id::UserId;
use agora_domain::media::ImageKey;
use async_trait::async_trait;

use crate::batches::{BATCH, until_none};
use crate::rows::image_key;
use crate::sql_types::{DbId, DbInstant};
use crate::{Database, call};

#[async_trait]
impl DeletionRepository for Database {
    async fn delete(&self, account: &ConfirmedPassword, at: Timestamp) -> Result<Option<ImageKey>> {
        let account = account.clone();
        let picture = call!(self, write deletion::delete(account, DbInstant(at)))?;
        Ok(image_key(picture)?)
    }

    async fn next_unerased(&self) -> Result<Option<UserId>> {
        Ok(call!(self, read deletion::next_unerased())?.map(|user| user.0.into()))
    }

    async fn erase(&self, user: UserId, from: ErasurePosition, at: Timestamp) -> Result<Erased> {
        call!(self, write deletion::erase(DbId(user.uuid()), from, DbInstant(at)))
    }

    async fn forget_names(&self, now: Timestamp) -> Result<usize> {
        until_none(|| async move { call!(self, write kept_names::forget(DbInstant(now), BATCH)) }).await
    }
}
