//! The use case of the overview.

use std::sync::Arc;

use super::{OverviewRepository, Totals};
use crate::accounts::TokenLifetime;
use crate::clock::{Clock, Timestamp};
use crate::error::Result;

/// Counts what is stored.
#[derive(Clone)]
pub struct Overview {
    /// Counts the rows.
    pub repository: Arc<dyn OverviewRepository>,
    /// How long tokens are valid.
    pub token_lifetime: TokenLifetime,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl Overview {
    /// Returns the totals, and when counting began. Counting is costly: callers should cache the result, and must show it only
    /// to administrators.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn count(&self) -> Result<(Totals, Timestamp)> {
        let now = self.clock.now();
        let totals = self.repository.count(self.token_lifetime.oldest_session(now)).await?;
        Ok((totals, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    use crate::overview::MockOverviewRepository;

    #[tokio::test]
    async fn only_sessions_that_may_have_a_valid_token_are_counted() {
        const NOW: Timestamp = Timestamp::from_unix_millis(100 * 24 * 3_600_000);
        let totals = Totals {
            accounts: 1,
            posts: 2,
            comments: 3,
            products: 4,
            open_sessions: 5,
            open_reports: 6,
            waiting_mails: 7,
            dead_mails: 8,
            database_bytes: Some(9),
        };
        let mut repository = MockOverviewRepository::new();
        let oldest = NOW.plus_millis(-30 * 24 * 3_600_000 - 5);
        repository.expect_count().once().withf(move |after| *after == oldest).returning(move |_| Ok(totals));
        let token_lifetime = TokenLifetime::of_millis(5);
        let overview = Overview { repository: Arc::new(repository), token_lifetime, clock: fixtures::clock(NOW) };
        assert_eq!(overview.count().await.unwrap(), (totals, NOW));
    }
}
