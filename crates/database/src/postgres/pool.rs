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

/// How long a connection may be idle before it is pinged prior to its next use. A connection whose end was announced is
/// never used; this is about a server that vanished silently.
pub(super) const PING_AFTER_IDLE: Duration = Duration::from_secs(1);

/// How long the answer to a ping may take at most.
const PING_TIMEOUT: Duration = Duration::from_secs(2);

/// The time limits of work on a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The wait for a connection.
    pub(super) wait: Duration,
    /// The work on the connection.
    pub(super) work: Duration,
    /// The wait for a lock. Work that conflicts with other work is retried for as long, and work that failed for an unknown
    /// reason only if it failed within this time.
    pub(super) lock: Duration,
    /// Whether reads may conflict with writes.
    pub(super) may_reads_conflict: bool,
    /// The idle time after which a connection is pinged before it is used.
    pub(super) ping_after_idle: Duration,
}

impl Limits {
    /// Returns how long the answer to that ping may take.
    pub(super) fn ping_timeout(&self) -> Duration {
        PING_TIMEOUT.min(self.wait / 2)
    }
}

/// Returns the error for a server that took too long.
pub(super) fn timed_out() -> Error {
    Error::unavailable("the database did not answer in time")
}

/// Makes and checks the connections of a pool, on the runtime that then drives them.
pub(super) struct Manager {
    connector: Connector,
    limits: Limits,
    /// When a connection last failed. Those not used since are most likely dead as well, and are discarded without a ping.
    invalidated_at: Mutex<Option<Instant>>,
}

impl Manager {
    pub(super) fn new(connector: Connector, limits: Limits) -> Self {
        Self { connector, limits, invalidated_at: Mutex::new(None) }
    }

    /// Returns whether connections lead to another server than at the time `made`.
    pub(super) fn has_failed_over_since(&self, made: Instant) -> bool {
        self.connector.has_failed_over_since(made)
    }

    /// Marks all connections: each one last used before now is replaced before it is used again.
    pub(super) fn invalidate_all(&self) {
        *lock(&self.invalidated_at) = Some(Instant::now());
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
            return Err(RecycleError::message("the connection is broken"));
        }
        let last_used = metrics.recycled.unwrap_or(metrics.created);
        let invalidated_at = *lock(&self.invalidated_at);
        if invalidated_at.is_some_and(|at| last_used < at) {
            return Err(RecycleError::message("another connection was lost since this one was last used"));
        }
        if self.connector.has_failed_over_since(metrics.created) {
            return Err(RecycleError::message("another server has taken over since the connection was made"));
        }
        if last_used.elapsed() < self.limits.ping_after_idle {
            return Ok(());
        }
        match timeout(self.limits.ping_timeout(), conn.batch_execute("")).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(RecycleError::message("the connection is broken")),
            Err(_) => {
                self.invalidate_all();
                Err(RecycleError::message("the server does not respond to a ping"))
            }
        }
    }
}
