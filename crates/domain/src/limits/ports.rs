//! What the limits need of adapters.

use super::{Counted, Window};
use crate::clock::Timestamp;

/// Stores the windows of all events that are counted. MUST bound how many it stores; it may evict the least recently counted
/// ones for that. Nodes need not share their counts.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait Counters: Send + Sync {
    /// Returns the window at this instant, by [`Window::at`].
    fn get(&self, counted: &Counted, now: Timestamp) -> Window;

    /// Counts one more event, by [`Window::with_one_more`], and returns the window with it. Concurrent calls MUST all count.
    fn add(&self, counted: &Counted, now: Timestamp) -> Window;
}
