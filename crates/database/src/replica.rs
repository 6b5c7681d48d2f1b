//! A streaming replica of a PostgreSQL database, which serves reads of lists.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agora_domain::id::UserId;
use agora_domain::replica::ReadReplica;
use agora_domain::{Error, Result};
use async_trait::async_trait;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::backend::Backend;
use crate::database::Database;
use crate::error::OpenError;
use crate::mutex::lock;
use crate::options::Options;
use crate::postgres::{Postgres, positions};
use crate::sql_types::DbId;

/// How often the replica is asked up to which position it has replayed the write-ahead log.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// How long one poll may take. After that, lists are read from the primary.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The greatest lag of a replica that is still used. With PostgreSQL's default settings, a replica delays replay by up to 30 s
/// when queries conflict with it.
const MAX_AGE: Duration = Duration::from_secs(300);

/// How long the write positions of accounts are kept: longer than the greatest lag.
const WRITE_POSITION_TTL_SECONDS: i64 = 2 * MAX_AGE.as_secs().cast_signed();

/// The progress of the replica at the last poll.
#[derive(Debug, Clone, Copy)]
struct Progress {
    /// The position up to which it has replayed the write-ahead log.
    replayed: i64,
    /// When the query for that position was sent.
    asked: Instant,
    /// The replica shows everything that was written before this time.
    as_of: Instant,
}

/// A replica and its last known progress.
#[derive(Clone)]
pub struct Replica {
    /// The database as the replica shows it. Whatever the replica cannot do is done by the primary.
    pub database: Arc<Database>,
    primary: Arc<Postgres>,
    replica: Arc<Postgres>,
    /// The percentage of accounts whose lists it serves.
    share: u8,
    /// The number of writes whose position could not be recorded.
    unrecorded: Arc<AtomicU64>,
    /// `None` while lists are not read from the replica.
    progress: Arc<Mutex<Option<Progress>>>,
}

impl Database {
    /// Returns a replica of this PostgreSQL database at a URL. Does not connect: [`Replica::follow`] finds out whether it can be
    /// reached.
    ///
    /// # Errors
    /// [`OpenError`], in words for an operator, if the URL or this database is not that of a PostgreSQL server.
    pub fn replica(&self, url: &str, options: &Options) -> std::result::Result<Replica, OpenError> {
        let Backend::Postgres(primary) = &self.backend else { return Err(OpenError::NoReplica) };
        let replica = Arc::new(Postgres::replica(Arc::clone(primary), url, options)?);
        let (backend, calls) = (Backend::Postgres(Arc::clone(&replica)), Arc::clone(&self.calls));
        let database = Self { backend, feeds: Arc::default(), calls, packing: self.packing };
        let (unrecorded, progress) = Default::default();
        Ok(Replica {
            database: Arc::new(database),
            primary: Arc::clone(primary),
            replica,
            share: options.replica_share,
            unrecorded,
            progress,
        })
    }
}

/// The state between polls from which the lag of a replica is known.
#[derive(Debug, Default)]
struct CatchUp {
    /// The timeline of the primary's write-ahead log at the last poll.
    timeline: String,
    /// A log position that the replica has yet to reach, and when the primary was there.
    mark: Option<(Instant, i64)>,
    /// When the primary was at the last such position that the replica has reached.
    as_of: Option<Instant>,
    /// How many of the unrecorded writes are made up for, by recording that every account has written.
    compensated: u64,
}

impl CatchUp {
    /// Takes in the result of a poll: the position that the replica had replayed, then the timeline and position of the primary,
    /// read after that, at `at` or later. Returns the time such that the replica shows everything that was written before it.
    ///
    /// A replica that was ahead of the primary when that was promoted stops following it, and shows writes that the primary never
    /// had.
    fn observe(&mut self, replayed: i64, at: Instant, (timeline, position): (String, i64)) -> Result<Instant> {
        if self.timeline != timeline || position < replayed {
            *self = Self { timeline, compensated: self.compensated, ..Self::default() };
        }
        if position < replayed {
            return Err(Error::unavailable("the replica is ahead of the primary"));
        }
        if let Some((at, _)) = self.mark.take_if(|(_, position)| *position <= replayed) {
            self.as_of = Some(at);
        }
        self.mark.get_or_insert((at, position));
        let as_of = self.as_of.filter(|as_of| as_of.elapsed() < MAX_AGE);
        as_of.ok_or_else(|| Error::unavailable("the replica is too far behind the primary"))
    }
}

impl Replica {
    /// Polls the progress of the replica for as long as this future is polled. Logs whenever the replica comes into use or out of
    /// it.
    pub async fn follow(&self) {
        let mut interval = interval(POLL_INTERVAL);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let started = Instant::now();
        let (mut state, mut cleaned_at, mut was_used) = (CatchUp::default(), started, None);
        loop {
            interval.tick().await;
            let polled = timeout(TIMEOUT, self.poll(&mut state)).await;
            let found = polled.unwrap_or_else(|_| Err(Error::unavailable("the replica did not respond in time")));
            *lock(&self.progress) = found.as_ref().ok().copied();
            match &found {
                Ok(_) if was_used != Some(true) => tracing::info!("lists are read from the replica"),
                // The lag is known after two polls.
                Err(_) if was_used.is_none() && started.elapsed() < TIMEOUT => continue,
                Err(error) if was_used != Some(false) => {
                    tracing::warn!(cause = error.cause(), "lists are not read from the replica");
                }
                _ => {}
            }
            was_used = Some(found.is_ok());
            if cleaned_at.elapsed() > MAX_AGE {
                cleaned_at = Instant::now();
                let delete = self
                    .primary
                    .statement(|conn| Box::pin(positions::delete_older_than(conn, WRITE_POSITION_TTL_SECONDS)));
                if let Err(error) = delete.await {
                    tracing::warn!(cause = error.cause(), "could not delete expired write positions");
                }
            }
        }
    }

