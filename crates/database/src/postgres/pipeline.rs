//! Connections for single statements.
//!
//! A statement that is its own transaction leaves nothing open behind it: if its request goes away, it is done all the
//! same, and its answer is dropped when it comes. So it can be sent by the thread that serves the request, on a
//! connection that this thread drives itself, which spares the hand over between threads that work in several steps
//! takes. One that reads little does not even need a connection to itself: it is sent behind those that wait for their
//! answers already, so that many travel and are answered in one go. One that writes waits for locks and for the disk,
//! and no other is to wait behind it.

mod connection;
mod in_flight;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agora_domain::Error;
use tokio::runtime;
use tokio::runtime::Handle;
use tokio::sync::{Mutex as AsyncMutex, Semaphore};
use tokio::time::timeout;
use tokio_postgres::Row;

use self::connection::{Call, Pipeline, Waiting, lock};
pub(crate) use self::connection::{PreparedSql, Values};
use self::in_flight::InFlight;
use super::connect::Connector;
use super::dialect::ATTEMPTS;
use super::pool::PROOF;
use super::query_error::{QueryError, is_rolled_back, is_shutdown};
use crate::figures::Lane;

/// How many shared connections a thread that serves requests makes for itself: one that is waited for, one to go on
/// with.
const SHARED_PER_RUNTIME: usize = 2;

/// How many statements wait on each shared connection at most, on average: what comes beyond waits for its turn, and not
/// too long.
const DEPTH: usize = 16;

/// What statements here rely on: each walks an index and looks up the rest by key, one row at a time. What the planner
/// makes of its estimates for lists of unknown length, or of the values of the first five executions, could be worse by
/// orders of magnitude for others, so it is told.
pub(super) const PLANNING: &str = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; \
    SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off; SET jit = off";

/// How connections to one database are used.
pub(super) struct Limits {
    /// How long a request waits for a connection.
    pub(super) wait: Duration,
    /// How long a statement may take.
    pub(super) statement: Duration,
    /// After how long without an answer a connection has to prove that it is still there.
    pub(super) unproven: Duration,
}

/// Connections that statements share, or that each has to itself.
pub(crate) struct Pipelines {
    connector: Connector,
    slots: Box<[Slot]>,
    /// A permit for each statement that the server may be at work on.
    permits: Arc<Semaphore>,
    /// How many statements wait for their permit or for a connection.
    queued: AtomicUsize,
    is_shared: bool,
    /// Grows with each connection that is lost, or that leads to another server than those before.
    lost: AtomicU64,
    /// Which server the last connection led to.
    server: Mutex<String>,
    closed: AtomicBool,
    limits: Limits,
}

/// A place for a connection.
#[derive(Default)]
struct Slot {
    making: AsyncMutex<()>,
    current: Mutex<Option<Arc<Pipeline>>>,
}

impl Pipelines {
    /// So many connections for statements that read, and that are many on each at a time.
    pub(super) fn shared(connector: Connector, connections: usize, limits: Limits) -> Arc<Self> {
        Self::new(connector, connections, DEPTH, limits)
    }

    /// So many connections with one statement on each at a time.
    pub(super) fn exclusive(connector: Connector, connections: usize, limits: Limits) -> Arc<Self> {
        Self::new(connector, connections, 1, limits)
    }

    fn new(connector: Connector, connections: usize, depth: usize, limits: Limits) -> Arc<Self> {
        let slots = (0..connections).map(|_| Slot::default()).collect();
        let permits = Arc::new(Semaphore::new(connections * depth));
        Arc::new(Self {
            connector,
            slots,
            permits,
            queued: AtomicUsize::new(0),
            is_shared: depth > 1,
            lost: AtomicU64::new(0),
            server: Mutex::default(),
            closed: AtomicBool::new(false),
            limits,
        })
    }

    /// Runs a statement; its rows. On a shared connection that turns out to be lost, it only reads, and is sent again; so
    /// is one that PostgreSQL ends and undoes because of others.
    pub(crate) async fn query(
        self: &Arc<Self>,
        text: &PreparedSql,
        values: Values<'_>,
    ) -> Result<Vec<Row>, QueryError> {
        Ok(self.repeat((text, values), None).await?.0)
    }

