//! What likes and follows have in common.

use crate::clock::Timestamp;
use crate::id::RelationId;
use crate::notices::Notice;

/// A new like or follow: what the repository stores when a toggle is turned on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewRelation {
    /// Names it.
    pub id: RelationId,
    /// When it was made.
    pub at: Timestamp,
    /// Who is told of it; nobody where it is nobody's business or the recipient's own.
    pub notice: Option<Notice>,
}

/// How a viewer stands to another user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Standing {
    /// The viewer does not follow the user.
    #[default]
    Stranger,
    /// The viewer follows the user.
    Follower,
    /// One of them blocks the other, and neither follows (`contract`: Safety).
    Apart,
}

impl Standing {
    /// Returns how one stands if nobody blocks anybody: those whom a block keeps apart do not follow each other.
    #[must_use]
    pub const fn blocks_aside(self) -> Self {
        match self {
            Self::Apart => Self::Stranger,
            standing @ (Self::Stranger | Self::Follower) => standing,
        }
    }

    /// Returns how one stands who follows the user or not, and whom a block keeps apart from the user or not.
    pub const fn of(follows: bool, are_apart: bool) -> Self {
        match (are_apart, follows) {
            (true, _) => Self::Apart,
            (false, true) => Self::Follower,
            (false, false) => Self::Stranger,
        }
    }
}
