//! What the nodes on one database take turns at.

/// What one node at a time does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Collecting what nothing names any more.
    Sweep,
    /// Sending mail.
    Mail,
    /// Erasing what belonged to deleted accounts.
    Erasure,
}
