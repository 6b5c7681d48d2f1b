//! The use cases of requests that are sent again.

use std::sync::Arc;

use super::{Answer, AttemptId, Begun, Fingerprints, IdempotencyRepository, Lookup, Record, RequestName};
use crate::clock::Clock;
use crate::error::{Conflict, Error, Result};
use crate::id::IdGenerator;

/// How a request is to be dealt with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// To be carried out, as this attempt, which must [`finish`](Idempotency::finish) or be
    /// [abandoned](Idempotency::abandon).
    First(AttemptId),
    /// It was before, and was answered so.
    Again(Answer),
}

/// Tells requests that are sent again, and what they were answered.
pub struct Idempotency {
    /// Where they are kept.
    pub records: Arc<dyn IdempotencyRepository>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Makes the identifiers of attempts.
    pub ids: Arc<dyn IdGenerator>,
}

impl Idempotency {
    /// Begins to carry out a request, unless it was before.
    ///
    /// # Errors
    /// [`Error::KeyReused`] when another request had the same name in the last 24 hours;
    /// [`Conflict::Running`] when the same one is under way.
    pub async fn begin(&self, name: &RequestName, fingerprints: Fingerprints) -> Result<Start> {
        let attempt = AttemptId::new(self.ids.generate());
        let begun = self.records.begin(name, fingerprints, attempt, self.clock.now()).await;
        if begun.is_err() {
            // It may be on record all the same, and only the acknowledgement be lost.
            let _ = self.records.abandon(attempt).await;
        }
        match begun? {
            Begun::First => Ok(Start::First(attempt)),
            Begun::Found(Lookup::Answered(answer)) => Ok(Start::Again(answer)),
            Begun::Found(Lookup::Differs) => Err(Error::KeyReused),
            Begun::Found(Lookup::Running) => Err(Error::Conflict(Conflict::Running)),
        }
    }

    /// Remembers the answer to a request that was refused. One that was carried out has stored its answer with what it
    /// wrote.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn finish(&self, attempt: AttemptId, answer: &Answer) -> Result<()> {
        self.records.finish(attempt, answer).await
    }

    /// Forgets a request that failed, so that it can be sent again. If it was carried out all the same, and only the
    /// acknowledgement was lost, its answer stays.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn abandon(&self, attempt: AttemptId) -> Result<()> {
        self.records.abandon(attempt).await
    }

    /// Deletes what is too old to count; returns how many records.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn sweep(&self) -> Result<usize> {
        self.records.delete_begun_before(self.clock.now().plus_millis(-Record::KEPT_MILLIS)).await
    }
}
