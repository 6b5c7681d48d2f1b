//! Pages of lists of which not all is shown.

use agora_domain::page::PageRequest;

use crate::rows::{After, Slice};

/// How many entries of a list a statement passes over at most.
const MAX_PART: i64 = 1_024;

/// A page of a list of which not all is shown, put together of parts: between two of them others
/// have their turn.
pub(crate) struct Parts<T> {
    wanted: usize,
    pub(crate) found: Vec<T>,
    next: Option<Slice>,
    is_first: bool,
}

impl<T> Parts<T> {
    /// A page of a list whose first part this is.
    pub(crate) fn new(page: PageRequest, first: Slice) -> Self {
        Self { wanted: page.overfetch(), found: Vec::new(), next: Some(first), is_first: true }
    }

    /// Returns the next part to read, and how many entries of it at most; nothing when the page is complete.
    pub(crate) fn next(&self) -> Option<(Slice, usize)> {
        self.next.map(|slice| (slice, self.wanted - self.found.len()))
    }

    /// Returns whether no part was read yet.
    pub(crate) fn is_first(&self) -> bool {
        self.is_first
    }

    /// Adds what a part shows, and where the next one begins.
    pub(crate) fn add(&mut self, (shown, rest): (Vec<T>, Option<After>)) {
        self.is_first = false;
        self.found.extend(shown);
        let is_more = self.found.len() < self.wanted;
        let longer = |slice: Slice, after| Slice { after, limit: (slice.limit * 4).min(MAX_PART), ..slice };
        self.next = self.next.zip(rest).filter(|_| is_more).map(|(slice, after)| longer(slice, after));
    }
}
