//! The use cases of requests that are sent again.

use std::sync::Arc;

use super::{Attempt, AttemptId, Begun, Fingerprints, IdempotencyRepository, Lookup, Record, RequestName};
use crate::clock::Clock;
use crate::error::{Conflict, Error, Result};
use crate::id::IdGenerator;

/// Recognizes requests that are sent again.
pub struct Idempotency {
    /// Stores the records of requests.
    pub records: Arc<dyn IdempotencyRepository>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Makes the identifiers of attempts.
    pub ids: Arc<dyn IdGenerator>,
}

impl Idempotency {
    /// Begins an attempt to carry out a request, unless the request was carried out before.
    ///
    /// # Errors
    /// [`Error::KeyReused`] when a different request had the same name in the last 24 hours;
    /// [`Conflict::Running`] when the same one is in progress.
    pub async fn begin(&self, name: &RequestName, fingerprints: Fingerprints) -> Result<Attempt> {
        let attempt = AttemptId::new(self.ids.generate());
        let begun = self.records.begin(name, fingerprints, attempt, self.clock.now()).await;
        if begun.is_err() {
            // The attempt may be on record all the same, if only the acknowledgement was lost.
            let _ = self.records.abandon(attempt).await;
        }
        match begun? {
            Begun::First => Ok(Attempt::First(attempt)),
            Begun::Found(Lookup::Done(outcome)) => Ok(Attempt::Replay(outcome)),
            Begun::Found(Lookup::Differs) => Err(Error::KeyReused),
            Begun::Found(Lookup::Running) => Err(Error::Conflict(Conflict::Running)),
        }
    }

    /// Forgets an attempt that was refused or failed, so that the request can be sent again. If it was carried out after
    /// all, and only the acknowledgement was lost, its outcome stays.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn abandon(&self, attempt: AttemptId) -> Result<()> {
        self.records.abandon(attempt).await
    }

    /// Deletes the records that are too old to count; returns how many.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn sweep(&self) -> Result<usize> {
        self.records.delete_begun_before(self.clock.now().plus_millis(-Record::RETENTION_MILLIS)).await
    }
}
