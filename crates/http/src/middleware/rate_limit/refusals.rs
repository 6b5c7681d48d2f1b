//! How many requests were refused for coming too often.

use std::sync::atomic::{AtomicU64, Ordering};

use agora_domain::{Error, Result};

/// The limit that a request was beyond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Of requests from one address.
    Address,
    /// Of requests of one account.
    Account,
    /// Of logins from one address.
    Login,
    /// Of registrations from one address.
    Registration,
    /// Of wrong passwords for one account from one address, or of changes of its password.
    Password,
}

/// The names of the limits among the metrics, in the order of [`Refusal`].
const NAMES: [&str; 5] = ["address", "account", "login", "registration", "password"];

/// Counts refusals.
#[derive(Debug, Default)]
pub(crate) struct Refusals([AtomicU64; NAMES.len()]);

impl Refusals {
    /// Counts one.
    pub(crate) fn add(&self, refusal: Refusal) {
        if let Some(counter) = self.0.get(refusal as usize) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts one when this is one; the outcome as it was.
    pub(crate) fn count<T>(&self, refusal: Refusal, outcome: Result<T>) -> Result<T> {
        if let Err(Error::TooMany(_)) = outcome {
            self.add(refusal);
        }
        outcome
    }

    /// How many there were since the start, by the name of the limit.
    pub(crate) fn totals(&self) -> impl Iterator<Item = (&'static str, u64)> {
        NAMES.into_iter().zip(&self.0).map(|(name, counter)| (name, counter.load(Ordering::Relaxed)))
    }
}
