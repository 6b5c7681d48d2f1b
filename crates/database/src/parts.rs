//! Pages of lists that hide some of their entries.

use agora_domain::page::PageRequest;

use crate::rows::{After, Slice};

/// The maximum number of entries that one statement reads.
const MAX_PART: i64 = 1_024;

/// A page of a list that hides some of its entries, assembled from parts. Other queries can run between two parts.
pub(crate) struct Parts<T> {
    wanted: usize,
    pub(crate) found: Vec<T>,
    next: Option<Slice>,
    is_first: bool,
}

impl<T> Parts<T> {
    /// Begins a page with the first part to read.
    pub(crate) fn new(page: PageRequest, first: Slice) -> Self {
        Self { wanted: page.overfetch(), found: Vec::new(), next: Some(first), is_first: true }
    }

    /// Returns the next part to read and the number of visible entries still wanted, or `None` if the page is complete.
    pub(crate) fn next(&self) -> Option<(Slice, usize)> {
        self.next.map(|slice| (slice, self.wanted - self.found.len()))
    }

    /// Returns whether no part has been read yet.
    pub(crate) fn is_first(&self) -> bool {
        self.is_first
    }

    /// Adds the visible entries of a part. `rest` is the position where the next part begins, if there is one.
    pub(crate) fn add(&mut self, (shown, rest): (Vec<T>, Option<After>)) {
        self.is_first = false;
        self.found.extend(shown);
        let is_more = self.found.len() < self.wanted;
        let longer = |slice: Slice, after| Slice { after, limit: (slice.limit * 4).min(MAX_PART), ..slice };
        self.next = self.next.zip(rest).filter(|_| is_more).map(|(slice, after)| longer(slice, after));
    }
}
