//! A connection that statements are sent over one behind the other.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::try_join;
use tokio::runtime;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row, Statement};

use super::super::query_error::is_outdated;

/// A statement that is its own transaction, with the types of its parameters.
pub(crate) struct PreparedSql {
    pub(crate) sql: &'static str,
    pub(crate) types: &'static [Type],
}

/// The values of a statement's parameters.
pub(crate) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A statement with the values of its parameters.
pub(super) type Call<'a> = (&'a PreparedSql, Values<'a>);

/// A connection, driven by the runtime that made it.
pub(super) struct Pipeline {
    pub(super) client: Client,
    pub(super) driver: AbortHandle,
    pub(super) is_given_up: AtomicBool,
    /// What is prepared on it, by the address of its text.
    pub(super) prepared: Mutex<HashMap<usize, Statement>>,
    /// How many statements wait for their answer.
    pub(super) waiting: AtomicUsize,
    pub(super) home: runtime::Id,
    pub(super) answered: Mutex<Instant>,
}

impl Pipeline {
    /// Closes the connection, whatever waits on it: the server ends what it does for nobody.
    pub(super) fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Release);
        self.driver.abort();
    }

    pub(super) async fn query(
        &self,
        one: Call<'_>,
        two: Option<Call<'_>>,
    ) -> Result<(Vec<Row>, Vec<Row>), tokio_postgres::Error> {
        match two {
            None => Ok((self.query_one(one).await?, Vec::new())),
            Some(two) => try_join(self.query_one(one), self.query_one(two)).await,
        }
    }

    /// Runs a statement. One that is no longer what was prepared is prepared anew, once, and run then: nothing of it was.
    async fn query_one(&self, call: Call<'_>) -> Result<Vec<Row>, tokio_postgres::Error> {
        match self.query_prepared(call).await {
            Err(error) if is_outdated(&error) => {
                lock(&self.prepared).remove(&key(call.0));
                self.query_prepared(call).await
            }
            answer => answer,
        }
    }

    async fn query_prepared(&self, (text, values): Call<'_>) -> Result<Vec<Row>, tokio_postgres::Error> {
        let known = lock(&self.prepared).get(&key(text)).cloned();
        let statement = match known {
            Some(statement) => statement,
            None => {
                let made = self.client.prepare_typed(text.sql, text.types).await?;
                lock(&self.prepared).insert(key(text), made.clone());
                made
            }
        };
        self.client.query(&statement, values).await
    }

    /// Returns whether it answers within the time.
    pub(super) async fn is_there(&self, proof: Duration) -> bool {
        let _waiting = Waiting::on(&self.waiting);
        let answers = matches!(timeout(proof, self.client.batch_execute("")).await, Ok(Ok(())));
        if answers {
            *lock(&self.answered) = Instant::now();
        }
        answers
    }
}

/// Counts a statement that waits, also when its request goes away.
pub(super) struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    pub(super) fn on(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns what a statement is prepared under: the address of its text.
fn key(text: &PreparedSql) -> usize {
    text.sql.as_ptr().addr()
}
