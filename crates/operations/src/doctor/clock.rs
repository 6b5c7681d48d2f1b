//! Compares the clock of this machine with those of the database server and the image store.

use agora_domain::clock::{Clock, Timestamp};

use super::{Finding, failed, ok, warning};
use crate::system::SystemClock;

/// The difference from which clocks get a warning: stores report whole seconds, and their answers take time.
const WARNING_MILLIS: i64 = 5_000;

/// The difference from which it is a failure, since logins and repeated requests suffer.
const FAILURE_MILLIS: i64 = 60_000;

/// A reading of another clock, taken between two readings of this one.
pub(super) struct Reference {
    name: &'static str,
    begun: Timestamp,
    ended: Timestamp,
    shown: Timestamp,
}

impl Reference {
    /// Reads this clock, before the other one is read.
    pub(super) fn begin(name: &'static str) -> Self {
        let now = SystemClock.now();
        Self { name, begun: now, ended: now, shown: now }
    }

    /// Records the reading of the other clock.
    pub(super) fn end(&mut self, shown: Timestamp) {
        (self.ended, self.shown) = (SystemClock.now(), shown);
    }

    /// Returns by how many milliseconds this clock is at least ahead of the other; negative if it is behind.
    fn ahead(&self) -> i64 {
        let (begun, ended, shown) = (self.begun.unix_millis(), self.ended.unix_millis(), self.shown.unix_millis());
        if shown < begun { begun.saturating_sub(shown) } else { ended.saturating_sub(shown).min(0) }
    }

    fn finding(&self) -> Finding {
        let ahead = self.ahead();
        let name = self.name;
        let seconds = ahead.unsigned_abs().div_ceil(1000);
        let which = if ahead > 0 { "ahead of" } else { "behind" };
        let text = format!("{seconds} s {which} the clock of {name}: synchronise both with NTP");
        match ahead.abs() {
            difference if difference <= WARNING_MILLIS => ok(format!("agrees with the clock of {name}")),
            difference if difference <= FAILURE_MILLIS => warning(text),
            _ => failed(text),
        }
    }
}

pub(super) fn findings(references: &[Option<Reference>]) -> Vec<Finding> {
    let findings: Vec<Finding> = references.iter().flatten().map(Reference::finding).collect();
    if findings.is_empty() { vec![ok("no other clock to compare with")] } else { findings }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn clocks_that_differ_are_a_warning_or_a_failure() {
        let at = Timestamp::from_unix_millis;
        for (shown, state, words) in [
            (1_000_000, State::Ok, "agrees"),
            (1_000_300, State::Ok, "agrees"),
            (995_000, State::Ok, "agrees"),
            (994_000, State::Warning, "6 s ahead of"),
            (1_020_400, State::Warning, "20 s behind"),
            (939_000, State::Failed, "61 s ahead of"),
            (5_000_000, State::Failed, "4000 s behind"),
        ] {
            let reference = Reference { name: "another", begun: at(1_000_000), ended: at(1_000_400), shown: at(shown) };
            let (found, text) = reference.finding();
            assert_eq!(found, state, "{text}");
            assert!(text.contains(words), "{text}");
        }
    }
}
