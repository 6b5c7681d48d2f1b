//! Connections that reads share.
//!
//! A statement that only reads leaves nothing open behind it: if its request goes away, it is done all the same, and its
//! answer is dropped when it comes. So it can be sent by the thread that serves the request, on a connection that this
//! thread drives itself, which spares the hand over between threads that a pooled connection takes. It does not even need
//! a connection to itself: it is sent behind those that wait for their answers already, so that many travel and are
//! answered in one go.
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

use self::connection::{Pipeline, Waiting};
use self::in_flight::InFlight;
use super::conflict::{give_way, is_conflict};
use super::connect::Connector;
use super::dialect::Work;
use super::pool::{Limits, too_late};
use super::work::MOST_ATTEMPTS;
use crate::error::Outcome;
use crate::figures::Lane;
use crate::mutex::lock;

/// How many connections a thread that serves requests makes for itself: one that is waited for, one to go on with.
const PER_RUNTIME: usize = 2;

/// How many reads wait on each connection at most, on average: what comes beyond waits for its turn, and not too long.
const DEPTH: usize = 16;

/// Connections that reads share.
pub(crate) struct Pipelines {
    connector: Connector,
    slots: Box<[Slot]>,
    /// The runtime that the database was opened on. Where others serve requests, it reads for jobs in the background and for streams of
    /// events, over connections of theirs.
    background: runtime::Id,
    /// A permit for each read that the server may be at work on; closed with the database.
    permits: Arc<Semaphore>,
    /// How many reads wait for their permit or for a connection.
    queued: Arc<AtomicUsize>,
    limits: Limits,
}

/// A place for a connection.
#[derive(Default)]
struct Slot {
    making: AsyncMutex<()>,
    current: Mutex<Option<Arc<Pipeline>>>,
}