    /// Runs two statements that do not wait for each other, as [`query`](Self::query) does one.
    pub(crate) async fn query_both(
        self: &Arc<Self>,
        [one, two]: [(&PreparedSql, Values<'_>); 2],
    ) -> Result<[Vec<Row>; 2], QueryError> {
        Ok(self.repeat(one, Some(two)).await?.into())
    }

    async fn repeat(
        self: &Arc<Self>,
        one: Call<'_>,
        two: Option<Call<'_>>,
    ) -> Result<(Vec<Row>, Vec<Row>), QueryError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.run(one, two).await {
                Err(QueryError::ConnectionLost) if attempts == 1 && self.is_shared => {}
                Err(QueryError::Statement(error)) if attempts < ATTEMPTS && is_rolled_back(&error) => {}
                outcome => return outcome,
            }
        }
    }

    async fn run(self: &Arc<Self>, one: Call<'_>, two: Option<Call<'_>>) -> Result<(Vec<Row>, Vec<Row>), QueryError> {
        let queued = Waiting::on(&self.queued);
        let acquired = timeout(self.limits.wait, async {
            let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| closed())?;
            Ok::<_, Error>((permit, self.acquire().await?))
        });
        let no_connection = |_| Error::unavailable("no connection to the database became free in time");
        let (permit, (slot, pipeline)) = acquired.await.map_err(no_connection)??;
        drop(queued);
        let in_flight = InFlight::begin(&pipeline, permit, self.limits.statement);
        let answer = timeout(self.limits.statement, pipeline.query(one, two)).await;
        in_flight.end();
        match answer {
            Ok(Ok(answer)) => {
                *lock(&pipeline.answered) = Instant::now();
                Ok(answer)
            }
            Ok(Err(error)) if pipeline.client.is_closed() || is_shutdown(&error) => {
                self.lose(slot, &pipeline);
                // Not once more for what waited behind a statement that took too long.
                Err(if pipeline.is_given_up.load(Ordering::Acquire) { too_late() } else { QueryError::ConnectionLost })
            }
            Ok(Err(error)) => Err(QueryError::Statement(error)),
            Err(_) => {
                slot.vacate(&pipeline);
                pipeline.give_up();
                Err(too_late())
            }
        }
    }

    /// Returns a connection that is there.
    async fn acquire(self: &Arc<Self>) -> agora_domain::Result<(&Slot, Arc<Pipeline>)> {
        let home = Handle::current().id();
        loop {
            if self.closed.load(Ordering::Acquire) {
                return Err(closed());
            }
            let (place, slot) =
                self.choose(home).ok_or_else(|| Error::internal("there is no place for a connection"))?;
            let pipeline = match slot.current() {
                Some(pipeline) => pipeline,
                // It goes on being made when the request goes away: half made, it would be one that nobody counts.
                None => match tokio::spawn(Arc::clone(self).make(place)).await {
                    Ok(made) => match made? {
                        Some(pipeline) => pipeline,
                        None => continue,
                    },
                    Err(_) => return Err(closed()),
                },
            };
            let is_proven = lock(&pipeline.answered).elapsed() < self.limits.unproven;
            if is_proven || pipeline.is_there(PROOF.min(self.limits.wait / 2)).await {
                return Ok((slot, pipeline));
            }
            slot.vacate(&pipeline);
        }
    }

    /// Returns the place of a connection of this runtime that nothing waits on; or an empty place; or that with the
    /// least to wait for.
    fn choose(&self, home: runtime::Id) -> Option<(usize, &Slot)> {
        let mut own: Option<(usize, usize)> = None;
        let mut others: Option<(usize, usize)> = None;
        let mut empty = None;
        let mut owned = 0;
        for (place, slot) in self.slots.iter().enumerate() {
            let current = slot.current();
            // The end of a connection is known at once; so is that of the runtime that drove it.
            if let Some(pipeline) = current.as_ref().filter(|pipeline| pipeline.client.is_closed()) {
                self.lose(slot, pipeline);
            }
            let Some(pipeline) = current.filter(|pipeline| !pipeline.client.is_closed()) else {
                empty = empty.or(Some(place));
                continue;
            };
            let waiting = pipeline.waiting.load(Ordering::Relaxed);
            let is_own = pipeline.home == home;
            owned += usize::from(is_own);
            let best = if is_own { &mut own } else { &mut others };
            if best.is_none_or(|(least, _)| waiting < least) {
                *best = Some((waiting, place));
            }
        }
        let place = |(_, place): (usize, usize)| place;
        let idle = |(waiting, _): &(usize, _)| *waiting == 0;
        let chosen = if self.is_shared {
            // More than that would answer no sooner, and travel in smaller groups.
            let has_enough = owned >= SHARED_PER_RUNTIME;
            own.filter(|own| has_enough || idle(own)).map(place).or(empty).or(own.or(others).map(place))
        } else {
            own.filter(idle).map(place).or(empty).or(others.filter(idle).or(own).or(others).map(place))
        };
        chosen.and_then(|place| Some((place, self.slots.get(place)?)))
    }

    /// Makes a connection for an empty place; nothing when somebody else made one meanwhile.
    async fn make(self: Arc<Self>, place: usize) -> agora_domain::Result<Option<Arc<Pipeline>>> {
        let Some(slot) = self.slots.get(place) else { return Ok(None) };
        let _making = slot.making.lock().await;
        if slot.current().is_some() {
            return Ok(None);
        }
        let (client, driver, server) = self.connector.connect_raw(PLANNING).await.map_err(Error::unavailable)?;
        self.leads_to(server);
        if self.closed.load(Ordering::Acquire) {
            return Err(closed());
        }
        let made = Arc::new(Pipeline {
            client,
            driver,
            is_given_up: AtomicBool::new(false),
            prepared: Mutex::default(),
            waiting: AtomicUsize::new(0),
            home: Handle::current().id(),
            answered: Mutex::new(Instant::now()),
        });
        *lock(&slot.current) = Some(Arc::clone(&made));
        Ok(Some(made))
    }

    /// Returns how busy the connections are.
    pub(super) fn lane(&self, name: &'static str) -> Lane {
        let open = self.slots.iter().filter_map(Slot::current).filter(|pipeline| !pipeline.client.is_closed());
        let (open, busy) =
            open.fold((0, 0), |(open, busy), pipeline| (open + 1, busy + pipeline.waiting.load(Ordering::Relaxed)));
        Lane { name, size: self.slots.len(), open, busy, waiting: self.queued.load(Ordering::Relaxed) }
    }

    /// Returns how many connections were lost so far, or led to another server than those before: in the place of the
    /// database there may be another now.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Acquire)
    }

    fn leads_to(&self, server: String) {
        let before = std::mem::replace(&mut *lock(&self.server), server.clone());
        if !before.is_empty() && before != server {
            self.lost.fetch_add(1, Ordering::AcqRel);
        }
    }

    fn lose(&self, slot: &Slot, pipeline: &Arc<Pipeline>) {
        if slot.vacate(pipeline) {
            self.lost.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Closes each connection once nobody waits for an answer on it; later statements are refused.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        for slot in &self.slots {
            *lock(&slot.current) = None;
        }
    }
}

fn too_late() -> QueryError {
    QueryError::NotAnswered(Error::unavailable("the database did not answer in time"))
}

fn closed() -> Error {
    Error::unavailable("the database is closed")
}

impl Slot {
    fn current(&self) -> Option<Arc<Pipeline>> {
        lock(&self.current).clone()
    }

    /// Takes the connection out of its place, for a new one; whether it was there.
    fn vacate(&self, pipeline: &Arc<Pipeline>) -> bool {
        let mut current = lock(&self.current);
        current.take_if(|current| Arc::ptr_eq(current, pipeline)).is_some()
    }
}
