//! What the threads take from their queues, and what they do with it.

use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU64, AtomicUsize};

use agora_domain::Error;
use diesel::result::Error as DieselError;
use diesel::{Connection, SqliteConnection};
use tokio::sync::oneshot;

use super::events::{forget_after, publish, recorded};
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
const GROUP: usize = 256;

/// How many reads share one snapshot at most: bounds how long it keeps the write-ahead log from starting over.
const SHARED: usize = 16;

/// A read that waits for its turn.
pub(super) struct Read {
    /// How many were asked for before it.
    asked: u64,
    job: ReadJob,
}

/// Does the work in the snapshot that was begun, or tells that none could be. Whether others can share it afterwards.
type ReadJob = Box<dyn FnOnce(Result<&mut SqliteConnection, DieselError>) -> bool + Send>;

impl Read {
    /// Returns a read whose outcome goes to `reply`.
    pub(super) fn new<T: Send + 'static>(
        asked: &AtomicU64,
        work: impl Job<T>,
        reply: oneshot::Sender<Outcome<T>>,
    ) -> Self {
        let job = move |conn: Result<&mut SqliteConnection, DieselError>| {
            if reply.is_closed() {
                return true;
            }
            let outcome = conn.map_err(Failure::from).and_then(|conn| catching_panics(work, conn));
            let is_sound = outcome.as_ref().err().is_none_or(Failure::is_contained);
            // Whoever no longer waits does not miss it.
            let _ = reply.send(outcome);
            is_sound
        };
        Self { asked: asked.fetch_add(1, SeqCst), job: Box::new(job) }
    }
}

/// A write that takes its turn in a group.
pub(super) trait WriteJob: Send {
    /// Does the work in a savepoint. Fails, with the cause, when the whole group must be rolled back.
    fn run(&mut self, conn: &mut SqliteConnection) -> Result<(), String>;
    /// Tells the outcome to whoever waits, once the group is committed or has failed with a cause.
    fn finish(self: Box<Self>, group: Result<(), &str>);
}

pub(super) struct Write<T, F, A> {
    pub(super) work: Option<F>,
    pub(super) outcome: Option<Outcome<T>>,
    /// What is to happen once it is stored, whether or not anybody waits.
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
        // Kept before the savepoint is rolled back: when that fails too, its error takes the place of the cause.
        let mut cause = None;
        let recorded = recorded();
        let outcome = conn.transaction(|conn| {
            let outcome = catching_panics(work, conn);
            cause = outcome.as_ref().err().filter(|failure| !failure.is_contained()).map(ToString::to_string);
            outcome
        });
        if outcome.is_err() {
            forget_after(recorded);
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
            // Even a refusal may rest on what another job of the group had written, and that is undone.
            (Err(cause), _) => Err(Failure::Rule(Error::unavailable(cause))),
            // Nobody waited any more when its turn came.
            (Ok(()), None) => return,
        };
        if let Ok(value) = &outcome {
            (self.after)(value);
        }
        // Whoever no longer waits does not miss it.
        let _ = self.reply.send(outcome);
    }
}

pub(super) fn read_loop(mut conn: SqliteConnection, jobs: &Queue<Read>, busy: &AtomicUsize, asked: &AtomicU64) {
    let mut next = jobs.pop();
    while let Some(first) = next {
        busy.fetch_add(1, Relaxed);
        let beyond = read_group(&mut conn, first, jobs, asked);
        busy.fetch_sub(1, Relaxed);
        next = beyond.or_else(|| jobs.pop());
    }
}

/// Does a read, and then on the same snapshot those that were asked for before it was begun: they see all that whoever
/// asked can know of. Returns what it took from the queue and did not do.
fn read_group(conn: &mut SqliteConnection, first: Read, jobs: &Queue<Read>, asked: &AtomicU64) -> Option<Read> {
    let horizon = asked.load(SeqCst);
    let (mut first, mut beyond) = (Some(first.job), None);
    let begun = conn.transaction(|conn| {
        let mut is_sound = first.take().is_none_or(|job| job(Ok(&mut *conn)));
        for _ in 1..SHARED {
            if !is_sound {
                return Err(DieselError::RollbackTransaction);
            }
            match jobs.try_pop() {
                Some(read) if read.asked < horizon => is_sound = (read.job)(Ok(&mut *conn)),
                other => {
                    beyond = other;
                    break;
                }
            }
        }
        Ok(())
    });
    if let (Some(job), Err(error)) = (first, begun) {
        job(Err(error));
    }
    beyond
}

/// Returns the outcome of work; a panic in it is a failure like others, and undone like them.
pub(super) fn catching_panics<T>(
    work: impl FnOnce(&mut SqliteConnection) -> Outcome<T>,
    conn: &mut SqliteConnection,
) -> Outcome<T> {
    let panicked = |_| Err(Failure::Rule(Error::internal("work on the database panicked")));
    catch_unwind(AssertUnwindSafe(|| work(conn))).unwrap_or_else(panicked)
}

/// Commits the writes in groups, and counts those that it has committed.
pub(super) fn write_loop(
    mut conn: SqliteConnection,
    jobs: &Queue<Box<dyn WriteJob>>,
    busy: &AtomicUsize,
    done: &Mutex<WriteGroups>,
    events: &Window,
    mut log: Log,
) {
    let mut has_failed = false;
    while let Some(first) = jobs.pop() {
        let others = iter::from_fn(|| jobs.try_pop());
        let group: Vec<_> = iter::once(first).chain(others).take(GROUP).collect();
        let writes = group.len();
        busy.store(writes, Relaxed);
        log.make_room(&mut conn, has_failed);
        has_failed = !write_group(&mut conn, group, events);
        busy.store(0, Relaxed);
        if !has_failed {
            let mut done = lock(done);
            done.groups += 1;
            done.writes += u64::try_from(writes).unwrap_or(u64::MAX);
        }
    }
}

/// Commits a group, or tells all of it why it could not be; whether it was committed.
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
        // Each of them tells whoever asked for it.
        tracing::debug!(cause, jobs = group.len(), "a group of writes was rolled back");
        forget_after(0);
    }
    // Before anybody is told that it is done.
    publish(events);
    for job in group {
        job.finish(failure.as_deref().map_or(Ok(()), Err));
    }
    failure.is_none()
}
