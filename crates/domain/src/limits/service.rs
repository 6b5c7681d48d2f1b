//! Counts and refuses.

use std::num::NonZeroU32;
use std::sync::Arc;

use super::{Allowance, ClientAddress, Counted, Counters};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::id::UserId;

/// Holds clients to the limits.
#[derive(Clone)]
pub struct Limits {
    /// Keeps the counts.
    pub counters: Arc<dyn Counters>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl Limits {
    /// Admits a request from an address, of which `most` are allowed in a minute; what is left after it, or nothing for a
    /// client that has no limit.
    ///
    /// # Errors
    /// [`Error::TooMany`] beyond the limit.
    pub fn admit_request(&self, client: ClientAddress, most: NonZeroU32) -> Result<Option<Allowance>> {
        self.admit(&Counted::Requests(client, most))
    }

    /// Admits a request of an account, of which `most` are allowed in a minute; what is left after it.
    ///
    /// # Errors
    /// [`Error::TooMany`] beyond the limit.
    pub fn admit_account_request(&self, user: UserId, most: NonZeroU32) -> Result<Allowance> {
        self.count(&Counted::AccountRequests(user, most))
    }

    /// Admits a request to log in; what is left after it, or nothing for a client that has no limit.
    ///
    /// # Errors
    /// [`Error::TooMany`] beyond the limit.
    pub fn admit_login(&self, client: ClientAddress) -> Result<Option<Allowance>> {
        self.admit(&Counted::Logins(client))
    }

    /// Admits a request to register; what is left after it, or nothing for a client that has no limit.
    ///
    /// # Errors
    /// [`Error::TooMany`] beyond the limit.
    pub fn admit_registration(&self, client: ClientAddress) -> Result<Option<Allowance>> {
        self.admit(&Counted::Registrations(client))
    }

    /// Admits a request about a forgotten password or the token of a mail; what is left after it, or nothing for a client that
    /// has no limit.
    ///
    /// # Errors
    /// [`Error::TooMany`] beyond the limit.
    pub fn admit_recovery(&self, client: ClientAddress) -> Result<Option<Allowance>> {
        self.admit(&Counted::Recoveries(client))
    }

    fn admit(&self, counted: &Counted) -> Result<Option<Allowance>> {
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
