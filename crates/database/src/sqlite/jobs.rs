//! The jobs that the threads take from their queues, and the loops that run them.

use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU64, AtomicUsize};

use agora_domain::Error;
use diesel::result::Error as DieselError;
use diesel::{Connection, SqliteConnection};
use tokio::sync::oneshot;

use super::events::{keep_first, publish, recorded_count};
use super::log::Log;
use super::queue::Queue;
use crate::error::{Failure, Outcome};
use crate::event_window::Window;
use crate::figures::WriteGroups;
use crate::mutex::lock;

/// Work on the database.
pub(crate) trait Job<T>: FnOnce(&mut SqliteConnection) -> Outcome<T> + Send + 'static {}

impl<T, F: FnOnce(&mut SqliteConnection) -> Outcome<T> + Send + 'static> Job<T> for F {}

/// How many writes share one commit at most: bounds how long the first of them waits.
const MAX_WRITES_PER_COMMIT: usize = 256;

/// How many reads share one snapshot at most: bounds how long it keeps the write-ahead log from starting over.
const MAX_READS_PER_SNAPSHOT: usize = 16;

/// A read in the queue.
pub(super) struct Read {
    /// How many reads were requested before it.
    number: u64,
    job: ReadJob,
}

/// Runs the work on the snapshot that was started, or reports why none could be. Returns whether other reads can share the
/// snapshot afterwards.
type ReadJob = Box<dyn FnOnce(Result<&mut SqliteConnection, DieselError>) -> bool + Send>;

impl Read {
    /// Returns a read whose outcome goes to `reply`.
    pub(super) fn new<T: Send + 'static>(
        reads_requested: &AtomicU64,
        work: impl Job<T>,
        reply: oneshot::Sender<Outcome<T>>,
    ) -> Self {
        let job = move |conn: Result<&mut SqliteConnection, DieselError>| {
            if reply.is_closed() {
                return true;
            }
            let outcome = conn.map_err(Failure::from).and_then(|conn| catching_panics(work, conn));
            let is_sound = outcome.as_ref().err().is_none_or(Failure::is_contained);
            // The receiver is gone if the request was cancelled.
            let _ = reply.send(outcome);
            is_sound
        };
        Self { number: reads_requested.fetch_add(1, SeqCst), job: Box::new(job) }
    }
}

/// A write that is committed as one of a group.
pub(super) trait WriteJob: Send {
    /// Runs the work in a savepoint. Fails, with the cause, if the whole group must be rolled back.
    fn run(&mut self, conn: &mut SqliteConnection) -> Result<(), String>;
    /// Reports the outcome to whoever waits for it, once the group is committed or has failed with a cause.
    fn finish(self: Box<Self>, group: Result<(), &str>);
}

pub(super) struct Write<T, F, A> {
    pub(super) work: Option<F>,
    pub(super) outcome: Option<Outcome<T>>,
    /// Called with the value once it is committed, whether or not anybody waits for it.
    pub(super) after: A,
    pub(super) reply: oneshot::Sender<Outcome<T>>,
}

impl<T, F, A> WriteJob for Write<T, F, A>
where
    T: Send,
    F: Job<T>,
    A: FnOnce(&T) + Send,
{
    fn run(&mut self, conn: &mut SqliteConnection) -> Result<(), String> {
        let Some(work) = self.work.take().filter(|_| !self.reply.is_closed()) else { return Ok(()) };
        // Kept before the savepoint is rolled back: if that fails too, its error takes the place of the cause.
        let mut cause = None;
        let recorded = recorded_count();
        let outcome = conn.transaction(|conn| {
            let outcome = catching_panics(work, conn);
            cause = outcome.as_ref().err().filter(|failure| !failure.is_contained()).map(ToString::to_string);
            outcome
        });
        if outcome.is_err() {
            keep_first(recorded);
        }
        match (cause, outcome) {
            (Some(cause), _) => Err(cause),
            (None, Err(failure)) if !failure.is_contained() => Err(failure.to_string()),
            (None, outcome) => {
                self.outcome = Some(outcome);
                Ok(())
            }
        }
    }

    fn finish(self: Box<Self>, group: Result<(), &str>) {
        let outcome = match (group, self.outcome) {
            (Ok(()), Some(outcome)) => outcome,
            // Even a refusal may be based on what another job of the group had written, which is rolled back.
            (Err(cause), _) => Err(Failure::Rule(Error::unavailable(cause))),
            // Nobody waited for it any more when it was to run.
            (Ok(()), None) => return,
        };
        if let Ok(value) = &outcome {
            (self.after)(value);
        }
        // The receiver is gone if the request was cancelled.
        let _ = self.reply.send(outcome);
    }
}

