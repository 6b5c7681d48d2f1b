//! `/api/admin/overview`: totals of what is stored, and how many requests this node serves.
//!
//! The totals are counted at most once a minute, and once for all requests that arrive at the same time.

use std::sync::Arc;
use std::time::{Duration, Instant as Moment};

use actix_web::web::Data;
use agora_domain::accounts::Admin;
use agora_domain::clock::Timestamp;
use agora_domain::overview::{Overview, Totals};
use agora_domain::{Error, Result};
use serde::Serialize;
use tokio::sync::Mutex;
use utoipa::ToSchema;

use crate::core::schema;
use crate::middleware::{Minute, Traffic};
use crate::request::Auth;
use crate::response::{HandlerResult, Instant, SUCCESS, answers, ok};

/// How long totals are cached.
const CACHE_LIFETIME: Duration = Duration::from_secs(60);

answers! {
    /// The state of the service.
    OverviewAnswer { OverviewBody }
}

/// The totals of stored data, and the requests that the answering node has served.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Overview)]
pub(crate) struct OverviewBody {
    #[schema(schema_with = schema::counted_at)]
    counted_at: Instant,
    /// The number of accounts, including disabled ones.
    accounts: u64,
    /// The number of posts, including hidden ones.
    posts: u64,
    /// The number of comments, including hidden ones.
    comments: u64,
    /// The number of products.
    products: u64,
    /// The number of sessions that have not ended and may still have a valid token.
    open_sessions: u64,
    /// The number of reports without a decision.
    open_reports: u64,
    /// The number of mails that are still to be sent.
    waiting_mails: u64,
    /// The number of mails that were given up.
    dead_mails: u64,
    #[schema(schema_with = schema::database_bytes, required = true)]
    database_bytes: Option<u64>,
    /// The version of the node.
    #[schema(example = "1.0.0")]
    version: &'static str,
    #[schema(schema_with = schema::started_at)]
    started_at: Instant,
    /// How long the node has been running, in seconds.
    uptime_seconds: u64,
    /// The requests that the node has answered in each of the last 60 minutes, oldest first; the last minute is not over.
    minutes: Vec<MinuteBody>,
}

/// The number of requests in a minute.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RequestMinute)]
pub(crate) struct MinuteBody {
    #[schema(schema_with = schema::minute_at)]
    at: Instant,
    /// All requests that were answered.
    requests: u32,
    /// Requests that were answered with 4xx.
    client_errors: u32,
    /// Requests that were answered with 5xx.
    server_errors: u32,
}

impl From<Minute> for MinuteBody {
    fn from(Minute { at, requests, client_errors, server_errors }: Minute) -> Self {
        Self { at: Instant(at), requests, client_errors, server_errors }
    }
}

/// The totals that were counted last, with the time as a monotonic instant and as a timestamp.
type CachedTotals = (Moment, Totals, Timestamp);

/// The figures of the overview, with a cache of the totals.
pub(crate) struct Figures {
    overview: Overview,
    traffic: Arc<Traffic>,
    last: Arc<Mutex<Option<CachedTotals>>>,
}

impl Figures {
    pub(crate) fn new(overview: Overview, traffic: Arc<Traffic>) -> Self {
        Self { overview, traffic, last: Arc::default() }
    }

    /// Returns the totals and when they were counted: now or within the last minute.
    async fn totals(&self) -> Result<(Totals, Timestamp)> {
        let mut last = Arc::clone(&self.last).lock_owned().await;
        if let Some((_, totals, at)) = last.filter(|(moment, ..)| moment.elapsed() < CACHE_LIFETIME) {
            return Ok((totals, at));
        }
        let overview = self.overview.clone();
        // Runs to its end even if this request is dropped: its result serves the next one.
        let counting = tokio::spawn(async move {
            let (totals, at) = overview.count().await?;
            *last = Some((Moment::now(), totals, at));
            Ok((totals, at))
        });
        counting.await.map_err(Error::internal)?
    }
}

/// Get an overview of the service
///
/// Stored data is counted at most once a minute on each node, for all callers; `countedAt` says when. Requests are those of the
/// node that answers, counted since it started.
#[utoipa::path(get, path = "", operation_id = "getOverview", tag = "Administration",
    responses((status = 200, description = "The overview.", body = OverviewAnswer)))]
pub(crate) async fn read(_: Auth<Admin>, figures: Data<Figures>) -> HandlerResult {
    let (totals, counted_at) = figures.totals().await?;
    let Totals { accounts, posts, comments, products, open_sessions, open_reports, .. } = totals;
    let Totals { waiting_mails, dead_mails, database_bytes, .. } = totals;
    let minutes = figures.traffic.minutes().into_iter().map(MinuteBody::from).collect();
    ok(
        SUCCESS,
        OverviewBody {
            counted_at: Instant(counted_at),
            accounts,
            posts,
            comments,
            products,
            open_sessions,
            open_reports,
            waiting_mails,
            dead_mails,
            database_bytes,
            version: env!("CARGO_PKG_VERSION"),
            started_at: Instant(figures.traffic.begun_at()),
            uptime_seconds: figures.traffic.age().as_secs(),
            minutes,
        },
    )
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use agora_domain::accounts::TokenLifetime;
    use agora_domain::clock::MockClock;
    use agora_domain::overview::OverviewRepository;
    use async_trait::async_trait;
    use futures_util::future::join_all;

    use super::*;

    /// Counts how often it is called, and fails the first time.
    #[derive(Default)]
    struct CountingRepository(AtomicU64);

    #[async_trait]
    impl OverviewRepository for CountingRepository {
        async fn count(&self, _: Timestamp) -> Result<Totals> {
            let accounts = self.0.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            if accounts == 0 {
                return Err(Error::unavailable("too many wait"));
            }
            let (posts, comments, products, database_bytes) = (0, 0, 0, None);
            let (open_sessions, open_reports, waiting_mails, dead_mails) = (0, 0, 0, 0);
            Ok(Totals {
                accounts,
                posts,
                comments,
                products,
                open_sessions,
                open_reports,
                waiting_mails,
                dead_mails,
                database_bytes,
            })
        }
    }

    #[tokio::test]
    async fn concurrent_requests_share_one_count_and_a_failure_is_not_cached() {
        let (repository, mut clock) = (Arc::new(CountingRepository::default()), MockClock::new());
        clock.expect_now().return_const(Timestamp::from_unix_millis(7));
        let token_lifetime = TokenLifetime::of_millis(3_600_000);
        let overview = Overview { repository: repository.clone(), token_lifetime, clock: Arc::new(clock) };
        let figures = Figures::new(overview, Arc::new(Traffic::new(Timestamp::from_unix_millis(1_752_539_094_124))));
        assert!(matches!(figures.totals().await, Err(Error::Unavailable(_))));
        let all = join_all((0..1000).map(|_| figures.totals())).await;
        for outcome in all {
            let (totals, at) = outcome.unwrap();
            assert_eq!((totals.accounts, at.unix_millis()), (1, 7));
        }
        assert_eq!(repository.0.load(Ordering::SeqCst), 2);
        assert_eq!(figures.traffic.minutes().len(), 60, "as the document says");
    }
}
