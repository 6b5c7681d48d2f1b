//! The background jobs that only one node on a database runs at a time.

/// A background job that only one node on a database runs at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExclusiveJob {
    /// Deletes unreferenced images and outdated rows.
    Sweep,
    /// Sends mail.
    Mail,
    /// Erases the data of deleted accounts.
    Erasure,
}

impl ExclusiveJob {
    /// All jobs.
    pub(crate) const ALL: [Self; 3] = [Self::Sweep, Self::Mail, Self::Erasure];

    /// Returns the name of the job in the names of locks and leases.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sweep => "sweep",
            Self::Mail => "mail",
            Self::Erasure => "erasure",
        }
    }
}
