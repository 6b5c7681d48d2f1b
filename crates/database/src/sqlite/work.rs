//! What the writer is at.

use std::{
    path::Path,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use crate::{Lane, WriteGroups};

/// Counts what the writer does.
#[derive(Debug, Default)]
pub(super) struct Work {
    writing: AtomicUsize,
    groups: AtomicU64,
    writes: AtomicU64,
}

impl Work {
    /// Commits so many writes, counted while it lasts.
    pub(super) fn writing(&self, writes: usize, commit: impl FnOnce()) {
        self.writing.store(writes, Relaxed);
        commit();
        self.writing.store(0, Relaxed);
        self.groups.fetch_add(1, Relaxed);
        self.writes.fetch_add(u64::try_from(writes).unwrap_or(u64::MAX), Relaxed);
    }
}

impl super::Sqlite {
    /// The file of the database.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// How busy the readers and the writer are.
    pub(crate) fn lanes(&self) -> [Lane; 3] {
        let writers = usize::from(super::lock(&self.writer_thread).is_some());
        let (busy, waiting) = (self.work.writing.load(Relaxed), self.writer.len());
        let writer = Lane { name: "write", size: writers, open: writers, busy, waiting };
        [self.readers.lane("read"), self.lists.lane("list"), writer]
    }

    /// What the writer has committed.
    pub(crate) fn write_groups(&self) -> WriteGroups {
        WriteGroups { groups: self.work.groups.load(Relaxed), writes: self.work.writes.load(Relaxed) }
    }
}