    /// Returns the progress of the replica.
    async fn poll(&self, state: &mut CatchUp) -> Result<Progress> {
        let unrecorded = self.unrecorded.load(Ordering::Acquire);
        if state.compensated < unrecorded {
            self.primary.statement(|conn| Box::pin(positions::record_all(conn))).await?;
            state.compensated = unrecorded;
        }
        let asked = Instant::now();
        let replayed = self.replica.ask(|conn| Box::pin(positions::replayed(conn))).await?;
        let replayed = replayed.ok_or_else(|| Error::unavailable("the server is not a replica"))?;
        let at = Instant::now();
        let now = self.primary.statement(|conn| Box::pin(positions::now(conn))).await?;
        Ok(Progress { replayed, asked, as_of: state.observe(replayed, at, now)? })
    }

    /// Returns an upper bound of the replica's lag, or `None` while lists are not read from it.
    pub fn age(&self) -> Option<Duration> {
        lock(&self.progress).map(|progress| progress.as_of.elapsed())
    }
}

/// Returns whether a user is among the given percentage of accounts. Every node decides the same: a user who reads from one
/// server and then from another could see older data. A request without an account is in the share, unless that is 0.
fn is_in_share(share: u8, user: Option<UserId>) -> bool {
    // The last byte of an identifier is random.
    let [.., last] = user.map_or([0; 16], |user| user.uuid().into_bytes());
    u32::from(last) * 100 < u32::from(share) * 256
}

#[async_trait]
impl ReadReplica for Replica {
    async fn record_write(&self, user: UserId) -> Result<()> {
        let account = DbId(user.uuid());
        let recorded = self.primary.statement(move |conn| Box::pin(positions::record(conn, account))).await;
        if recorded.is_err() {
            self.unrecorded.fetch_add(1, Ordering::AcqRel);
        }
        recorded
    }

    async fn serves(&self, user: Option<UserId>) -> bool {
        if !is_in_share(self.share, user) {
            return false;
        }
        let Some(Progress { replayed, asked, .. }) = *lock(&self.progress) else { return false };
        if self.replica.connector.has_failed_over_since(asked) {
            return false;
        }
        let Some(account) = user.map(|user| DbId(user.uuid())) else { return true };
        let written = self.primary.read(move |conn| Box::pin(positions::written(conn, account))).await;
        matches!(written, Ok(Some(position)) if position <= replayed)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    /// Returns for each poll whether the replica may be used after it. A poll is the replayed position, then the timeline and
    /// position of the primary.
    fn observe_all(catch_up: &mut CatchUp, polls: &[(i64, &str, i64)]) -> Vec<bool> {
        let observe = |(replayed, timeline, position): &(i64, &str, i64)| {
            catch_up.observe(*replayed, Instant::now(), ((*timeline).to_owned(), *position)).is_ok()
        };
        polls.iter().map(observe).collect()
    }

    #[test]
    fn a_replica_is_used_once_it_reaches_the_position_of_the_primary_at_an_earlier_poll() {
        let polls = [(5, "1", 10), (9, "1", 20), (10, "1", 30), (10, "1", 40)];
        assert_eq!(observe_all(&mut CatchUp::default(), &polls), [false, false, true, true]);
    }

    #[test]
    fn a_replica_is_used_after_a_failover_once_it_has_caught_up_with_the_new_primary() {
        let mut catch_up = CatchUp::default();
        assert_eq!(observe_all(&mut catch_up, &[(10, "1", 10), (10, "1", 10)]), [false, true]);
        assert_eq!(observe_all(&mut catch_up, &[(10, "2", 12), (10, "2", 14), (14, "2", 14)]), [false, false, true]);
    }

    #[test]
    fn a_replica_that_was_ahead_of_the_new_primary_is_never_used_even_after_the_primary_passes_it() {
        let mut catch_up = CatchUp::default();
        assert_eq!(observe_all(&mut catch_up, &[(10, "1", 10), (20, "1", 20)]), [false, true]);
        assert_eq!(
            observe_all(&mut catch_up, &[(20, "2", 15), (20, "2", 19), (20, "2", 30), (20, "2", 40)]),
            [false; 4]
        );
        assert_eq!(
            observe_all(&mut CatchUp::default(), &[(20, "2", 21), (20, "2", 30)]),
            [false; 2],
            "seen for the first time"
        );
        let mut catch_up = CatchUp::default();
        assert_eq!(
            observe_all(&mut catch_up, &[(20, "1", 20), (20, "1", 20), (20, "2", 25)]),
            [false, true, false],
            "passed at once"
        );
    }

    #[test]
    fn the_replica_serves_the_configured_percentage_of_accounts() {
        for share in [0, 1, 25, 50, 100] {
            let users = (0..=255).map(|last| Some(UserId::new(Uuid::from_u128(0xabcd << 8 | last))));
            let served = users.filter(|user| is_in_share(share, *user)).count();
            assert!(served.abs_diff(usize::from(share) * 256 / 100) <= 1, "{share}: {served}");
            assert_eq!(is_in_share(share, None), share > 0);
        }
    }
}
