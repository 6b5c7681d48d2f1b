use std::thread;
use std::time::Duration;

/// The kind of server that speaks the PostgreSQL protocol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Flavor {
    /// PostgreSQL itself.
    #[default]
    Postgresql,
    /// A distributed database that speaks the PostgreSQL protocol. Features that need a single server are not used: no
    /// transaction ids and no advisory locks. Transactions that conflict are retried.
    Distributed,
}

/// How a PostgreSQL server is used. SQLite is in the process and needs none of this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The maximum number of connections, at least [`MIN_CONNECTIONS`](Self::MIN_CONNECTIONS); ten for each core by default.
    pub connections: usize,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How long a statement may take, and a transaction as a whole; half of it may be spent waiting for a lock.
    pub statement_timeout: Duration,
    /// How long a request waits for a connection, whether for a free one or for a new one.
    pub wait_timeout: Duration,
    /// The kind of server.
    pub flavor: Flavor,
    /// The percentage of accounts whose lists are read from the replica, if there is one.
    pub replica_share: u8,
}

/// How the connections are divided between kinds of work.
pub(crate) struct Shares {
    /// Connections shared by reads of a few rows.
    pub(crate) shared: usize,
    /// Connections shared by reads of a part of a list.
    pub(crate) lists: usize,
    /// Connections of the pool, for everything else.
    pub(crate) pool: usize,
    /// The number of connections of the pool that may search at the same time. A search keeps a core of the server busy: by
    /// default there are as many concurrent searches as cores, and other requests get a connection in time.
    pub(crate) searches: usize,
    /// The number of concurrent searches that may be of the catalog, which needs no account: half of all, so that searches of
    /// members do not have to wait for those of the catalog, however many there are.
    pub(crate) catalog_searches: usize,
}

impl Options {
    /// The minimum number of connections: one for each kind of shared reads, and three for the pool, one of them for searches.
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
