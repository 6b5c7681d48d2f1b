//! Connections that reads share by pipelining.
//!
//! A statement that only reads leaves nothing open behind it: if its request is cancelled, the server still finishes it, and
//! the answer is dropped when it arrives. So the thread that serves the request can send it on a connection that this thread
//! drives itself, which saves the handover between threads that a pooled connection takes. Nor does it need a connection to
//! itself: it is sent while others still wait for their answers, so that many are sent and answered in one go.
//!
//! No pool was found that lends one connection to many at a time. With one, this module could go.

mod connection;
mod in_flight;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

use agora_domain::{Error, Result};
use tokio::runtime;
use tokio::runtime::Handle;
use tokio::sync::{Mutex as AsyncMutex, Semaphore};
use tokio::time::timeout;

use self::connection::{Pipeline, WaitingGuard};
use self::in_flight::InFlight;
use super::conflict::{back_off, is_conflict};
use super::connect::Connector;
use super::dialect::Work;
use super::pool::{Limits, timed_out};
use super::work::MAX_ATTEMPTS;
use crate::error::Outcome;
use crate::figures::Lane;
use crate::mutex::lock;

/// How many connections a runtime that serves requests makes for itself: while reads on one wait for their answers, the next
/// ones use the other.
const CONNECTIONS_PER_RUNTIME: usize = 2;

/// How many reads may be in flight on each connection, on average. Any further read waits for a permit, for a limited time.
const READS_PER_CONNECTION: usize = 16;

/// Connections that reads share.
pub(crate) struct Pipelines {
    connector: Connector,
    slots: Box<[Slot]>,
    /// The runtime that the database was opened on. If other runtimes serve requests, this one reads only for background jobs and
    /// event streams, over the connections of the others.
    background: runtime::Id,
    /// A permit for each read that may be in flight; closed with the database.
    permits: Arc<Semaphore>,
    /// How many reads wait for a permit or a connection.
    queued: Arc<AtomicUsize>,
    limits: Limits,
}

/// A place for a connection.
#[derive(Default)]
struct Slot {
    /// Held while a connection for this slot is made.
    making: AsyncMutex<()>,
    current: Mutex<Option<Arc<Pipeline>>>,
}

