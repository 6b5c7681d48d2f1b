//! Events of the writes of a group, until they are committed.

use std::cell::RefCell;
use std::time::Duration;

use agora_domain::events::Event;

use super::dialect::Conn;
use crate::error::Outcome;
use crate::event_window::Window;

thread_local! {
    /// The events of the current group. They belong to the writer's thread, since a connection cannot hold data of ours.
    static RECORDED: RefCell<Vec<Event>> = const { RefCell::new(Vec::new()) };
}

/// Records an event, with the write that it reports.
pub(crate) async fn record(_: &mut Conn<'_>, event: Event) -> Outcome<()> {
    RECORDED.with_borrow_mut(|recorded| recorded.push(event));
    Ok(())
}

/// Returns how many events are recorded.
pub(super) fn recorded_count() -> usize {
    RECORDED.with_borrow(Vec::len)
}

/// Drops all but the first `count` events: the writes that recorded the others were rolled back.
pub(super) fn keep_first(count: usize) {
    RECORDED.with_borrow_mut(|recorded| recorded.truncate(count));
}

/// Moves the recorded events to the log, once their writes are committed.
pub(super) fn publish(log: &Window) {
    RECORDED.with_borrow_mut(|recorded| {
        if !recorded.is_empty() {
            log.extend(recorded.drain(..).map(|event| (event, Duration::ZERO)));
        }
    });
}
