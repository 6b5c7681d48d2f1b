//! The repository of idempotency attempts.

use agora_domain::Result;
use agora_domain::clock::Timestamp;
use agora_domain::idempotency::{AttemptId, Begun, Fingerprints, IdempotencyRepository, RequestName};
use async_trait::async_trait;

use crate::batches::{BATCH, until_none};
use crate::sql_types::{DbId, DbInstant};
use crate::{Database, call};

#[async_trait]
impl IdempotencyRepository for Database {
    async fn begin(
        &self,
        name: &RequestName,
        fingerprints: Fingerprints,
        attempt: AttemptId,
        now: Timestamp,
    ) -> Result<Begun> {
        let (name, attempt) = (name.clone(), DbId(attempt.uuid()));
        call!(self, write_idempotent idempotency::begin(name, fingerprints, attempt, now))
    }

    async fn abandon(&self, attempt: AttemptId) -> Result<()> {
        call!(self, write_idempotent idempotency::abandon(DbId(attempt.uuid())))
    }

    async fn delete_begun_before(&self, at: Timestamp) -> Result<usize> {
        until_none(|| async move { call!(self, write idempotency::delete_begun_before(DbInstant(at), BATCH)) }).await
    }
}
