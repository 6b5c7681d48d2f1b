//! What the threads are at.

use std::{
    path::Path,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use crate::{Lane, WriteGroups};

/// Counts what the threads do.
#[derive(Debug, Default)]
pub(super) struct Work {
    reading: AtomicUsize,
    writing: AtomicUsize,
    groups: AtomicU64,
    writes: AtomicU64,
}

impl Work {
    /// Reads, counted while it lasts.
    pub(super) fn reading<T>(&self, read: impl FnOnce() -> T) -> T {
        self.reading.fetch_add(1, Relaxed);
        let result = read();
        self.reading.fetch_sub(1, Relaxed);
        result
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

impl super::Sqlite {
    /// The file of the database.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// How busy the readers and the writer are.
    pub(crate) fn lanes(&self) -> [Lane; 2] {
        let readers = super::lock(&self.reader_threads).len();
        let writers = usize::from(super::lock(&self.writer_thread).is_some());
        let lane = |name, size, busy, waiting| Lane { name, size, open: size, busy, waiting };
        [
            lane("read", readers, self.work.reading.load(Relaxed), self.readers.len()),
            lane("write", writers, self.work.writing.load(Relaxed), self.writer.len()),
        ]
    }

    /// What the writer has committed.
    pub(crate) fn write_groups(&self) -> WriteGroups {
        WriteGroups { groups: self.work.groups.load(Relaxed), writes: self.work.writes.load(Relaxed) }
    }
}
