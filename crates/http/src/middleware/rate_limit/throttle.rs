//! The general limits, which the operator may set: so many requests a minute for each address and for each account.

use std::{hash::Hash, num::NonZeroU32, sync::Arc, time::Duration};

use agora_domain::{
    Error, Result,
    id::UserId,
    limits::{Allowance, ClientAddress, Limit},
};
use governor::{
    Quota, RateLimiter,
    clock::{Clock, MonotonicClock},
    middleware::StateInformationMiddleware,
    nanos::Nanos,
    state::{InMemoryState, NotKeyed, StateStore},
};
use quick_cache::sync::Cache;

/// How many requests a minute are served; without a number, as many as come. What was not used is kept, up to a minute's
/// worth.
#[derive(Debug, Clone, Copy, Default)]
pub struct Throttling {
    /// Those of one client address.
    pub per_address: Option<NonZeroU32>,
    /// Those of one account, wherever they come from.
    pub per_account: Option<NonZeroU32>,
}

/// The limits at work.
pub(crate) struct Throttles {
    pub(crate) per_address: Option<Throttle<ClientAddress>>,
    pub(crate) per_account: Option<Throttle<UserId>>,
}

impl From<Throttling> for Throttles {
    fn from(throttling: Throttling) -> Self {
        Self {
            per_address: throttling.per_address.map(Throttle::new),
            per_account: throttling.per_account.map(Throttle::new),
        }
    }
}

/// A limit for each of many.
pub(crate) struct Throttle<K: Clone + Eq + Hash> {
    limit: Limit,
    limiter: RateLimiter<K, Buckets<K>, MonotonicClock, StateInformationMiddleware>,
}

/// What each has left, of so many as fit in bounded memory: those seen long ago or only once are forgotten first.
struct Buckets<K>(Cache<K, Arc<InMemoryState>>);

impl<K: Clone + Eq + Hash> Buckets<K> {
    /// About how many are kept: 16 MiB at most.
    const CAPACITY: usize = 100_000;
}

impl<K: Clone + Eq + Hash> StateStore for Buckets<K> {
    type Key = K;

    fn measure_and_replace<T, F, E>(&self, key: &K, measure: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let new = || Ok::<_, std::convert::Infallible>(Arc::default());
        let Ok(bucket) = self.0.get_or_insert_with(key, new);
        bucket.measure_and_replace(&NotKeyed::NonKey, measure)
    }
}

impl<K: Clone + Eq + Hash> Throttle<K> {
    const PERIOD_SECONDS: u32 = 60;

    fn new(most: NonZeroU32) -> Self {
        let buckets = Buckets(Cache::new(Buckets::<K>::CAPACITY));
        let limit = Limit { most: most.get(), period_seconds: Self::PERIOD_SECONDS };
        Self { limit, limiter: RateLimiter::new(Quota::per_minute(most), buckets, MonotonicClock) }
    }

    /// Admits a request; what is left after it.
    ///
    /// # Errors
    /// [`Error::TooMany`] beyond the limit.
    pub(crate) fn admit(&self, key: K) -> Result<Allowance> {
        let limit = self.limit;
        match self.limiter.check_key(&key) {
            Ok(state) => {
                let remaining = state.remaining_burst_capacity();
                let used = u64::from(limit.most.saturating_sub(remaining));
                let whole_again = (used * u64::from(limit.period_seconds)).div_ceil(u64::from(limit.most));
                Ok(Allowance { limit, remaining, reset_seconds: u32::try_from(whole_again).unwrap_or(u32::MAX) })
            }
            Err(refusal) => {
                let wait = refusal.wait_time_from(self.limiter.clock().now());
                Err(Error::TooMany(Allowance { limit, remaining: 0, reset_seconds: seconds(wait) }))
            }
        }
    }
}

/// Whole seconds, one at least: who waits so long is served.
fn seconds(wait: Duration) -> u32 {
    u32::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_may_make_so_many_requests_a_minute() {
        let throttle = Throttle::new(NonZeroU32::new(3).unwrap());
        for left in (0..3).rev() {
            let allowance = throttle.admit("alice").unwrap();
            assert_eq!((allowance.limit.most, allowance.remaining), (3, left));
            assert_eq!(allowance.reset_seconds, (3 - left) * 20);
        }
        let Err(Error::TooMany(refused)) = throttle.admit("alice") else { panic!("a fourth was admitted") };
        assert!((1..=20).contains(&refused.reset_seconds), "{refused:?}");
        assert_eq!(throttle.admit("bob").unwrap().remaining, 2);
    }

    #[test]
    fn a_flood_of_others_takes_bounded_memory() {
        let throttle = Throttle::new(NonZeroU32::MAX);
        let capacity = Buckets::<usize>::CAPACITY;
        for key in 0..2 * capacity {
            throttle.admit(key).unwrap();
        }
        assert!(throttle.limiter.into_state_store().0.len() <= capacity + capacity / 10);
    }
}
