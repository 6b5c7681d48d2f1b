//! Requests that take effect once, however often a client sends them.
//!
//! A client that does not learn the outcome of a request sends it again, under the same key. The first attempt is recorded
//! before it begins, and its [`Outcome`] is stored in the transaction of its writes, so that there is never one without
//! the other, whatever crashes or breaks off in between. A retry therefore finds the outcome, or nothing was done.

mod model;
mod ports;
mod service;

#[cfg(test)]
mod tests;

pub use model::{Attempt, AttemptId, Fingerprint, Fingerprints, IdempotencyKey, Lookup, Outcome, Record, RequestName};
#[cfg(any(test, feature = "mocks"))]
pub use ports::MockIdempotencyRepository;
pub use ports::{Begun, IdempotencyRepository};
pub use service::Idempotency;
