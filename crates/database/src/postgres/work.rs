//! Runs work on a pooled connection, and again if that is safe.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::time::{Duration, Instant};

use agora_domain::{Error, Result};
use deadpool::managed::{Object, PoolError};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl};
use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection, TransactionManager};
use futures_util::FutureExt;
use futures_util::future::select;
use tokio::time::{sleep, timeout};

use super::conflict::{back_off, is_conflict};
use super::dialect::{Conn, RunQueryDsl, Work};
use super::pool::{Limits, Manager, PING_AFTER_IDLE, Pool, timed_out};
use crate::error::{Failure, Outcome};
use crate::schema::idempotency;
use crate::sql_types::DbId;

/// How often work that loses its connection is started at most: a server that is stopping may accept a second connection before
/// it ends that one as well.
pub(super) const MAX_ATTEMPTS: u32 = 3;

/// How long a connection whose server does not answer keeps its place in the pool at most: that server may be up but hang
/// forever, while its name already leads to another one.
const MAX_HOLD: Duration = Duration::from_secs(120);

/// The kind of transaction that work runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transaction {
    /// None around the work: it only reads, and each statement is its own transaction.
    Read,
    /// None around the work: its single statement, which writes, is its own transaction.
    Statement,
    /// One around all of the work.
    Explicit,
}

/// What to do if the outcome of a transaction is unknown, because its connection was lost before the answer to its `COMMIT`
/// came.
#[derive(Debug, Clone, Copy)]
pub(super) enum OnUnknownOutcome {
    /// Report it as failed.
    Fail,
    /// Run the work again, which is idempotent.
    Retry,
    /// Look up whether the attempt that the work completes has an outcome. If so, it was committed; if not, run it again.
    LookUp(DbId),
}

/// How work ended that did not fail.
enum Completion<T> {
    Done(T),
    /// The value of work that may or may not have been committed, and the failure that leaves this unknown.
    Unknown(T, Failure),
}

/// Runs work on a pooled connection, unless its request is gone by the time there is one.
pub(super) async fn run_in_pool<T>(
    pool: &Pool,
    limits: Limits,
    (transaction, on_unknown): (Transaction, OnUnknownOutcome),
    work: &dyn Work<T>,
    is_abandoned: &(dyn Fn() -> bool + Sync),
) -> Result<T> {
    let mut attempts = 0;
    loop {
        let (value, failure) = match run_retrying(pool, limits, transaction, work, is_abandoned, &mut attempts).await? {
            Completion::Done(value) => return Ok(value),
            Completion::Unknown(value, failure) => (value, failure),
        };
        match on_unknown {
            OnUnknownOutcome::Fail => return Err(failure.into()),
            OnUnknownOutcome::Retry => {}
            OnUnknownOutcome::LookUp(attempt) => {
                let check = is_completed(attempt);
                // Explicit, since what a transaction has read is certain only once it has ended.
                match run_retrying(pool, limits, Transaction::Explicit, &check, is_abandoned, &mut 0).await? {
                    Completion::Done(true) => return Ok(value),
                    Completion::Done(false) => {}
                    Completion::Unknown(_, failure) => return Err(failure.into()),
                }
            }
        }
        if attempts >= MAX_ATTEMPTS {
            return Err(failure.into());
        }
    }
}

