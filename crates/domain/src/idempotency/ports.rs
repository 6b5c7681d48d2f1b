//! What the idempotency use cases need of an adapter.

use async_trait::async_trait;

use super::{AttemptId, Fingerprints, Lookup, RequestName};
use crate::clock::Timestamp;
use crate::error::Result;

/// How an attempt began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// It is on record, as the one that is to be carried out.
    First,
    /// It is not: the request met what was on record.
    Found(Lookup),
}

/// Keeps what is known of requests that may be sent again. Each method is one atomic change.
///
/// A repository that takes an attempt with a write MUST store its [`Outcome`](super::Outcome) in the transaction of the
/// write, and MUST write nothing, and fail with [`Error::Unavailable`](crate::Error::Unavailable), when that attempt is
/// not on record any more: another one has taken its place.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait IdempotencyRepository: Send + Sync {
    /// Puts an attempt on record, under its own fingerprint, unless the request meets what is there, as
    /// [`Record::meet`](super::Record::meet) has it; an attempt that is there already is the first as it was. Of attempts that begin at
    /// once, on any node, one is the first. Of one
    /// account, the newest [`Record::MOST_PER_CALLER`](super::Record::MOST_PER_CALLER) that have an outcome stay on record,
    /// or somewhat more.
    async fn begin(
        &self,
        name: &RequestName,
        fingerprints: Fingerprints,
        attempt: AttemptId,
        now: Timestamp,
    ) -> Result<Begun>;

    /// Takes an attempt that has no outcome off the record; nothing happens when it has one, or is not there any more.
    async fn abandon(&self, attempt: AttemptId) -> Result<()>;

    /// Deletes what began before an instant; returns how many records.
    async fn delete_begun_before(&self, at: Timestamp) -> Result<usize>;
}
