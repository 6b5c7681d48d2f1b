//! The pool of connections: how they are made, checked before they are used again, and taken out when their state is
//! unknown.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use agora_domain::Error;
use deadpool::managed;
use deadpool::managed::{Metrics, RecycleError, RecycleResult};
use diesel::{ConnectionError, ConnectionResult};
use diesel_async::pooled_connection::PoolableConnection;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use tokio::time::timeout;

use super::connect::Connector;
use crate::mutex::lock;

/// A pool of connections.
pub(super) type Pool = managed::Pool<Manager>;

/// After how long a connection is asked, before it is used again, whether it is still there. One whose end was
/// announced is never used; this is about a server that vanished without a word.
pub(super) const UNPROVEN: Duration = Duration::from_secs(1);

/// How long the answer to that may take at most.
const PROOF: Duration = Duration::from_secs(2);

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The wait for a connection.
    pub(super) wait: Duration,
    /// The work on it.
    pub(super) work: Duration,
    /// The wait for a lock. Work that conflicts with other work is done again for as long, and so is work that failed within this time for an
    /// unknown reason.
    pub(super) lock: Duration,
    /// Whether what reads conflicts with what writes.
    pub(super) do_reads_conflict: bool,
    /// The time without use after which a connection has to prove that it is still there.
    pub(super) unproven: Duration,
}

impl Limits {
    /// Returns how long that proof may take.
    pub(super) fn proof(&self) -> Duration {
        PROOF.min(self.wait / 2)
    }
}

/// Says that the server took too long.
pub(super) fn too_late() -> Error {
    Error::unavailable("the database did not answer in time")
}

/// Makes and checks the connections of a pool, which is asked for them on the runtime that drives them.
pub(super) struct Manager {
    connector: Connector,
    limits: Limits,
    /// When a connection last failed to: what was not used since is as dead most likely, and is not asked.
    distrusted: Mutex<Option<Instant>>,
}

impl Manager {
    pub(super) fn new(connector: Connector, limits: Limits) -> Self {
        Self { connector, limits, distrusted: Mutex::new(None) }
    }

    /// Returns whether connections lead to another server since one was made.
    pub(super) fn has_moved_since(&self, made: Instant) -> bool {
        self.connector.has_moved_since(made)
    }

    /// Has each connection that was used so far replaced before it is used again.
    pub(super) fn distrust(&self) {
        *lock(&self.distrusted) = Some(Instant::now());
    }
}

impl managed::Manager for Manager {
    type Type = AsyncPgConnection;
    type Error = ConnectionError;

    async fn create(&self) -> ConnectionResult<AsyncPgConnection> {
        let connection = self.connector.connect().await;
        self.connector.count();
        connection
    }

    async fn recycle(&self, conn: &mut AsyncPgConnection, metrics: &Metrics) -> RecycleResult<ConnectionError> {
        if conn.is_broken() {
            return Err(RecycleError::message("it is broken"));
        }
        let last_used = metrics.recycled.unwrap_or(metrics.created);
        let distrusted = *lock(&self.distrusted);
        if distrusted.is_some_and(|at| last_used < at) {
            return Err(RecycleError::message("another one was lost since it was used"));
        }
        if self.connector.has_moved_since(metrics.created) {
            return Err(RecycleError::message("another server has taken over since it was made"));
        }
        if last_used.elapsed() < self.limits.unproven {
            return Ok(());
        }
        match timeout(self.limits.proof(), conn.batch_execute("")).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(RecycleError::message("it is broken")),
            Err(_) => {
                self.distrust();
                Err(RecycleError::message("it does not answer"))
            }
        }
    }
}
