//! Work on a connection of the pool, and work that is done again.

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

use super::conflict::{give_way, is_conflict};
use super::dialect::{Conn, RunQueryDsl, Work};
use super::pool::{Limits, Manager, Pool, UNPROVEN, too_late};
use crate::error::{Failure, Outcome};
use crate::schema::idempotency;
use crate::sql_types::DbId;

/// How often work whose connection is lost is begun at most: a server that stops may take a second connection before it ends that as well.
pub(super) const MOST_ATTEMPTS: u32 = 3;

/// For how long a connection whose server does not answer keeps its place in the pool at most: that server may be there and do nothing any
/// more, and its name lead to another one.
const HELD: Duration = Duration::from_secs(120);

/// Which transaction work is done in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transaction {
    /// It only reads, and each statement is its own.
    Read,
    /// Its one statement is its own.
    Statement,
    /// One around all of it.
    Explicit,
}

/// What is done about a transaction of which nobody knows whether it was carried out: its connection was lost before the answer to its
/// `COMMIT` came.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unknown {
    /// It has failed.
    Fails,
    /// It is done again, which changes nothing.
    IsDoneAgain,
    /// If the attempt that it completes has an outcome, it was carried out. Otherwise it is done again.
    IsLookedUp(DbId),
}

/// How work ended that nothing has refused.
enum Ended<T> {
    Done(T),
    /// It was to give this, but nobody knows whether it was carried out, for this failure.
    Unknown(T, Failure),
}

/// Does work on a connection of the pool, unless nobody waits for it any more when there is one.
pub(super) async fn carry_out<T>(
    pool: &Pool,
    limits: Limits,
    (transaction, unknown): (Transaction, Unknown),
    work: &dyn Work<T>,
    is_abandoned: &(dyn Fn() -> bool + Sync),
) -> Result<T> {
    let mut attempts = 0;
    loop {
        let (value, failure) = match do_safely(pool, limits, transaction, work, is_abandoned, &mut attempts).await? {
            Ended::Done(value) => return Ok(value),
            Ended::Unknown(value, failure) => (value, failure),
        };
        match unknown {
            Unknown::Fails => return Err(failure.into()),
            Unknown::IsDoneAgain => {}
            Unknown::IsLookedUp(attempt) => {
                let look = is_completed(attempt);
                // What a transaction has read holds once it has ended.
                match do_safely(pool, limits, Transaction::Explicit, &look, is_abandoned, &mut 0).await? {
                    Ended::Done(true) => return Ok(value),
                    Ended::Done(false) => {}
                    Ended::Unknown(_, failure) => return Err(failure.into()),
                }
            }
        }
        if attempts >= MOST_ATTEMPTS {
            return Err(failure.into());
        }
    }
}

/// Does work on a connection of the pool; again only where it was not carried out for certain, and until it was begun [`MOST_ATTEMPTS`] times.
///
/// That is so when the connection was lost before the end of its transaction. What fails at once and for a reason that the driver does not
/// tell is done once more, on a connection that has nothing prepared: a migration may have changed what a statement gives since it was
/// prepared (SQLSTATE 0A000), or somebody in between may have forgotten it (26000). So is what a server refuses that takes no writes any
/// more: another one may.
async fn do_safely<T>(
    pool: &Pool,
    limits: Limits,
    transaction: Transaction,
    work: &dyn Work<T>,
    is_abandoned: &(dyn Fn() -> bool + Sync),
    attempts: &mut u32,
) -> Result<Ended<T>> {
    let mut is_first = true;
    loop {
        *attempts += 1;
        let got = timeout(limits.wait, pool.get()).await;
        let got = got.map_err(|_| Error::unavailable("no connection to the database became free in time"))?;
        let mut conn = got.map_err(|error| match error {
            // Whose own text the pool's would repeat.
            PoolError::Backend(error) => Error::unavailable(error),
            error => Error::unavailable(error),
        })?;
        if is_abandoned() {
            return Err(Error::unavailable("the request has gone away"));
        }
        let begun = Instant::now();
        let transacted = AssertUnwindSafe(transact_again(&mut conn, limits, transaction, work)).catch_unwind();
        let outcome = match timeout(limits.work, transacted).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => {
                // In no known state, it is closed.
                drop(Object::take(conn));
                return Err(Error::internal("work on the database panicked"));
            }
            Err(_) => {
                tokio::spawn(close_once_answered(pool.clone(), conn));
                return Err(too_late());
            }
        };
        let failure = match outcome {
            Ok(Ended::Done(value)) => return Ok(Ended::Done(value)),
            Ok(unknown) => {
                pool.manager().distrust();
                return Ok(unknown);
            }
            Err(failure) => failure,
        };
        let is_lost = failure.is_of_lost_connection();
        let may_do_again = if is_lost {
            transaction != Transaction::Statement && *attempts < MOST_ATTEMPTS
        } else if is_first && begun.elapsed() < limits.lock {
            is_first = false;
            // The last word of a server that ends the connection may come after the statement was carried out.
            failure.is_read_only()
                || failure.is_unexplained() && (transaction != Transaction::Statement || is_there(&conn, limits).await)
        } else {
            false
        };
        if is_lost || may_do_again {
            // What holds for this connection does for the others, most likely.
            pool.manager().distrust();
        }
        if !may_do_again {
            return Err(failure.into());
        }
    }
}

