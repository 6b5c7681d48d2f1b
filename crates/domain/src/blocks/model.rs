//! Blocks and mutes.

use crate::clock::Timestamp;
use crate::error::{Disallowed, Error, Violation, ViolationKind};
use crate::id::RelationId;

/// The maximum number of accounts that one account may block: lists have to skip what each of them did.
pub const MAX_BLOCKED: usize = 10_000;

/// The error for blocking more than [`MAX_BLOCKED`] accounts.
pub const TOO_MANY_BLOCKED: Error = Error::Disallowed(Disallowed::TooManyBlocked);

/// The maximum number of accounts that one account may mute.
pub const MAX_MUTED: usize = 10_000;

/// The error for muting more than [`MAX_MUTED`] accounts.
pub const TOO_MANY_MUTED: Error = Error::Disallowed(Disallowed::TooManyMuted);

/// The duration of a mute: 1 to 8,760 hours, a year (`contract`: Safety).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MuteHours(u16);

impl MuteHours {
    /// The maximum number of hours.
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

    /// Returns the end of a mute that begins at an instant.
    pub fn after(self, begin: Timestamp) -> Timestamp {
        begin.plus_millis(i64::from(self.0) * 60 * 60 * 1_000)
    }
}

/// A block about to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewBlock {
    /// The identifier of the block.
    pub id: RelationId,
    /// When it was made.
    pub at: Timestamp,
}

/// A mute about to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewMute {
    /// The identifier of the mute.
    pub id: RelationId,
    /// When it was made.
    pub at: Timestamp,
    /// When it ends; `None` if it does not.
    pub until: Option<Timestamp>,
}
