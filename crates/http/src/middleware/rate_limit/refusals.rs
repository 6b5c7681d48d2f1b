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
    /// Of requests for new passwords, or with tokens from mails, from one address.
    Recovery,
    /// Of wrong passwords for one account from one address, or of changes of its password.
    Password,
}

impl Refusal {
    const ALL: [Self; 6] =
        [Self::Address, Self::Account, Self::Login, Self::Registration, Self::Recovery, Self::Password];

    /// Returns its name among the metrics.
    const fn name(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Account => "account",
            Self::Login => "login",
            Self::Registration => "registration",
            Self::Recovery => "recovery",
            Self::Password => "password",
        }
    }
}

/// Counts refusals.
#[derive(Debug, Default)]
pub(crate) struct Refusals([AtomicU64; Refusal::ALL.len()]);

impl Refusals {
    /// Counts one.
    pub(crate) fn add(&self, refusal: Refusal) {
        // In the order of `ALL`.
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

    /// Returns how many there were since the start, by the name of the limit.
    pub(crate) fn totals(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Refusal::ALL.into_iter().zip(&self.0).map(|(it, counter)| (it.name(), counter.load(Ordering::Relaxed)))
    }
}
