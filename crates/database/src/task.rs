//! Work that one node at a time does.

/// Work that one at a time does on a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Housekeeping: collecting what nothing names any more.
    Sweep,
}
