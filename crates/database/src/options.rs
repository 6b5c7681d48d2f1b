use std::thread;
use std::time::Duration;

/// What a PostgreSQL server is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Flavor {
    /// PostgreSQL itself.
    #[default]
    Postgresql,
    /// An engine over many machines that speaks as PostgreSQL does. Nothing is asked of it that only one server can know: there are no
    /// numbers of transactions and no advisory locks, and what conflicts is done again.
    Distributed,
}

/// How a PostgreSQL server is used. SQLite is in the process and needs none of this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// How many connections are kept at most, [`MIN_CONNECTIONS`](Self::MIN_CONNECTIONS) at least; ten for each core by
    /// default.
    pub connections: usize,
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
    /// How long a statement may take, and all the work of a transaction; half of it may be spent waiting for a lock.
    pub statement_timeout: Duration,
    /// How long a request waits for a connection, whether one becomes free or is made.
    pub wait_timeout: Duration,
    /// What the server is.
    pub flavor: Flavor,
    /// Of how many of a hundred accounts lists are read from the replica, if there is one.
    pub replica_share: u8,
}

/// How many connections serve what.
pub(crate) struct Shares {
    /// Reads of little, which share them.
    pub(crate) shared: usize,
    /// Reads of a part of a list, which share them.
    pub(crate) lists: usize,
    /// Everything else.
    pub(crate) pool: usize,
    /// How many of these last may search at a time. A search keeps a core of the server busy: with the default, there are
    /// as many at a time as cores, and others' requests find one that is free in time.
    pub(crate) searches: usize,
    /// How many of the searches may be of the catalog, for which nobody needs an account: half, so that however many ask for it,
    /// the searches of members do not stand behind all of them.
    pub(crate) catalog_searches: usize,
}

impl Options {
    /// The fewest connections that do: one for each kind of reads, and three for everything else, of which searches have
    /// one.
    pub const MIN_CONNECTIONS: usize = 5;

    /// Returns how the connections are divided.
    pub(crate) fn shares(&self) -> Shares {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let shared = (self.connections / 5).clamp(1, 2 * cores);
        let pool = self.connections.saturating_sub(2 * shared).max(1);
        let searches = (self.connections / 10).max(1);
        Shares { shared, lists: shared, pool, searches, catalog_searches: (searches / 2).max(1) }
    }

    /// Returns how long a statement may wait for a lock.
    pub(crate) fn lock_timeout(&self) -> Duration {
        self.statement_timeout / 2
    }
}

impl Default for Options {
    fn default() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self {
            connections: (10 * cores).clamp(10, 1000),
            connect_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(20),
            wait_timeout: Duration::from_secs(5),
            flavor: Flavor::default(),
            replica_share: 100,
        }
    }
}
