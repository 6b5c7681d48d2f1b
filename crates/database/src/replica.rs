//! A streaming replica of a PostgreSQL database, from which lists are read.

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

/// How often the replica is asked how far it is.
const INTERVAL: Duration = Duration::from_millis(200);

/// How long it may take to say so: after it, lists are read from the server that takes writes.
const PATIENCE: Duration = Duration::from_secs(1);

/// How old what it shows may be. A replica of its usual settings puts off what queries are in the way of for 30 s.
const MAX_AGE: Duration = Duration::from_secs(300);

/// How long it is known who has written: as long as a replica may be behind, and then some.
const KEPT_SECONDS: i64 = 2 * MAX_AGE.as_secs().cast_signed();

/// How far the replica was when it was last asked.
#[derive(Debug, Clone, Copy)]
struct Progress {
    /// Up to where it shows the write-ahead log.
    replayed: i64,
    /// From when on it was asked that.
    asked: Instant,
    /// It shows all that was written by then.
    as_of: Instant,
}

/// A replica, and what is known of how far it is.
#[derive(Clone)]
pub struct Replica {
    /// The database as the replica shows it; what the replica cannot do is done by the server that takes writes.
    pub database: Arc<Database>,
    primary: Arc<Postgres>,
    replica: Arc<Postgres>,
    /// Of how many of a hundred accounts it serves the lists.
    share: u8,
    /// How often it could not be recorded that somebody had written.
    unrecorded: Arc<AtomicU64>,
    /// Nothing while lists are not read from it.
    progress: Arc<Mutex<Option<Progress>>>,
}

impl Database {
    /// Returns a replica of this PostgreSQL database, at a URL, there or not: [`Replica::follow`] finds out.
    ///
    /// # Errors
    /// [`OpenError`], in words for an operator: when the URL is none of a PostgreSQL server, or this database is not in one.
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

/// How a replica catches up.
#[derive(Debug, Default)]
struct Catching {
    /// The history that the log of the server that takes writes had last.
    history: String,
    /// A place in the log that it is still to reach, and when the server that takes writes was there.
    mark: Option<(Instant, i64)>,
    /// When that was of the last place that it has reached.
    as_of: Option<Instant>,
    /// How many of those who could not be recorded are covered: everybody counts as having written since.
    covered: u64,
}

impl Catching {
    /// Takes in up to where the replica showed the log, and then the history and the place that the log of the server that takes writes
    /// had after that, at a time or later. Returns from when on the replica shows all that was written before.
    ///
    /// A replica that was further than the server when that was promoted follows no more, and shows what was never written there.
    fn see(&mut self, replayed: i64, at: Instant, (history, position): (String, i64)) -> Result<Instant> {
        if self.history != history || position < replayed {
            *self = Self { history, covered: self.covered, ..Self::default() };
        }
        if position < replayed {
            return Err(Error::unavailable("it is ahead of the server that takes writes"));
        }
        if let Some((at, _)) = self.mark.take_if(|(_, position)| *position <= replayed) {
            self.as_of = Some(at);
        }
        self.mark.get_or_insert((at, position));
        let as_of = self.as_of.filter(|as_of| as_of.elapsed() < MAX_AGE);
        as_of.ok_or_else(|| Error::unavailable("it is too far behind"))
    }
}

impl Replica {
    /// Asks the replica again and again how far it is, as long as it is polled. A change is logged.
    pub async fn follow(&self) {
        let mut interval = interval(INTERVAL);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let begun = Instant::now();
        let (mut state, mut forgotten, mut was_used) = (Catching::default(), begun, None);
        loop {
            interval.tick().await;
            let looked = timeout(PATIENCE, self.look(&mut state)).await;
            let found = looked.unwrap_or_else(|_| Err(Error::unavailable("it does not answer in time")));
            *lock(&self.progress) = found.as_ref().ok().copied();
            match &found {
                Ok(_) if was_used != Some(true) => tracing::info!("lists are read from the replica"),
                // It takes two looks to know how far it is.
                Err(_) if was_used.is_none() && begun.elapsed() < PATIENCE => continue,
                Err(error) if was_used != Some(false) => {
                    tracing::warn!(cause = error.cause(), "lists are not read from the replica");
                }
                _ => {}
            }
            was_used = Some(found.is_ok());
            if forgotten.elapsed() > MAX_AGE {
                forgotten = Instant::now();
                let forget = self.primary.statement(|conn| Box::pin(positions::forget(conn, KEPT_SECONDS)));
                if let Err(error) = forget.await {
                    tracing::warn!(cause = error.cause(), "could not forget who has written");
                }
            }
        }
    }

