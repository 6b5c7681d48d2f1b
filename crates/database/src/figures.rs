//! The load of the database, as far as this process knows without querying it.

/// The current load of the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figures {
    /// The lanes; each call uses one of them.
    pub lanes: Vec<Lane>,
    /// The work done by SQLite's writer.
    pub write_groups: Option<WriteGroups>,
}

/// A lane of calls, which has connections of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lane {
    /// On SQLite `read`, `list` or `write`. On PostgreSQL `shared` for reads of a few rows, `list` for reads of a part of a
    /// list, and `pool` for everything else.
    pub name: &'static str,
    /// The maximum number of connections.
    pub size: usize,
    /// The number of open connections.
    pub open: usize,
    /// The number of calls in progress.
    pub busy: usize,
    /// The number of calls in the queue.
    pub waiting: usize,
}

/// The groups that SQLite's writer has committed since the start. Writes that are queued at the same time are committed together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WriteGroups {
    /// The number of committed groups, each of which took one commit.
    pub groups: u64,
    /// The number of writes in these groups, including those that were rejected or abandoned.
    pub writes: u64,
}
