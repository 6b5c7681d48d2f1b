//! What the limits need of adapters.

use super::{Counted, Window};
use crate::clock::Timestamp;

/// Keeps a window for each thing that is counted. MUST bound what it keeps, however many there are to count: it may
/// forget those that were counted least lately. What one node counts, others need not know.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait Counters: Send + Sync {
    /// Returns the window at this instant, by [`Window::at`].
    fn get(&self, counted: &Counted, now: Timestamp) -> Window;

    /// Counts one more, by [`Window::with_one_more`]; the window with it. However many count at once, each counts.
    fn add(&self, counted: &Counted, now: Timestamp) -> Window;
}
