//! Requests that take effect once, however often a client sends them.
//!
//! A client that does not learn what became of a request sends it again, under the same key. The first attempt is put
//! on record before it begins, and what it writes is written together with its [`Outcome`]: there is never one without
//! the other, whatever crashes or breaks off in between. So a retry finds the outcome, or nothing was done.

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
