//! An in-memory window of the newest events.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use agora_domain::events::{Event, LoggedEvent, Position};

use crate::mutex::lock;
use crate::random::random;

/// How long an event is kept: five minutes (contract: Live updates), and the time that a client takes to reconnect.
pub(crate) const MAX_AGE: Duration = Duration::from_secs(5 * 60 + 30);

/// The maximum number of events kept: those of five minutes at 800 a second. Each takes some 80 bytes.
pub(crate) const CAPACITY: usize = 256 * 1024;

/// The newest events of the log, numbered consecutively.
pub(crate) struct Window(Mutex<State>);

struct State {
    epoch: u64,
    /// The number of the event before the first one kept.
    before: u64,
    events: VecDeque<(Event, Instant)>,
}

impl State {
    fn end(&self) -> u64 {
        self.before + self.events.len() as u64
    }

    /// Adds the next event. If the window has [`CAPACITY`] events, it drops the first one before: the queue would otherwise grow
    /// to twice its memory.
    fn push(&mut self, event: Event, at: Instant) {
        if self.events.len() == CAPACITY {
            self.drop_first();
        }
        self.events.push_back((event, at));
    }

    fn trim(&mut self) {
        while self.events.front().is_some_and(|(_, at)| at.elapsed() > MAX_AGE) {
            self.drop_first();
        }
    }

    fn drop_first(&mut self) {
        if self.events.pop_front().is_some() {
            self.before += 1;
        }
    }
}

impl Window {
    /// Creates an empty window of a new log.
    pub(crate) fn new() -> Self {
        // Each log has another epoch.
        Self(Mutex::new(State { epoch: random(), before: 0, events: VecDeque::new() }))
    }

    /// Empties the window and continues after the given number of a log.
    pub(crate) fn restart(&self, epoch: u64, before: u64) {
        *lock(&self.0) = State { epoch, before, events: VecDeque::new() };
    }

    /// Adds the next events, each with its age.
    pub(crate) fn extend(&self, events: impl IntoIterator<Item = (Event, Duration)>) {
        let (mut state, now) = (lock(&self.0), Instant::now());
        for (event, age) in events {
            state.push(event, now.checked_sub(age).unwrap_or(now));
        }
        state.trim();
    }

    /// Drops events that are too old.
    pub(crate) fn trim(&self) {
        lock(&self.0).trim();
    }

    /// Returns the position after the last event.
    pub(crate) fn end(&self) -> Position {
        let state = lock(&self.0);
        Position::after(state.epoch, state.end())
    }

    /// Returns the next events after a position, or `None` if the window does not have all of them.
    pub(crate) fn after(&self, position: Position, most: usize) -> Option<Vec<LoggedEvent>> {
        let (state, complete) = (lock(&self.0), position.complete());
        if position.epoch != state.epoch || complete < state.before || complete > state.end() {
            return None;
        }
        let skipped = usize::try_from(complete - state.before).ok()?;
        let next = state.events.range(skipped..).take(most).zip(complete + 1..);
        Some(next.map(|((event, at), number)| LoggedEvent { number, event: *event, age: at.elapsed() }).collect())
    }
}

#[cfg(test)]
mod tests {
    use agora_domain::events::Part;
    use agora_domain::id::PostId;
    use uuid::Uuid;

    use super::*;

    fn liked(n: u128) -> Event {
        Event::Liked(PostId::new(Uuid::from_u128(n)))
    }

    fn window(events: u128) -> Window {
        let window = Window::new();
        window.restart(7, 0);
        window.extend((1..=events).map(|n| (liked(n), Duration::ZERO)));
        window
    }

    fn numbers(window: &Window, position: Position, most: usize) -> Option<Vec<u64>> {
        let found = window.after(position, most)?;
        assert!(found.iter().all(|logged| logged.event == liked(logged.number.into())));
        Some(found.into_iter().map(|logged| logged.number).collect())
    }

    #[test]
    fn the_events_after_a_position_are_returned_in_order() {
        let window = window(5);
        assert_eq!(window.end(), Position::after(7, 5));
        assert_eq!(numbers(&window, Position::after(7, 0), 9), Some(vec![1, 2, 3, 4, 5]));
        assert_eq!(numbers(&window, Position::after(7, 2), 2), Some(vec![3, 4]));
        assert_eq!(numbers(&window, Position::after(7, 5), 9), Some(vec![]));
        let within = Position { epoch: 7, number: 3, part: Part::Feed };
        assert_eq!(numbers(&window, within, 1), Some(vec![3]), "not all of 3 was returned");
    }

    #[test]
    fn a_position_outside_of_the_window_returns_none() {
        let window = window(5);
        assert_eq!(numbers(&window, Position::after(8, 2), 9), None, "another log");
        assert_eq!(numbers(&window, Position::after(7, 6), 9), None, "not there yet");
        window.restart(7, 3);
        assert_eq!(numbers(&window, Position::after(7, 2), 9), None, "gone");
        assert_eq!(numbers(&window, Position::after(7, 3), 9), Some(vec![]));
    }

    #[test]
    fn events_beyond_the_age_limit_or_the_capacity_are_dropped() {
        let window = window(2);
        window.extend([(liked(3), MAX_AGE + Duration::from_secs(1))]);
        assert_eq!(window.end(), Position::after(7, 3), "it stands behind what is kept");
        window.restart(7, 0);
        window.extend([(liked(1), MAX_AGE + Duration::from_secs(1)), (liked(2), Duration::ZERO)]);
        assert_eq!(numbers(&window, Position::after(7, 0), 9), None);
        assert_eq!(numbers(&window, Position::after(7, 1), 9), Some(vec![2]));
        window.extend((3..=CAPACITY as u128 + 5).map(|n| (liked(n), Duration::ZERO)));
        assert_eq!(numbers(&window, Position::after(7, 4), 1), None);
        assert_eq!(numbers(&window, Position::after(7, 5), 1), Some(vec![6]));
        assert_eq!(lock(&window.0).events.capacity(), CAPACITY, "no room for more than is kept");
    }
}
