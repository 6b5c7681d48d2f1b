//! Types that likes, follows and other relations to users and posts share.

use crate::clock::Timestamp;
use crate::id::RelationId;
use crate::notices::Notice;

/// A new like, follow or bookmark, as the repository stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewRelation {
    /// The identifier of the relation.
    pub id: RelationId,
    /// When it was made.
    pub at: Timestamp,
    /// The notification that it causes; `None` if it concerns nobody else.
    pub notice: Option<Notice>,
}

/// The relation of a viewer to another user that decides what the viewer may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Standing {
    /// The viewer does not follow the user.
    #[default]
    Stranger,
    /// The viewer follows the user.
    Follower,
    /// One of them blocks the other, and neither follows (`contract`: Safety).
    Blocked,
}

impl Standing {
    /// Returns the standing without regard to blocks: users separated by a block do not follow each other.
    #[must_use]
    pub const fn ignoring_blocks(self) -> Self {
        match self {
            Self::Blocked => Self::Stranger,
            standing @ (Self::Stranger | Self::Follower) => standing,
        }
    }

    /// Returns the standing of a viewer, given whether the viewer follows the user and whether either blocks the other.
    pub const fn of(follows: bool, is_blocked: bool) -> Self {
        match (is_blocked, follows) {
            (true, _) => Self::Blocked,
            (false, true) => Self::Follower,
            (false, false) => Self::Stranger,
        }
    }
}
