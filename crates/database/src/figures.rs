//! How busy the database is, as far as this process can tell without asking it.

/// How busy the database is at this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figures {
    /// The ways on which calls go. Each call goes one of them.
    pub lanes: Vec<Lane>,
    /// What SQLite's writer has done.
    pub write_groups: Option<WriteGroups>,
}

/// One way on which calls go, with connections of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lane {
    /// On SQLite `read`, `list` or `write`. On PostgreSQL `shared` for what reads little, `list` for what reads a part of a
    /// list, and `pool` for everything else.
    pub name: &'static str,
    /// The most connections it has.
    pub size: usize,
    /// Those that it has now.
    pub open: usize,
    /// Calls that are being worked on.
    pub busy: usize,
    /// Calls that wait for their turn.
    pub waiting: usize,
}

/// What SQLite's writer has committed since the start. Writes that wait at the same time are committed together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WriteGroups {
    /// Groups, each of which took one commit, rolled back ones included.
    pub groups: u64,
    /// Writes in them.
    pub writes: u64,
}
