use std::{thread, time::Duration};

/// How a PostgreSQL server is used. SQLite is in the process and needs none of this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// How many connections are kept at most; three for each core by default, four at least.
    pub connections: usize,
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
    /// How long a statement may take, and all the work of a transaction; half of it may be spent waiting for a lock.
    pub statement_timeout: Duration,
    /// How long a request waits for a connection, whether one becomes free or is made.
    pub wait_timeout: Duration,
}

impl Options {
    /// How long a statement may wait for a lock.
    pub(crate) fn lock_timeout(&self) -> Duration {
        self.statement_timeout / 2
    }
}

impl Default for Options {
    fn default() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self {
            connections: (3 * cores).clamp(4, 1000),
            connect_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(20),
            wait_timeout: Duration::from_secs(5),
        }
    }
}
