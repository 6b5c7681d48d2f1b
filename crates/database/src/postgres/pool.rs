//! The pool of connections: how they are made, checked before they are used again, and taken out when their state is
//! unknown.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use agora_domain::{Error, Result};
use deadpool::managed;
use deadpool::managed::{Metrics, RecycleError, RecycleResult};
use diesel::{ConnectionError, ConnectionResult};
use diesel_async::pooled_connection::PoolableConnection;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use tokio::time::timeout;

use super::connect::Connector;

/// A pool of connections.
pub(super) type Pool = managed::Pool<Manager>;

/// After how long a connection is asked, before it is used again, whether it is still there. One whose end was
/// announced is never used; this is about a server that vanished without a word.
pub(super) const UNPROVEN: Duration = Duration::from_secs(1);

/// How long the answer to that may take at most.
pub(super) const PROOF: Duration = Duration::from_secs(2);

/// Makes and checks the connections of a pool, which is asked for them on the runtime that drives them.
pub(super) struct Manager {
    connector: Connector,
    /// After how long without use a connection has to prove that it is still there.
    unproven: Duration,
    /// How long the proof may take.
    proof: Duration,
    /// When a connection last failed to: what was not used since is as dead most likely, and is not asked.
    distrusted: Mutex<Option<Instant>>,
}

impl Manager {
    /// For requests that wait so long for a connection.
    pub(super) fn new(connector: Connector, wait: Duration, unproven: Duration) -> Self {
        Self { connector, unproven, proof: PROOF.min(wait / 2), distrusted: Mutex::new(None) }
    }
}

impl Manager {
    /// Has each connection that was used so far replaced before it is used again.
    pub(super) fn distrust(&self) {
        *self.distrusted.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
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
        let distrusted = *self.distrusted.lock().unwrap_or_else(PoisonError::into_inner);
        if distrusted.is_some_and(|at| last_used < at) {
            return Err(RecycleError::message("another one was lost since it was used"));
        }
        if last_used.elapsed() < self.unproven {
            return Ok(());
        }
        match timeout(self.proof, conn.batch_execute("")).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(RecycleError::message("it is broken")),
            Err(_) => {
                self.distrust();
                Err(RecycleError::message("it does not answer"))
            }
        }
    }
}

/// A connection lent by the pool. It goes back when that is said; otherwise, as when the work on it was cut short or
/// panicked, its state is unknown and it is closed.
pub(super) struct Lease(Option<managed::Object<Manager>>);

impl Lease {
    pub(super) fn new(connection: managed::Object<Manager>) -> Self {
        Self(Some(connection))
    }

    pub(super) fn connection(&mut self) -> Result<&mut AsyncPgConnection> {
        self.0.as_deref_mut().ok_or_else(|| Error::internal("the connection was given back"))
    }

    pub(super) fn give_back(mut self) {
        self.0 = None;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            drop(managed::Object::take(connection));
        }
    }
}
