//! The record of requests that may be sent again.

use agora_domain::Result;
use agora_domain::clock::Timestamp;
use agora_domain::idempotency::{AttemptId, Begun, Fingerprints, IdempotencyRepository, RequestName};
use async_trait::async_trait;

use crate::sql_types::{DbId, DbInstant};
use crate::{Database, call};

/// How many records are deleted at once, so that other writes, and the time of a statement, do not suffer from many.
const BATCH: i64 = 1_000;

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
        call!(self, write_again idempotency::begin(name, fingerprints, attempt, now))
    }

    async fn abandon(&self, attempt: AttemptId) -> Result<()> {
        call!(self, write_again idempotency::abandon(DbId(attempt.uuid())))
    }

    async fn delete_begun_before(&self, at: Timestamp) -> Result<usize> {
        let mut deleted = 0;
        loop {
            let batch = call!(self, write idempotency::delete_begun_before(DbInstant(at), BATCH))?;
            deleted += batch;
            if batch == 0 {
                return Ok(deleted);
            }
        }
    }
}
