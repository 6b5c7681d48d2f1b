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

impl Turn {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Sweep, Self::Mail, Self::Erasure];

    /// Returns the word for it in the names of locks and leases.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sweep => "sweep",
            Self::Mail => "mail",
            Self::Erasure => "erasure",
        }
    }
}
