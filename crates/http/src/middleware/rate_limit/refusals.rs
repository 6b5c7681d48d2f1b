//! Counters of the requests that the rate limits refused.

use std::sync::atomic::{AtomicU64, Ordering};

use agora_domain::{Error, Result};

/// The limit by which a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The limit on requests from one address.
    Address,
    /// The limit on requests of one account.
    Account,
    /// The limit on logins from one address.
    Login,
    /// The limit on registrations from one address.
    Registration,
    /// The limit on requests for new passwords, or with tokens from mails, from one address.
    Recovery,
    /// The limits that handlers apply: on wrong passwords for one account from one address, on changes of its password, and on
    /// other actions of an account.
    Password,
}

impl Refusal {
    const ALL: [Self; 6] =
        [Self::Address, Self::Account, Self::Login, Self::Registration, Self::Recovery, Self::Password];

    /// Returns the value of the metrics' label `limit`.
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

/// Counts refusals by limit.
#[derive(Debug, Default)]
pub(crate) struct Refusals([AtomicU64; Refusal::ALL.len()]);

impl Refusals {
    /// Counts a refusal.
    pub(crate) fn add(&self, refusal: Refusal) {
        // The counters are in the order of `ALL`, which is that of the variants.
        if let Some(counter) = self.0.get(refusal as usize) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a refusal if the outcome is [`Error::TooMany`], and returns the outcome unchanged.
    pub(crate) fn count_if_limited<T>(&self, refusal: Refusal, outcome: Result<T>) -> Result<T> {
        if let Err(Error::TooMany(_)) = outcome {
            self.add(refusal);
        }
        outcome
    }

    /// Returns the refusals since the start, by the name of the limit.
    pub(crate) fn totals(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Refusal::ALL.into_iter().zip(&self.0).map(|(it, counter)| (it.name(), counter.load(Ordering::Relaxed)))
    }
}
