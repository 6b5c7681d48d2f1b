//! Blocks and mutes.

use crate::clock::Timestamp;
use crate::error::{Disallowed, Error, Violation, ViolationKind};
use crate::id::RelationId;

/// The most accounts that one account may block: each is passed over in what it is shown.
pub const MAX_BLOCKED: usize = 10_000;

/// What blocking one more than [`MAX_BLOCKED`] fails with.
pub const TOO_MANY_BLOCKED: Error = Error::Disallowed(Disallowed::TooManyBlocked);

/// The most accounts that one account may mute.
pub const MAX_MUTED: usize = 10_000;

/// What muting one more than [`MAX_MUTED`] fails with.
pub const TOO_MANY_MUTED: Error = Error::Disallowed(Disallowed::TooManyMuted);

/// For how long somebody is muted: 1 to 8,760 hours, a year (`contract`: Safety).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MuteHours(u16);

impl MuteHours {
    /// The most.
    pub const MAX: i64 = 8_760;

    /// Parses what a client sent.
    ///
    /// # Errors
    /// The violation, in words for the client.
    pub fn parse(hours: i64) -> Result<Self, Violation> {
        let within = u16::try_from(hours).ok().filter(|_| (1..=Self::MAX).contains(&hours));
        within.map(Self).ok_or_else(|| {
            Violation::new(ViolationKind::OutOfRange, format!("Hours must be between 1 and {}", Self::MAX))
        })
    }

    /// Returns when a mute ends that begins at an instant.
    pub fn after(self, begin: Timestamp) -> Timestamp {
        begin.plus_millis(i64::from(self.0) * 60 * 60 * 1_000)
    }
}

/// A block about to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewBlock {
    /// Names it.
    pub id: RelationId,
    /// When it was made.
    pub at: Timestamp,
}

/// A mute about to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewMute {
    /// Names it.
    pub id: RelationId,
    /// When it was made.
    pub at: Timestamp,
    /// When it ends; `None` where it does not.
    pub until: Option<Timestamp>,
}