impl Pipelines {
    /// Creates the slots for this many connections, which are made as they are needed.
    pub(super) fn new(connector: Connector, connections: usize, limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            connector: connector.with_generic_plans(),
            slots: (0..connections).map(|_| Slot::default()).collect(),
            background: Handle::current().id(),
            permits: Arc::new(Semaphore::new(connections * READS_PER_CONNECTION)),
            queued: Arc::default(),
            limits,
        })
    }

    /// Runs work that only reads. If its connection turns out to be lost, or a prepared statement to be outdated, the work is run
    /// again on another connection.
    pub(crate) async fn run<T>(self: &Arc<Self>, work: &dyn Work<T>) -> Result<T> {
        let (started, mut attempts, mut lost) = (Instant::now(), 0, 0);
        loop {
            attempts += 1;
            match self.attempt(work).await? {
                Some(Err(failure))
                    if self.limits.may_reads_conflict
                        && is_conflict(&failure)
                        && started.elapsed() < self.limits.lock =>
                {
                    back_off(attempts).await;
                }
                Some(answer) => return Ok(answer?),
                None if lost + 1 < MAX_ATTEMPTS => lost += 1,
                None => return Err(Error::unavailable("the connection to the database was lost")),
            }
        }
    }

    /// Runs work once. Returns its outcome, or `None` if its connection is of no use any more.
    async fn attempt<T>(self: &Arc<Self>, work: &dyn Work<T>) -> Result<Option<Outcome<T>>> {
        let queued = WaitingGuard::new(&self.queued);
        let acquired = timeout(self.limits.wait, async {
            let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| closed())?;
            Ok::<_, Error>((permit, self.acquire().await?))
        });
        let no_connection = |_| Error::unavailable("no connection to the database became free in time");
        let (permit, (slot, pipeline)) = acquired.await.map_err(no_connection)??;
        drop(queued);
        let started = Instant::now();
        let in_flight = InFlight::begin(&pipeline, permit, self.limits.work);
        let answer = timeout(self.limits.work, work(&mut &pipeline.conn)).await;
        in_flight.end();
        let Ok(answer) = answer else {
            slot.vacate(&pipeline);
            pipeline.abort();
            return Err(timed_out());
        };
        match &answer {
            Err(failure) if failure.is_of_lost_connection() || pipeline.is_closed() => {
                if pipeline.is_aborted.load(Ordering::Acquire) {
                    // Reads that waited behind one that took too long are not run again.
                    slot.vacate(&pipeline);
                    return Err(timed_out());
                }
                // The other connections are most likely lost as well.
                self.invalidate_older_than(started);
                Ok(None)
            }
            Err(failure) if failure.is_unexplained() && started.elapsed() < self.limits.lock => {
                self.invalidate_older_than(started);
                Ok(None)
            }
            _ => {
                *lock(&pipeline.last_answer) = Instant::now();
                Ok(Some(answer))
            }
        }
    }

    /// Returns a connection that is alive, and its slot.
    async fn acquire(self: &Arc<Self>) -> Result<(&Slot, Arc<Pipeline>)> {
        let home = Handle::current().id();
        loop {
            if self.permits.is_closed() {
                return Err(closed());
            }
            let (index, slot) =
                self.choose_slot(home).ok_or_else(|| Error::internal("there is no slot for a connection"))?;
            let pipeline = match slot.current() {
                Some(pipeline) => pipeline,
                None => {
                    // In a task, which goes on if the request is cancelled: a half-made connection would not be counted.
                    let request = Arc::new(());
                    match tokio::spawn(Arc::clone(self).make(index, Arc::downgrade(&request))).await {
                        Ok(made) => match made? {
                            Some(pipeline) => pipeline,
                            None => continue,
                        },
                        Err(_) => return Err(closed()),
                    }
                }
            };
            let has_just_answered = lock(&pipeline.last_answer).elapsed() < self.limits.ping_after_idle;
            let is_alive = has_just_answered || pipeline.is_responsive(self.limits.ping_timeout()).await;
            if is_alive && !self.connector.has_failed_over_since(pipeline.made) {
                return Ok((slot, pipeline));
            }
            slot.vacate(&pipeline);
        }
    }

    /// Chooses the slot of the connection to use, and returns its index as well. In the order of preference: the least busy
    /// connection of this runtime, if it is idle or the runtime has [`CONNECTIONS_PER_RUNTIME`]; an empty slot, if necessary by
    /// closing an idle connection of the background runtime; the least busy connection, of this runtime if it has any.
    fn choose_slot(&self, home: runtime::Id) -> Option<(usize, &Slot)> {
        // Whether the connection is another runtime's, how many reads wait on it, and its index: the smallest is the best.
        let mut best: Option<(bool, usize, usize)> = None;
        let (mut empty, mut reclaimable) = (None, None);
        let mut owned = 0;
        for (index, slot) in self.slots.iter().enumerate() {
            let Some(pipeline) = slot.current() else {
                empty = empty.or(Some(index));
                continue;
            };
            let is_foreign = pipeline.home != home;
            let waiting = pipeline.waiting.load(Ordering::Relaxed);
            if is_foreign && pipeline.home == self.background && waiting == 0 {
                reclaimable = Some((index, slot, pipeline));
                continue;
            }
            owned += usize::from(!is_foreign);
            let this = (is_foreign, waiting, index);
            best = Some(best.map_or(this, |best| best.min(this)));
        }
        // More connections of its own would not answer sooner, and would send reads in smaller batches.
        let is_good_enough = best
            .is_some_and(|(is_foreign, waiting, _)| !is_foreign && (owned >= CONNECTIONS_PER_RUNTIME || waiting == 0));
        let best = best.map(|(.., index)| index);
        let reclaim = || {
            let (index, slot, pipeline) = reclaimable?;
            slot.vacate(&pipeline);
            Some(index)
        };
        let chosen = if is_good_enough { best } else { empty.or_else(reclaim).or(best) }?;
        Some((chosen, self.slots.get(chosen)?))
    }

    /// Makes a connection for an empty slot. Returns `None` if another task has made one in the meantime, or if the request is
    /// gone: while the server is away, abandoned requests would otherwise try one after the other.
    async fn make(self: Arc<Self>, index: usize, request: Weak<()>) -> Result<Option<Arc<Pipeline>>> {
        let Some(slot) = self.slots.get(index) else { return Ok(None) };
        let _making = slot.making.lock().await;
        if slot.current().is_some() || request.strong_count() == 0 {
            return Ok(None);
        }
        let (conn, driver) = self.connector.connect_driven().await.map_err(Error::unavailable)?;
        self.connector.count();
        if self.permits.is_closed() {
            return Err(closed());
        }
        let made = Arc::new(Pipeline {
            conn,
            driver,
            is_aborted: AtomicBool::new(false),
            waiting: Arc::default(),
            home: Handle::current().id(),
            made: Instant::now(),
            last_answer: Mutex::new(Instant::now()),
        });
        *lock(&slot.current) = Some(Arc::clone(&made));
        Ok(Some(made))
    }

    /// Removes each connection that was made before an instant, so that it is replaced.
    fn invalidate_older_than(&self, before: Instant) {
        for slot in &self.slots {
            lock(&slot.current).take_if(|current| current.made < before);
        }
    }

    /// Returns how busy the connections are.
    pub(super) fn lane(&self, name: &'static str) -> Lane {
        let open = self.slots.iter().filter_map(Slot::current);
        let (open, busy) =
            open.fold((0, 0), |(open, busy), pipeline| (open + 1, busy + pipeline.waiting.load(Ordering::Relaxed)));
        Lane { name, size: self.slots.len(), open, busy, waiting: self.queued.load(Ordering::Relaxed) }
    }

    /// Closes each connection once nobody waits for an answer on it; later reads are refused.
    pub(super) fn close(&self) {
        self.permits.close();
        for slot in &self.slots {
            *lock(&slot.current) = None;
        }
    }
}

fn closed() -> Error {
    Error::unavailable("the database is closed")
}

impl Slot {
    /// Returns the connection, unless it or the runtime that drove it has ended.
    fn current(&self) -> Option<Arc<Pipeline>> {
        let mut current = lock(&self.current);
        current.take_if(|pipeline| pipeline.is_closed());
        current.clone()
    }

    /// Removes the connection, if it is still in the slot, to make room for a new one.
    fn vacate(&self, pipeline: &Arc<Pipeline>) {
        lock(&self.current).take_if(|current| Arc::ptr_eq(current, pipeline));
    }
}
