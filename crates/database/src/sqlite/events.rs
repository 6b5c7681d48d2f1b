//! Events of the writes of a group, until they are committed.

use std::cell::RefCell;
use std::time::Duration;

use agora_domain::events::Event;

use super::dialect::Conn;
use crate::error::Outcome;
use crate::event_window::Window;

thread_local! {
    /// What the group at hand has recorded: of the writer's thread, since a connection keeps nothing of ours.
    static RECORDED: RefCell<Vec<Event>> = const { RefCell::new(Vec::new()) };
}

/// Records an event with the write that it tells of.
pub(crate) async fn record(_: &mut Conn<'_>, event: Event) -> Outcome<()> {
    RECORDED.with_borrow_mut(|recorded| recorded.push(event));
    Ok(())
}

/// Returns how many events are recorded.
pub(super) fn recorded() -> usize {
    RECORDED.with_borrow(Vec::len)
}

/// Forgets all but the first so many: what they told of is undone.
pub(super) fn forget_after(count: usize) {
    RECORDED.with_borrow_mut(|recorded| recorded.truncate(count));
}

/// Puts what was recorded on the log: it is committed.
pub(super) fn publish(log: &Window) {
    RECORDED.with_borrow_mut(|recorded| {
        if !recorded.is_empty() {
            log.extend(recorded.drain(..).map(|event| (event, Duration::ZERO)));
        }
    });
}