    /// Returns how far the replica is.
    async fn look(&self, state: &mut Catching) -> Result<Progress> {
        let unrecorded = self.unrecorded.load(Ordering::Acquire);
        if state.covered < unrecorded {
            self.primary.statement(|conn| Box::pin(positions::record_all(conn))).await?;
            state.covered = unrecorded;
        }
        let asked = Instant::now();
        let replayed = self.replica.ask(|conn| Box::pin(positions::replayed(conn))).await?;
        let replayed = replayed.ok_or_else(|| Error::unavailable("it is no replica"))?;
        let at = Instant::now();
        let now = self.primary.statement(|conn| Box::pin(positions::now(conn))).await?;
        Ok(Progress { replayed, asked, as_of: state.see(replayed, at, now)? })
    }

    /// Returns how old what the replica shows may be at most; nothing while lists are not read from it.
    pub fn age(&self) -> Option<Duration> {
        lock(&self.progress).map(|progress| progress.as_of.elapsed())
    }
}

/// Returns whether a user is among so many of a hundred, on every node alike: what somebody reads first from one server and
/// then from another could go back in time. Somebody of whom nothing is known is, unless there are none.
fn is_among(share: u8, user: Option<UserId>) -> bool {
    // Drawn by chance.
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
        if !is_among(self.share, user) {
            return false;
        }
        let Some(Progress { replayed, asked, .. }) = *lock(&self.progress) else { return false };
        if self.replica.connector.has_moved_since(asked) {
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

    /// What a replica's catching up knows after looks at which it was here, and the server there.
    fn seen(catching: &mut Catching, looks: &[(i64, &str, i64)]) -> Vec<bool> {
        let see = |(replayed, history, position): &(i64, &str, i64)| {
            catching.see(*replayed, Instant::now(), ((*history).to_owned(), *position)).is_ok()
        };
        looks.iter().map(see).collect()
    }

    #[test]
    fn a_replica_counts_once_it_has_reached_where_the_server_was_at_a_look_before() {
        let looks = [(5, "1", 10), (9, "1", 20), (10, "1", 30), (10, "1", 40)];
        assert_eq!(seen(&mut Catching::default(), &looks), [false, false, true, true]);
    }

    #[test]
    fn a_replica_counts_after_a_failover_once_it_has_followed_it() {
        let mut catching = Catching::default();
        assert_eq!(seen(&mut catching, &[(10, "1", 10), (10, "1", 10)]), [false, true]);
        assert_eq!(seen(&mut catching, &[(10, "2", 12), (10, "2", 14), (14, "2", 14)]), [false, false, true]);
    }

    #[test]
    fn a_replica_that_has_what_the_new_server_never_had_does_not_count_even_once_that_is_further() {
        let mut catching = Catching::default();
        assert_eq!(seen(&mut catching, &[(10, "1", 10), (20, "1", 20)]), [false, true]);
        assert_eq!(seen(&mut catching, &[(20, "2", 15), (20, "2", 19), (20, "2", 30), (20, "2", 40)]), [false; 4]);
        assert_eq!(
            seen(&mut Catching::default(), &[(20, "2", 21), (20, "2", 30)]),
            [false; 2],
            "seen for the first time"
        );
        let mut catching = Catching::default();
        assert_eq!(
            seen(&mut catching, &[(20, "1", 20), (20, "1", 20), (20, "2", 25)]),
            [false, true, false],
            "passed at once"
        );
    }

    #[test]
    fn so_many_of_a_hundred_accounts_are_served_by_the_replica() {
        for share in [0, 1, 25, 50, 100] {
            let users = (0..=255).map(|last| Some(UserId::new(Uuid::from_u128(0xabcd << 8 | last))));
            let served = users.filter(|user| is_among(share, *user)).count();
            assert!(served.abs_diff(usize::from(share) * 256 / 100) <= 1, "{share}: {served}");
            assert_eq!(is_among(share, None), share > 0);
        }
    }
}
