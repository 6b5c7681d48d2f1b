//! Enforcement of the limits.

use std::sync::Arc;

use super::{Allowance, Counted, Counters};
use crate::clock::Clock;
use crate::error::{Error, Result};

/// Counts events and refuses those beyond their limits.
#[derive(Clone)]
pub struct Limits {
    /// Stores the counts.
    pub counters: Arc<dyn Counters>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl Limits {
    /// Counts an event and returns what is left of its limit, or `None` for a client to whom no limit applies.
    ///
    /// # Errors
    /// [`Error::TooMany`] when the event exceeds the limit.
    pub fn admit(&self, counted: &Counted) -> Result<Option<Allowance>> {
        if counted.is_exempt() { Ok(None) } else { self.count(counted).map(Some) }
    }

    /// Counts an event and returns what is left of its limit.
    ///
    /// # Errors
    /// [`Error::TooMany`] when the event exceeds the limit.
    pub(crate) fn count(&self, counted: &Counted) -> Result<Allowance> {
        let now = self.clock.now();
        let window = self.counters.add(counted, now);
        let allowance = window.allowance(counted.limit(), now);
        if window.count > counted.limit().most { Err(Error::TooMany(allowance)) } else { Ok(allowance) }
    }

    /// Checks that one more event would be allowed, without counting it.
    ///
    /// # Errors
    /// [`Error::TooMany`] when the limit is reached.
    pub(crate) fn check(&self, counted: &Counted) -> Result<()> {
        let now = self.clock.now();
        let allowance = self.counters.get(counted, now).allowance(counted.limit(), now);
        if allowance.remaining == 0 { Err(Error::TooMany(allowance)) } else { Ok(()) }
    }
}
