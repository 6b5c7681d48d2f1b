//! What the writer is at.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use crate::figures::WriteGroups;

/// Counts what the writer does.
#[derive(Debug, Default)]
pub(super) struct Work {
    writing: AtomicUsize,
    groups: AtomicU64,
    writes: AtomicU64,
}

impl Work {
    /// Returns the number of writes that are being committed.
    pub(super) fn in_progress(&self) -> usize {
        self.writing.load(Relaxed)
    }

    /// Returns what was committed.
    pub(super) fn groups(&self) -> WriteGroups {
        WriteGroups { groups: self.groups.load(Relaxed), writes: self.writes.load(Relaxed) }
    }

    /// Commits so many writes, counted while it lasts.
    pub(super) fn writing(&self, writes: usize, commit: impl FnOnce()) {
        self.writing.store(writes, Relaxed);
        commit();
        self.writing.store(0, Relaxed);
        self.groups.fetch_add(1, Relaxed);
        self.writes.fetch_add(u64::try_from(writes).unwrap_or(u64::MAX), Relaxed);
    }
}