pub(super) fn read_loop(
    mut conn: SqliteConnection,
    jobs: &Queue<Read>,
    busy: &AtomicUsize,
    reads_requested: &AtomicU64,
) {
    let mut next = jobs.pop();
    while let Some(first) = next {
        busy.fetch_add(1, Relaxed);
        let leftover = read_group(&mut conn, first, jobs, reads_requested);
        busy.fetch_sub(1, Relaxed);
        next = leftover.or_else(|| jobs.pop());
    }
}

/// Runs a read, and then, on the same snapshot, those that were requested before the snapshot was started: it includes everything
/// that was written before their requests. Returns a read that it took from the queue but did not run.
fn read_group(
    conn: &mut SqliteConnection,
    first: Read,
    jobs: &Queue<Read>,
    reads_requested: &AtomicU64,
) -> Option<Read> {
    let horizon = reads_requested.load(SeqCst);
    let (mut first, mut leftover) = (Some(first.job), None);
    let outcome = conn.transaction(|conn| {
        let mut is_sound = first.take().is_none_or(|job| job(Ok(&mut *conn)));
        for _ in 1..MAX_READS_PER_SNAPSHOT {
            if !is_sound {
                return Err(DieselError::RollbackTransaction);
            }
            match jobs.try_pop() {
                Some(read) if read.number < horizon => is_sound = (read.job)(Ok(&mut *conn)),
                other => {
                    leftover = other;
                    break;
                }
            }
        }
        Ok(())
    });
    if let (Some(job), Err(error)) = (first, outcome) {
        job(Err(error));
    }
    leftover
}

/// Runs work. A panic in it is a failure, which is rolled back like any other.
pub(super) fn catching_panics<T>(
    work: impl FnOnce(&mut SqliteConnection) -> Outcome<T>,
    conn: &mut SqliteConnection,
) -> Outcome<T> {
    let panicked = |_| Err(Failure::Rule(Error::internal("work on the database panicked")));
    catch_unwind(AssertUnwindSafe(|| work(conn))).unwrap_or_else(panicked)
}

/// Commits the queued writes in groups, and counts those that it has committed.
pub(super) fn write_loop(
    mut conn: SqliteConnection,
    jobs: &Queue<Box<dyn WriteJob>>,
    busy: &AtomicUsize,
    committed: &Mutex<WriteGroups>,
    events: &Window,
    mut log: Log,
) {
    let mut has_failed = false;
    while let Some(first) = jobs.pop() {
        let others = iter::from_fn(|| jobs.try_pop());
        let group: Vec<_> = iter::once(first).chain(others).take(MAX_WRITES_PER_COMMIT).collect();
        let writes = group.len();
        busy.store(writes, Relaxed);
        log.make_room(&mut conn, has_failed);
        has_failed = !write_group(&mut conn, group, events);
        busy.store(0, Relaxed);
        if !has_failed {
            let mut committed = lock(committed);
            committed.groups += 1;
            committed.writes += u64::try_from(writes).unwrap_or(u64::MAX);
        }
    }
}

/// Commits a group, or reports to all of its jobs why it could not. Returns whether it was committed.
fn write_group(conn: &mut SqliteConnection, mut group: Vec<Box<dyn WriteJob>>, events: &Window) -> bool {
    let mut cause = None;
    let committed = conn.immediate_transaction(|conn| {
        group.iter_mut().try_for_each(|job| job.run(conn)).map_err(|text| {
            cause = Some(text);
            DieselError::RollbackTransaction
        })
    });
    let failure = committed.err().map(|error| cause.unwrap_or_else(|| error.to_string()));
    if let Some(cause) = &failure {
        // Each job reports the cause to its caller.
        tracing::debug!(cause, jobs = group.len(), "rolled back a group of writes");
        keep_first(0);
    }
    // Before any caller learns that its write is done.
    publish(events);
    for job in group {
        job.finish(failure.as_deref().map_or(Ok(()), Err));
    }
    failure.is_none()
}
