//! Counts and refuses.

use std::sync::Arc;

use super::{Allowance, Counted, Counters};
use crate::clock::Clock;
use crate::error::{Error, Result};

/// Holds clients to the limits.
#[derive(Clone)]
pub struct Limits {
    /// Keeps the counts.
    pub counters: Arc<dyn Counters>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl Limits {
    /// Counts one more; what is left after it, or nothing for a client that has no limit.
    ///
    /// # Errors
    /// [`Error::TooMany`] when it was one too many.
    pub fn admit(&self, counted: &Counted) -> Result<Option<Allowance>> {
        if counted.is_exempt() { Ok(None) } else { self.count(counted).map(Some) }
    }

    /// Counts one more; what is left after it.
    ///
    /// # Errors
    /// [`Error::TooMany`] when it was one too many.
    pub(crate) fn count(&self, counted: &Counted) -> Result<Allowance> {
        let now = self.clock.now();
        let window = self.counters.add(counted, now);
        let allowance = window.allowance(counted.limit(), now);
        if window.count > counted.limit().most { Err(Error::TooMany(allowance)) } else { Ok(allowance) }
    }

    /// Checks that one more would be allowed.
    ///
    /// # Errors
    /// [`Error::TooMany`] when the limit is reached.
    pub(crate) fn check(&self, counted: &Counted) -> Result<()> {
        let now = self.clock.now();
        let allowance = self.counters.get(counted, now).allowance(counted.limit(), now);
        if allowance.remaining == 0 { Err(Error::TooMany(allowance)) } else { Ok(()) }
    }
}