/// Runs work on a pooled connection, and again only if it was certainly not carried out, until it was started [`MAX_ATTEMPTS`]
/// times.
///
/// Work was certainly not carried out if the connection was lost before the end of its transaction. Work that fails within
/// [`Limits::lock`] for a reason that the driver does not report is retried once, on a connection without prepared statements:
/// a migration may have changed the result of a statement since it was prepared (SQLSTATE 0A000), or something in between,
/// such as a pooler, may have dropped the statement (26000). So is work that a server refuses because it takes no more writes:
/// another one may take them.
async fn run_retrying<T>(
    pool: &Pool,
    limits: Limits,
    transaction: Transaction,
    work: &dyn Work<T>,
    is_abandoned: &(dyn Fn() -> bool + Sync),
    attempts: &mut u32,
) -> Result<Completion<T>> {
    let mut is_first = true;
    loop {
        *attempts += 1;
        let got = timeout(limits.wait, pool.get()).await;
        let got = got.map_err(|_| Error::unavailable("no connection to the database became free in time"))?;
        let mut conn = got.map_err(|error| match error {
            // The pool's error would only repeat the text of this one.
            PoolError::Backend(error) => Error::unavailable(error),
            error => Error::unavailable(error),
        })?;
        if is_abandoned() {
            return Err(Error::unavailable("the request was cancelled"));
        }
        let started = Instant::now();
        let transacted = AssertUnwindSafe(retry_conflicts(&mut conn, limits, transaction, work)).catch_unwind();
        let outcome = match timeout(limits.work, transacted).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => {
                // The connection is in an unknown state, so it is closed.
                drop(Object::take(conn));
                return Err(Error::internal("work on the database panicked"));
            }
            Err(_) => {
                tokio::spawn(close_once_answered(pool.clone(), conn));
                return Err(timed_out());
            }
        };
        let failure = match outcome {
            Ok(Completion::Done(value)) => return Ok(Completion::Done(value)),
            Ok(unknown) => {
                pool.manager().invalidate_all();
                return Ok(unknown);
            }
            Err(failure) => failure,
        };
        let is_lost = failure.is_of_lost_connection();
        let may_do_again = if is_lost {
            transaction != Transaction::Statement && *attempts < MAX_ATTEMPTS
        } else if is_first && started.elapsed() < limits.lock {
            is_first = false;
            // A server may report that it ends the connection after it has carried out the statement.
            failure.is_read_only()
                || failure.is_unexplained()
                    && (transaction != Transaction::Statement || is_responsive(&conn, limits).await)
        } else {
            false
        };
        if is_lost || may_do_again {
            // The other connections are most likely in the same state.
            pool.manager().invalidate_all();
        }
        if !may_do_again {
            return Err(failure.into());
        }
    }
}

/// Closes a connection whose server took too long, once the server answers. Until then the server's session lives on, for
/// example while a commit waits for a replica, and a new connection in its place in the pool would be one too many. The wait
/// ends early if another server takes over, and after [`MAX_HOLD`].
async fn close_once_answered(pool: Pool, conn: Object<Manager>) {
    let made = Object::metrics(&conn).created;
    let answered = async { (&*conn).batch_execute("").await };
    let moved = async {
        while !pool.manager().has_failed_over_since(made) {
            sleep(PING_AFTER_IDLE).await;
        }
    };
    let _ = timeout(MAX_HOLD, select(pin!(answered), pin!(moved))).await;
    drop(Object::take(conn));
}

/// Returns whether a connection answers in time.
async fn is_responsive(mut conn: Conn<'_>, limits: Limits) -> bool {
    matches!(timeout(limits.ping_timeout(), conn.batch_execute("")).await, Ok(Ok(())))
}

/// Runs work, and again while it conflicts with other work, for as long as it may wait for a lock.
async fn retry_conflicts<T>(
    conn: &mut AsyncPgConnection,
    limits: Limits,
    transaction: Transaction,
    work: &dyn Work<T>,
) -> Outcome<Completion<T>> {
    let (started, mut attempts) = (Instant::now(), 0);
    loop {
        attempts += 1;
        let outcome = match transaction {
            Transaction::Read | Transaction::Statement => work(&mut &*conn).await.map(Completion::Done),
            Transaction::Explicit => transact(conn, work).await,
        };
        match outcome {
            Err(failure) if is_conflict(&failure) && started.elapsed() < limits.lock => back_off(attempts).await,
            outcome => return outcome,
        }
    }
}

async fn transact<T>(conn: &mut AsyncPgConnection, work: &dyn Work<T>) -> Outcome<Completion<T>> {
    type Transactions = <AsyncPgConnection as AsyncConnection>::TransactionManager;
    Transactions::begin_transaction(conn).await?;
    match work(&mut &*conn).await {
        Ok(value) => match Transactions::commit_transaction(conn).await.map_err(Failure::from) {
            Ok(()) => Ok(Completion::Done(value)),
            // A server may report that it ends the connection after it has committed.
            Err(failure) if failure.is_of_lost_connection() || failure.is_unexplained() => {
                Ok(Completion::Unknown(value, failure))
            }
            Err(failure) => Err(failure),
        },
        Err(failure) => {
            // If this fails too, the connection is broken and leaves the pool; the first failure is the cause to report.
            let _ = Transactions::rollback_transaction(conn).await;
            Err(failure)
        }
    }
}

/// Returns work that checks whether an attempt has an outcome, once no transaction in progress may still give it one.
fn is_completed(attempt: DbId) -> impl Work<bool> {
    move |conn| {
        Box::pin(async move {
            let record = idempotency::table.find(attempt).select(idempotency::outcome.is_not_null()).for_update();
            Ok(record.get_result(conn).await.optional()?.unwrap_or(false))
        })
    }
}
