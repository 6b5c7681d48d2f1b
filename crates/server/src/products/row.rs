//! A row of a file of products, and where it is.

use std::cell::Cell;

use agora_domain::products::ImportRow;

/// The most bytes of a row.
pub(super) const MAX_ROW: u64 = 1 << 20;

/// A row of a file.
#[derive(Debug, Clone)]
pub(super) enum Row {
    /// Its fields, though not all of them may be right.
    Fields(ImportRow),
    /// Why it has none that can be told, and where it begins, counted from 1.
    Bad { line: u64, reason: String },
}

/// Takes rows, as long as it says so.
pub(super) type Take<'a> = &'a mut dyn FnMut(Row) -> bool;

/// How far a file is read.
pub(super) struct Position {
    /// The line of the next byte, counted from 1.
    pub(super) line: Cell<u64>,
    /// How many bytes were read.
    pub(super) offset: Cell<u64>,
    /// How many had been when the present row began.
    row: Cell<u64>,
}

impl Default for Position {
    fn default() -> Self {
        Self { line: Cell::new(1), offset: Cell::new(0), row: Cell::new(0) }
    }
}

impl Position {
    /// A row begins.
    pub(super) fn begin_row(&self) {
        self.row.set(self.offset.get());
    }

    /// Returns whether the present row is longer than it may be.
    pub(super) fn is_too_long(&self) -> bool {
        self.offset.get() - self.row.get() > MAX_ROW
    }
}

/// Returns what is wrong with such a row.
pub(super) fn too_long() -> String {
    format!("it is longer than {} MiB", MAX_ROW >> 20)
}
