//! What the idempotency use cases need of an adapter.

use async_trait::async_trait;

use super::{AttemptId, Fingerprints, Lookup, RequestName};
use crate::clock::Timestamp;
use crate::error::Result;

/// The result of beginning an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// The attempt was recorded, and is the one to carry out.
    First,
    /// The attempt was not recorded, since this was on record under its name.
    Found(Lookup),
}

/// Stores the records of requests that may be sent again. Each method is one atomic change.
///
/// A repository that is given an attempt with a write MUST store its [`Outcome`](super::Outcome) in the transaction of the
/// write. If the attempt is no longer on record, since another one has replaced it, the repository MUST write nothing and
/// fail with [`Error::Unavailable`](crate::Error::Unavailable).
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait IdempotencyRepository: Send + Sync {
    /// Records an attempt, under its own fingerprint, unless [`Record::lookup`](super::Record::lookup) finds something under the
    /// name. If this very attempt is on record already, as after a lost acknowledgement, it is the first again. Of concurrent
    /// attempts, on any nodes, exactly one is the first. Of one account, the newest
    /// [`Record::MAX_PER_CALLER`](super::Record::MAX_PER_CALLER) records that have an outcome are kept, or somewhat more.
    async fn begin(
        &self,
        name: &RequestName,
        fingerprints: Fingerprints,
        attempt: AttemptId,
        now: Timestamp,
    ) -> Result<Begun>;

    /// Deletes the record of an attempt without an outcome; does nothing if it has one, or is no longer on record.
    async fn abandon(&self, attempt: AttemptId) -> Result<()>;

    /// Deletes the records of attempts that began before an instant; returns how many.
    async fn delete_begun_before(&self, at: Timestamp) -> Result<usize>;
}