impl Pipelines {
    /// So many connections, with many reads on each at a time.
    pub(super) fn new(connector: Connector, connections: usize, limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            connector: connector.planning_once(),
            slots: (0..connections).map(|_| Slot::default()).collect(),
            background: Handle::current().id(),
            permits: Arc::new(Semaphore::new(connections * DEPTH)),
            queued: Arc::default(),
            limits,
        })
    }

    /// Runs work that reads. On a connection that turns out to be lost, or that has prepared what is no longer so, it is
    /// done again, on another one.
    pub(crate) async fn run<T>(self: &Arc<Self>, work: &dyn Work<T>) -> Result<T> {
        let (begun, mut attempts, mut lost) = (Instant::now(), 0, 0);
        loop {
            attempts += 1;
            match self.attempt(work).await? {
                Some(Err(failure))
                    if self.limits.do_reads_conflict && is_conflict(&failure) && begun.elapsed() < self.limits.lock =>
                {
                    give_way(attempts).await;
                }
                Some(answer) => return Ok(answer?),
                None if lost + 1 < MOST_ATTEMPTS => lost += 1,
                None => return Err(Error::unavailable("the connection to the database was lost")),
            }
        }
    }

    /// Does work once; its outcome, or nothing when its connection is of no use any more.
    async fn attempt<T>(self: &Arc<Self>, work: &dyn Work<T>) -> Result<Option<Outcome<T>>> {
        let queued = Waiting::on(&self.queued);
        let acquired = timeout(self.limits.wait, async {
            let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| closed())?;
            Ok::<_, Error>((permit, self.acquire().await?))
        });
        let no_connection = |_| Error::unavailable("no connection to the database became free in time");
        let (permit, (slot, pipeline)) = acquired.await.map_err(no_connection)??;
        drop(queued);
        let begun = Instant::now();
        let in_flight = InFlight::begin(&pipeline, permit, self.limits.work);
        let answer = timeout(self.limits.work, work(&mut &pipeline.conn)).await;
        in_flight.end();
        let Ok(answer) = answer else {
            slot.vacate(&pipeline);
            pipeline.give_up();
            return Err(too_late());
        };
        match &answer {
            Err(failure) if failure.is_of_lost_connection() || pipeline.is_closed() => {
                if pipeline.is_given_up.load(Ordering::Acquire) {
                    // Not once more for what waited behind a read that took too long.
                    slot.vacate(&pipeline);
                    return Err(too_late());
                }
                // So are the others, most likely.
                self.distrust(begun);
                Ok(None)
            }
            Err(failure) if failure.is_unexplained() && begun.elapsed() < self.limits.lock => {
                self.distrust(begun);
                Ok(None)
            }
            _ => {
                *lock(&pipeline.answered) = Instant::now();
                Ok(Some(answer))
            }
        }
    }

    /// Returns a connection that is there.
    async fn acquire(self: &Arc<Self>) -> Result<(&Slot, Arc<Pipeline>)> {
        let home = Handle::current().id();
        loop {
            if self.permits.is_closed() {
                return Err(closed());
            }
            let (place, slot) =
                self.choose(home).ok_or_else(|| Error::internal("there is no place for a connection"))?;
            let pipeline = match slot.current() {
                Some(pipeline) => pipeline,
                None => {
                    // Once begun, it goes on being made when the request goes away: half made, it would be one that nobody counts.
                    let asking = Arc::new(());
                    match tokio::spawn(Arc::clone(self).make(place, Arc::downgrade(&asking))).await {
                        Ok(made) => match made? {
                            Some(pipeline) => pipeline,
                            None => continue,
                        },
                        Err(_) => return Err(closed()),
                    }
                }
            };
            let is_proven = lock(&pipeline.answered).elapsed() < self.limits.unproven;
            let is_there = is_proven || pipeline.is_there(self.limits.proof()).await;
            if is_there && !self.connector.has_moved_since(pipeline.made) {
                return Ok((slot, pipeline));
            }
            slot.vacate(&pipeline);
        }
    }

    /// Returns the place of a connection of this runtime that nothing waits on; or an empty place, if need be one that was in the
    /// background's way; or that with the least to wait for.
    fn choose(&self, home: runtime::Id) -> Option<(usize, &Slot)> {
        // Whether it is another runtime's, how many wait on it, and its place: the least is the best.
        let mut best: Option<(bool, usize, usize)> = None;
        let (mut empty, mut taken) = (None, None);
        let mut owned = 0;
        for (place, slot) in self.slots.iter().enumerate() {
            let Some(pipeline) = slot.current() else {
                empty = empty.or(Some(place));
                continue;
            };
            let is_foreign = pipeline.home != home;
            let waiting = pipeline.waiting.load(Ordering::Relaxed);
            if is_foreign && pipeline.home == self.background && waiting == 0 {
                taken = Some((place, slot, pipeline));
                continue;
            }
            owned += usize::from(!is_foreign);
            let this = (is_foreign, waiting, place);
            best = Some(best.map_or(this, |best| best.min(this)));
        }
        // More than so many of its own would answer no sooner, and travel in smaller groups.
        let will_do =
            best.is_some_and(|(is_foreign, waiting, _)| !is_foreign && (owned >= PER_RUNTIME || waiting == 0));
        let best = best.map(|(.., place)| place);
        let emptied = || {
            let (place, slot, pipeline) = taken?;
            slot.vacate(&pipeline);
            Some(place)
        };
        let chosen = if will_do { best } else { empty.or_else(emptied).or(best) }?;
        Some((chosen, self.slots.get(chosen)?))
    }

    /// Makes a connection for an empty place; nothing when somebody else made one meanwhile, or when nobody asks for it any more: while
    /// the server is away, those who gave up would otherwise try one after the other.
    async fn make(self: Arc<Self>, place: usize, asking: Weak<()>) -> Result<Option<Arc<Pipeline>>> {
        let Some(slot) = self.slots.get(place) else { return Ok(None) };
        let _making = slot.making.lock().await;
        if slot.current().is_some() || asking.strong_count() == 0 {
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
            is_given_up: AtomicBool::new(false),
            waiting: Arc::default(),
            home: Handle::current().id(),
            made: Instant::now(),
            answered: Mutex::new(Instant::now()),
        });
        *lock(&slot.current) = Some(Arc::clone(&made));
        Ok(Some(made))
    }

    /// Has each connection replaced that was made before an instant.
    fn distrust(&self, before: Instant) {
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
    /// Returns the connection. Its end is known at once; so is that of the runtime that drove it.
    fn current(&self) -> Option<Arc<Pipeline>> {
        let mut current = lock(&self.current);
        current.take_if(|pipeline| pipeline.is_closed());
        current.clone()
    }

    /// Takes the connection out of its place, for a new one.
    fn vacate(&self, pipeline: &Arc<Pipeline>) {
        lock(&self.current).take_if(|current| Arc::ptr_eq(current, pipeline));
    }
}