/// Closes a connection whose server took too long, once that answers: until then its session is there, as while a commit waits for a
/// replica, and another one in its place in the pool would come on top of it. Not when another server has taken over meanwhile, nor for
/// longer than [`HELD`].
async fn close_once_answered(pool: Pool, conn: Object<Manager>) {
    let made = Object::metrics(&conn).created;
    let answered = async { (&*conn).batch_execute("").await };
    let moved = async {
        while !pool.manager().has_moved_since(made) {
            sleep(UNPROVEN).await;
        }
    };
    let _ = timeout(HELD, select(pin!(answered), pin!(moved))).await;
    drop(Object::take(conn));
}

/// Returns whether a connection answers.
async fn is_there(mut conn: Conn<'_>, limits: Limits) -> bool {
    matches!(timeout(limits.proof(), conn.batch_execute("")).await, Ok(Ok(())))
}

/// Does work, and again what conflicts with others, for as long as it may wait for a lock of theirs.
async fn transact_again<T>(
    conn: &mut AsyncPgConnection,
    limits: Limits,
    transaction: Transaction,
    work: &dyn Work<T>,
) -> Outcome<Ended<T>> {
    let (begun, mut attempts) = (Instant::now(), 0);
    loop {
        attempts += 1;
        let outcome = match transaction {
            Transaction::Read | Transaction::Statement => work(&mut &*conn).await.map(Ended::Done),
            Transaction::Explicit => transact(conn, work).await,
        };
        match outcome {
            Err(failure) if is_conflict(&failure) && begun.elapsed() < limits.lock => give_way(attempts).await,
            outcome => return outcome,
        }
    }
}

async fn transact<T>(conn: &mut AsyncPgConnection, work: &dyn Work<T>) -> Outcome<Ended<T>> {
    type Transactions = <AsyncPgConnection as AsyncConnection>::TransactionManager;
    Transactions::begin_transaction(conn).await?;
    match work(&mut &*conn).await {
        Ok(value) => match Transactions::commit_transaction(conn).await.map_err(Failure::from) {
            Ok(()) => Ok(Ended::Done(value)),
            // The last word of a server that ends the connection may come after it has committed.
            Err(failure) if failure.is_of_lost_connection() || failure.is_unexplained() => {
                Ok(Ended::Unknown(value, failure))
            }
            Err(failure) => Err(failure),
        },
        Err(failure) => {
            // When this fails too, the connection is broken and leaves the pool; the cause is the first failure.
            let _ = Transactions::rollback_transaction(conn).await;
            Err(failure)
        }
    }
}

/// Looks whether an attempt has an outcome, once no transaction is under way that may give it one.
fn is_completed(attempt: DbId) -> impl Work<bool> {
    move |conn| {
        Box::pin(async move {
            let record = idempotency::table.find(attempt).select(idempotency::outcome.is_not_null()).for_update();
            Ok(record.get_result(conn).await.optional()?.unwrap_or(false))
        })
    }
}
